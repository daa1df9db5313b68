// The half of a script that shows the host's calls, one after another.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/units.h"
#include "gui/model/details.h"
#include "gui/model/script_parts.h"

namespace lockstep::gui {

namespace {

// Seconds, before the script is stretched to its length.
constexpr double kTitle = 1.6, kMoves = 2.5, kPerCopy = 0.15, kPerRound = 0.4,
                 kMostMoves = 4.5;
constexpr double kCall = 0.12, kMostCalls = 0.8;
constexpr double kOp = 0.9, kPerTask = 0.35, kMostOp = 2.2, kMovingOp = 1.6,
                 kMovingAgain = 0.3;
constexpr double kRepeats = 0.9, kPerRepeat = 0.02, kMostRepeats = 2.1, kBetween = 0.3;

constexpr int kDeepest = 48;  ///< phases nested deeper are played as calls

class ProgramShots {
 public:
  ProgramShots(const Model& model, const std::vector<StepTask>& tasks,
               std::vector<Shot>& shots)
      : model_(model), tasks_(tasks), shots_(shots) {}

  void play(uint32_t first, uint32_t last) {
    Scope scope;
    scope.event = model_.program[first];
    scope.view = view_of(first, last);
    play_inside(scope, first, last);
  }

 private:
  /// What is played: a phase or the step.
  struct Scope {
    uint32_t event = kNoEvent;
    uint32_t name = 0;
    bool shows_copies = false;       ///< its title showed all of its copies
    std::vector<uint32_t> firsts{};  ///< places of operations that are new here
    std::pair<int64_t, int64_t> view{0, 0};
  };

  const Model& model_;
  const std::vector<StepTask>& tasks_;
  std::vector<Shot>& shots_;
  std::map<uint32_t, std::set<uint32_t>> seen_;  ///< names of operations, by phase
  std::set<uint32_t> in_time_;  ///< names of phases that were shown in time order
  uint32_t run_first_ = 0, run_last_ = 0;    ///< places of repeats
  uint32_t lead_first_ = 0, lead_last_ = 0;  ///< places of callers
  int depth_ = 0;                            ///< of phases; bounds the recursion

  const Event& at(uint32_t place) const { return model_.events[model_.program[place]]; }
  static bool any_in(const std::vector<uint32_t>& places, uint32_t first,
                     uint32_t last) {
    const auto found = std::lower_bound(places.begin(), places.end(), first);
    return found != places.end() && *found < last;
  }
  bool has_phase(uint32_t first, uint32_t last) const {
    return any_in(model_.phase_places, first, last);
  }
  bool moves(uint32_t first, uint32_t last) const {
    return any_in(model_.movements, first, last);
  }
  static bool is_phase(const Event& event) {
    return event.what() == Kind::phase || event.what() == Kind::step;
  }
  /// An operation that is played as a whole.
  bool is_unit(uint32_t place) const {
    const Event& event = at(place);
    const Kind kind = event.what();
    const bool works = kind == Kind::op || event.is_task();
    return works && !has_phase(place, event.last);
  }

  /// Returns the time from the first of these events to the end of what they caused.
  std::pair<int64_t, int64_t> view_of(uint32_t first, uint32_t last) const {
    int64_t begin = at(first).ts, end = at(first).end();
    for (uint32_t place = first; place < last; ++place) {
      if (at(place).is_task()) end = std::max<int64_t>(end, at(place).end());
    }
    return {begin, end};
  }

  Shot& add(const Scope& scope, Shot::Kind kind, uint32_t first, uint32_t last,
            double seconds) {
    Shot shot;
    shot.kind = kind;
    shot.first = first;
    shot.last = last;
    shot.seconds = seconds;
    shot.phase = scope.event;
    shot.says = model_.program[first];
    shot.view = scope.view;
    shots_.push_back(std::move(shot));
    return shots_.back();
  }

  /// Appends the callers passed so far; `says` is what they lead to.
  void end_lead(const Scope& scope, uint32_t says) {
    if (lead_first_ == lead_last_) return;
    const double count = lead_last_ - lead_first_;
    Shot& shot = add(scope, Shot::Kind::sweep, lead_first_, lead_last_,
                     std::min(kMostCalls, kCall * count));
    shot.says = says == kNoEvent ? model_.program[lead_last_ - 1] : says;
    lead_first_ = lead_last_ = 0;
  }

  void end_run(const Scope& scope) {
    if (run_first_ == run_last_) return;
    const auto [words, count] = repeats(run_first_, run_last_);
    if (count == 0 && add_waits(scope)) return;
    const double seconds =
        count == 0 ? kBetween
                   : std::min(kMostRepeats,
                              kRepeats + kPerRepeat * static_cast<double>(count));
    const bool goes_on = count == 0 && !shots_.empty() &&
                         shots_.back().kind != Shot::Kind::time &&
                         shots_.back().phase == scope.event;
    const uint32_t says = goes_on ? shots_.back().says : kNoEvent;
    const std::string caption = goes_on ? shots_.back().caption : words;
    Shot& shot = add(scope, Shot::Kind::sweep, run_first_, run_last_, seconds);
    shot.repeats = count > 0;
    shot.caption = caption;
    if (goes_on) shot.says = says;  // nothing worth saying: what was said stays
    run_first_ = run_last_ = 0;
  }

  /// Shows a run in which the host waits, and for how long in all: what is said of one
  /// wait is false of the next. Returns false if it does not wait.
  bool add_waits(const Scope& scope) {
    size_t waits = 0;
    int64_t waited = 0;
    for (uint32_t place = run_first_; place < run_last_; place = at(place).last) {
      if (at(place).what() != Kind::sync) continue;
      ++waits;
      waited += at(place).dur;
    }
    if (waits == 0) return false;
    Shot& shot = add(scope, Shot::Kind::sweep, run_first_, run_last_, kRepeats);
    if (at(run_first_).last != run_last_) {
      shot.caption = fmt::format("The host waits **{}**, **{}** in all.",
                                 waits == 1 ? "once" : fmt::format("{} times", waits),
                                 human_time(waited));
    }
    run_first_ = run_last_ = 0;
    return true;
  }

  /// Returns "**conv2d ×19**, batch_norm ×19 as before." and the number of operations.
  std::pair<std::string, size_t> repeats(uint32_t first, uint32_t last) const {
    std::map<uint32_t, size_t> counts;  // by name
    size_t all = 0;
    for (uint32_t place = first; place < last;) {
      if (is_unit(place)) ++counts[at(place).name], ++all;
      place = is_unit(place) ? at(place).last : place + 1;
    }
    if (all == 0) return {"", 0};
    std::vector<std::pair<size_t, uint32_t>> largest;
    for (const auto& [name, count] : counts) largest.emplace_back(count, name);
    std::stable_sort(largest.begin(), largest.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    constexpr size_t kNamed = 4;
    std::string words;
    size_t rest = all;
    for (size_t i = 0; i < largest.size() && i < kNamed; ++i) {
      std::string_view name = model_.strings[largest[i].second];
      if (const size_t colons = name.rfind("::"); colons != name.npos) {
        name.remove_prefix(colons + 2);
      }
      words += fmt::format("{}**{} ×{}**", i == 0 ? "" : ", ", name, largest[i].first);
      rest -= largest[i].first;
    }
    if (rest > 0) words += fmt::format(" and {} more", rest);
    return {words + ": as those shown before.", all};
  }

  /// Plays the places of a phase, or of the step: its own and those of phases inside.
  void play_inside(Scope& scope, uint32_t first, uint32_t last) {
    find_firsts(scope, first, last);
    for (uint32_t place = first; place < last;) {
      const Event& event = at(place);
      if (is_phase(event) && depth_ < kDeepest) {
        end_lead(scope, kNoEvent);
        end_run(scope);
        ++depth_;
        play_phase(place);
        --depth_;
        place = event.last;
      } else if (!has_phase(place, event.last) && !is_new(scope, place, event.last)) {
        end_lead(scope, kNoEvent);
        if (run_first_ == run_last_) run_first_ = place;
        run_last_ = place = event.last;
      } else if (is_unit(place)) {
        end_run(scope);
        end_lead(scope, model_.program[place]);
        play_unit(scope, place);
        place = event.last;
      } else {
        end_run(scope);
        if (lead_first_ == lead_last_) lead_first_ = place;
        lead_last_ = ++place;
      }
    }
    end_lead(scope, kNoEvent);
    end_run(scope);
  }

  /// Notes which operations are the first of their name in phases of this name.
  void find_firsts(Scope& scope, uint32_t first, uint32_t last) {
    std::set<uint32_t>& seen = seen_[scope.name];
    for (uint32_t place = first; place < last;) {
      const Event& event = at(place);
      if (is_phase(event)) {
        place = event.last;
      } else if (is_unit(place)) {
        if (seen.insert(event.name).second) scope.firsts.push_back(place);
        place = event.last;
      } else {
        ++place;
      }
    }
  }

  bool is_new(const Scope& scope, uint32_t first, uint32_t last) const {
    return any_in(scope.firsts, first, last) ||
           (!scope.shows_copies && moves(first, last));
  }

  void play_unit(const Scope& scope, uint32_t place) {
    const Event& event = at(place);
    const double tasks = event.last - place - 1;
    if (moves(place, event.last)) {
      const bool again = !any_in(scope.firsts, place, event.last);
      add(scope, Shot::Kind::hold, place, event.last, again ? kMovingAgain : kMovingOp);
    } else {
      add(scope, Shot::Kind::sweep, place, event.last,
          std::min(kMostOp, kOp + kPerTask * tasks));
    }
  }

  void play_phase(uint32_t place) {
    const Event& event = at(place);
    if (model_.name_of(event) == phases::reduce) {
      play_in_time(model_.strings.find(phases::backward));  // its result is reduced
    }
    Scope scope;
    scope.event = model_.program[place];
    scope.name = event.name;
    scope.view = view_of(place, event.last);
    const bool nested = has_phase(place + 1, event.last);
    const bool moving = moves(place, event.last);
    scope.shows_copies = moving && !nested;
    const bool whole = scope.shows_copies && only_moves(place, event.last);
    Shot& title =
        add(scope, Shot::Kind::hold, place, whole ? event.last : place + 1,
            scope.shows_copies ? seconds_of_moves(place, event.last) : kTitle);
    title.still = !scope.shows_copies;
    if (!whole) play_inside(scope, place + 1, event.last);
    if (event.what() == Kind::phase) play_in_time(event.name);
  }

  /// Shows what the devices do at once in phases of this name, the first time.
  void play_in_time(uint32_t phase) {
    if (phase == Strings::kUnknown || !in_time_.insert(phase).second) return;
    add_parallel_shots(model_, tasks_, phase, shots_);
  }

  /// Returns true if a phase does little else than move data: its title shows it all.
  bool only_moves(uint32_t first, uint32_t last) const {
    size_t units = 0, moving = 0;
    for (uint32_t place = first + 1; place < last;) {
      if (at(place).what() == Kind::call) return false;
      units += is_unit(place);
      moving += is_unit(place) && moves(place, at(place).last);
      place = is_unit(place) ? at(place).last : place + 1;
    }
    return 2 * moving >= units;
  }

  double seconds_of_moves(uint32_t first, uint32_t last) const {
    double seconds = kMoves;
    for (uint32_t place = first; place < last; ++place) {
      if (at(place).what() == Kind::copy) {
        const Copy* copy = model_.copy_of(model_.program[place]);
        seconds += copy->collective == kNoEvent ? kPerCopy : kPerRound;
      }
    }
    return std::min(kMostMoves, seconds);
  }
};

}  // namespace

void add_program_shots(const Model& model, const std::vector<StepTask>& tasks,
                       uint32_t first, uint32_t last, std::vector<Shot>& shots) {
  ProgramShots(model, tasks, shots).play(first, last);
}

}  // namespace lockstep::gui
