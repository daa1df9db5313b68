// The part of a script in time order: what several devices do at once.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/units.h"
#include "gui/model/details.h"
#include "gui/model/script_parts.h"
#include "gui/model/state.h"

namespace lockstep::gui {

namespace {

// Seconds, before the script is stretched to its length.
constexpr double kCompute = 0.8, kAllCompute = 4;   ///< each part; by duration
constexpr double kFirstRound = 1.2, kRound = 0.25;  ///< of the first ring; later ones
constexpr double kFirstRing = 8, kRings = 5, kLeastPart = 0.25, kPause = 0.4;
constexpr double kIdle = 0.8, kLeastBusy = 0.4;
constexpr double kJoined = 0.15;    ///< of the flying time: a gap that is shown, too
constexpr double kLongIdle = 0.03;  ///< of a step

struct Stretch {
  int64_t begin = 0, end = 0;
  int64_t length() const { return end - begin; }
};

/// Returns the union of spans; joins those that are at most `gap` apart.
std::vector<Stretch> joined(std::vector<Stretch> spans, int64_t gap) {
  std::sort(spans.begin(), spans.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  std::vector<Stretch> all;
  for (const Stretch& span : spans) {
    if (!all.empty() && span.begin <= all.back().end + gap)
      all.back().end = std::max(all.back().end, span.end);
    else
      all.push_back(span);
  }
  return all;
}

int64_t total(const std::vector<Stretch>& spans) {
  int64_t sum = 0;
  for (const Stretch& span : spans) sum += span.length();
  return sum;
}

/// Copies that reduce gradients together: a collective's messages, or DP's reduction.
struct Reduction {
  uint32_t collective = kNoEvent;
  std::vector<Stretch> flights;
  int rounds = 0;
  Stretch whole{INT64_MAX, 0};
};

class ParallelShots {
 public:
  ParallelShots(const Model& model, const std::vector<StepTask>& tasks, uint32_t phase,
                std::vector<Shot>& shots)
      : model_(model), tasks_(tasks), phase_(phase), shots_(shots) {}

  void add() {
    std::set<int> devices;
    for (const StepTask& task : tasks_) {
      if (!is_own_kernel(task)) continue;
      devices.insert(task.device);
      window_.begin = std::min(window_.begin, task.begin);
      window_.end = std::max(window_.end, task.end);
    }
    for (const Shot& shot : shots_) {  // a slow rank may still be in the phase before
      if (shot.kind == Shot::Kind::time)
        window_.begin = std::max(window_.begin, shot.end);
    }
    if (devices.size() < 2 || window_.length() <= 0) return;
    std::vector<Reduction> reductions;
    if (model_.strings[phase_] == phases::backward) reductions = reductions_here();
    for (const Reduction& reduction : reductions) {
      window_.end = std::max(window_.end, reduction.whole.end);
    }
    at_ = window_.begin;
    for (size_t i = 0; i < reductions.size(); ++i) add(reductions[i], i, reductions);
    add_compute(window_.end);
  }

 private:
  const Model& model_;
  const std::vector<StepTask>& tasks_;
  uint32_t phase_;
  std::vector<Shot>& shots_;
  Stretch window_{INT64_MAX, 0};
  int64_t at_ = 0;  ///< up to which the window has been shown

  bool is_own_kernel(const StepTask& task) const {
    return task.is_kernel && model_.phases[task.phase] == phase_;
  }

  /// Returns the devices that run kernels of the phase during a span, and their number.
  std::set<int> computing(const Stretch& span, size_t& kernels) const {
    std::set<int> devices;
    kernels = 0;
    for (const StepTask& task : tasks_) {
      if (task.begin >= span.end) break;
      if (!is_own_kernel(task) || task.end <= span.begin) continue;
      devices.insert(task.device);
      ++kernels;
    }
    return devices;
  }

  /// Returns how long at least `least` devices run kernels of the phase in a span.
  int64_t computed(const Stretch& span, int least) const {
    std::map<int, std::vector<Stretch>> busy;
    for (const StepTask& task : tasks_) {
      if (task.begin >= span.end) break;
      if (!is_own_kernel(task) || task.end <= span.begin) continue;
      busy[task.device].push_back(
          {std::max(task.begin, span.begin), std::min(task.end, span.end)});
    }
    std::vector<std::pair<int64_t, int>> changes;
    for (const auto& [device, spans] : busy) {
      for (const Stretch& own : joined(spans, 0)) {
        changes.emplace_back(own.begin, 1);
        changes.emplace_back(own.end, -1);
      }
    }
    std::sort(changes.begin(), changes.end());
    int64_t time = 0, since = 0;
    int devices = 0;
    for (const auto& [ts, change] : changes) {
      if (devices >= least) time += ts - since;
      devices += change;
      since = ts;
    }
    return time;
  }

  std::string share_computed(const Stretch& span, int least) const {
    const int64_t time = computed(span, least);
    const double share = static_cast<double>(time) /
                         static_cast<double>(std::max<int64_t>(1, span.length()));
    return time > 0 && share < 0.01 ? "less than 1 %" : percent(share);
  }

  /// Returns the reductions of gradients, if any of them overlaps backward.
  std::vector<Reduction> reductions_here() const {
    std::vector<Reduction> all;
    for (const StepTask& task : tasks_) {
      if (task.copy == nullptr || task.copy->src == task.copy->dst) continue;
      const std::string& phase = model_.strings[model_.phases[task.phase]];
      if (phase != phases::all_reduce && phase != phases::reduce) continue;
      const uint32_t collective = task.copy->collective;
      auto own = std::find_if(all.begin(), all.end(), [&](const Reduction& known) {
        return known.collective == collective;
      });
      if (own == all.end()) {
        all.push_back({collective, {}, 0, {INT64_MAX, 0}});
        own = all.end() - 1;
      }
      own->flights.push_back({task.begin, task.end});
      own->rounds = std::max(own->rounds, task.copy->round + 1);
      own->whole = {std::min(own->whole.begin, task.begin),
                    std::max(own->whole.end, task.end)};
    }
    size_t kernels = 0;
    for (const Reduction& reduction : all) {
      for (const Stretch& flight : reduction.flights) {
        if (!computing(flight, kernels).empty()) return all;
      }
    }
    return {};
  }

  Shot& add_part(int64_t end, double seconds, const Stretch& view) {
    Shot shot;
    shot.kind = Shot::Kind::time;
    shot.begin = at_;
    shot.end = end;
    shot.seconds = seconds;
    shot.view = {view.begin, view.end};
    at_ = end;
    shots_.push_back(std::move(shot));
    return shots_.back();
  }

  /// Shows what the devices compute until `end`.
  void add_compute(int64_t end) {
    if (end <= at_) return;
    const Stretch span{at_, end};
    size_t kernels = 0;
    const std::set<int> devices = computing(span, kernels);
    const double share = static_cast<double>(span.length()) /
                         static_cast<double>(std::max<int64_t>(1, window_.length()));
    Shot& shot = add_part(end, kCompute + kAllCompute * share, window_);
    const std::string& phase = model_.strings[phase_];
    shot.caption =
        devices.empty() ? fmt::format("No device runs a kernel of **{}** here.", phase)
        : devices.size() == 1
            ? fmt::format("In time order: **{}** on {}, {} kernel{}.", phase,
                          words_of(devices), kernels, kernels == 1 ? "" : "s")
            : fmt::format(
                  "In time order: **{} on {} {}**, {} kernels; two or more compute at "
                  "once in **{}** of this time.",
                  phase, devices.size(), plural(), kernels, share_computed(span, 2));
  }

  /// Shows one reduction: slowly where data move, quickly where none do.
  void add(const Reduction& reduction, size_t number,
           const std::vector<Reduction>& all) {
    const int64_t flying = total(joined(reduction.flights, 0));
    const auto gap = static_cast<int64_t>(kJoined * static_cast<double>(flying));
    const std::vector<Stretch> parts = joined(reduction.flights, gap);
    const double seconds = seconds_of(reduction, number, all.size());
    bool inside = false;
    for (Stretch part : parts) {
      part.begin = std::max(part.begin, at_);
      if (part.end <= part.begin) continue;
      if (inside && part.begin > at_) {
        const int64_t gap_length = part.begin - at_;
        add_part(part.begin, kPause, reduction.whole).caption =
            fmt::format("Nothing of {} moves for **{}**.", moved_by(reduction),
                        human_time(gap_length));
      } else {
        add_compute(part.begin);
      }
      inside = true;
      const double share = static_cast<double>(part.length()) /
                           static_cast<double>(std::max<int64_t>(1, total(parts)));
      const int64_t margin = std::max(part.length() * 6 / 10, window_.length() / 60);
      add_part(part.end, std::max(kLeastPart, seconds * share),
               {part.begin - margin, part.end + margin})
          .caption = caption_of(reduction, part, number, all.size());
    }
  }

  static double seconds_of(const Reduction& reduction, size_t number, size_t count) {
    const double rounds = reduction.collective == kNoEvent ? 6 : reduction.rounds;
    if (number == 0) return std::clamp(kFirstRound * rounds, 2.0, kFirstRing);
    const double most = kRings / static_cast<double>(std::max<size_t>(1, count - 1));
    return std::min(std::max(1.0, kRound * rounds), most);
  }

  std::string plural() const { return model_.ranks() > 1 ? "ranks" : "devices"; }

  /// Returns "device 2" or "ranks 0, 1 and 3".
  std::string words_of(const std::set<int>& devices) const {
    const bool ranks = model_.ranks() > 1;
    if (devices.size() > 6) return fmt::format("{} {}", devices.size(), plural());
    std::string words = ranks ? "rank" : "device";
    if (devices.size() > 1) words += "s";
    size_t i = 0;
    for (const int device : devices) {
      const int64_t number = ranks ? model_.number_of(model_.devices[device].rank)
                                   : model_.devices[device].id;
      const bool last = ++i == devices.size();
      words += fmt::format("{}{}", i == 1 ? " " : last ? " and " : ", ", number);
    }
    return words;
  }

  const char* name_of(const Reduction& reduction) const {
    const uint32_t part = model_.collectives[reduction.collective].events.front();
    const CollectiveArgs own(model_, part);
    return own.facts.algorithm == "ring" ? "The ring" : "All-reduce";
  }

  /// Returns "bucket 0" or "the gradients".
  std::string moved_by(const Reduction& reduction) const {
    if (reduction.collective == kNoEvent) return "the gradients";
    const CollectiveArgs own(model_,
                             model_.collectives[reduction.collective].events.front());
    return own.facts.bucket >= 0 ? fmt::format("bucket {}", own.facts.bucket)
                                 : "the gradients";
  }

  /// Returns what a part of a reduction shows; it holds for all of the part.
  std::string caption_of(const Reduction& reduction, const Stretch& part, size_t number,
                         size_t count) const {
    size_t kernels = 0;
    const std::set<int> devices = computing(part, kernels);
    std::string what = "gradients travel to one device";
    if (reduction.collective != kNoEvent) {
      const CollectiveArgs own(model_,
                               model_.collectives[reduction.collective].events.front());
      what =
          fmt::format("{} ({}) travel{} between the ranks", moved_by(reduction),
                      human_bytes(own.facts.bytes), own.facts.bucket >= 0 ? "s" : "");
    }
    const std::string turn =
        count > 1 ? fmt::format(" ({} of {})", number + 1, count) : "";
    const bool ranks = reduction.collective != kNoEvent;
    if (devices.empty()) {
      return fmt::format("**Exposed**{}: {} and no {} computes gradients.", turn, what,
                         ranks ? "rank" : "device");
    }
    return fmt::format(
        "**{} and backward**{}: {}; {} compute{} gradients in **{}** of this time.",
        ranks ? name_of(reduction) : "Reduce", turn, what, words_of(devices),
        devices.size() == 1 ? "s" : "", share_computed(part, 1));
  }
};

}  // namespace

std::vector<StepTask> tasks_of(const Model& model, size_t number) {
  const Step& step = model.steps[number];
  std::vector<StepTask> tasks;
  auto at = std::lower_bound(
      model.events.begin(), model.events.end(), step.begin,
      [](const Event& event, int64_t begin) { return event.ts < begin; });
  for (; at != model.events.end() && at->ts <= step.end; ++at) {
    const bool own = step.event == kNoEvent || at->step == step.number;
    const bool moves = at->what() == Kind::copy;
    if (!own || (!moves && at->what() != Kind::kernel)) continue;
    const auto index = static_cast<uint32_t>(at - model.events.begin());
    const int device = model.lanes[at->lane].device;
    if (!moves && device == kHostDevice) continue;
    tasks.push_back({at->ts, at->end(), device, static_cast<uint32_t>(at->phase),
                     !moves, moves ? model.copy_of(index) : nullptr});
  }
  return tasks;
}

void add_parallel_shots(const Model& model, const std::vector<StepTask>& tasks,
                        uint32_t phase, std::vector<Shot>& shots) {
  const std::string& name = model.strings[phase];
  if (name != phases::forward && name != phases::parallel_apply &&
      name != phases::backward) {
    return;
  }
  ParallelShots(model, tasks, phase, shots).add();
}

void add_time_shots(const Model& model, const Step& step, std::vector<Shot>& shots) {
  const Stretch whole{step.begin, std::max(step.end, step.begin + 1)};
  std::vector<Stretch> busy;
  for (const Lane& lane : model.lanes) {
    if (lane.is_host()) continue;
    const uint32_t earlier = task_on(model, lane, whole.begin);
    if (earlier == kNoEvent) continue;
    busy.push_back(
        {whole.begin, std::min<int64_t>(model.events[earlier].end(), whole.end)});
  }
  auto event =
      std::lower_bound(model.events.begin(), model.events.end(), whole.begin,
                       [](const Event& e, int64_t begin) { return e.ts < begin; });
  for (; event != model.events.end() && event->ts < whole.end; ++event) {
    if (!event->is_task()) continue;
    busy.push_back({event->ts, std::min<int64_t>(event->end(), whole.end)});
  }
  const auto long_idle =
      static_cast<int64_t>(kLongIdle * static_cast<double>(whole.length()));
  busy = joined(std::move(busy), std::max<int64_t>(1, long_idle));
  const std::string what = busy.empty() ? "the step" : "what the devices do";
  if (busy.empty()) busy = {whole};
  if (busy.front().begin - whole.begin <= long_idle) busy.front().begin = whole.begin;
  if (whole.end - busy.back().end <= long_idle) busy.back().end = whole.end;
  const double in_all = static_cast<double>(std::max<int64_t>(1, total(busy)));
  const double all_idle = kIdle * static_cast<double>(busy.size() + 1);
  int64_t at = whole.begin;
  const auto add = [&](int64_t end, double seconds, std::string caption) {
    if (end <= at) return;
    Shot shot;
    shot.kind = Shot::Kind::time;
    shot.begin = at;
    shot.end = at = end;
    shot.seconds = seconds;
    shot.view = {whole.begin, whole.end};
    shot.caption = std::move(caption);
    shots.push_back(std::move(shot));
  };
  const auto idle = [&](int64_t end) {
    add(end, kIdle,
        fmt::format("No device works for **{}**: this gap is shortened.",
                    human_time(end - at)));
  };
  for (const Stretch& span : busy) {
    idle(span.begin);
    const double share = static_cast<double>(span.length()) / in_all;
    add(span.end, std::max(kLeastBusy, share * (kStepSeconds - all_idle)),
        fmt::format("**In time order**: {} of {}.", human_time(span.length()), what));
  }
  idle(whole.end);
}

}  // namespace lockstep::gui
