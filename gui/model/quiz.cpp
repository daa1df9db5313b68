#include "gui/model/quiz.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/units.h"
#include "gui/model/breakdown.h"
#include "gui/model/details.h"

namespace lockstep::gui {

namespace {

constexpr double kTolerance = 0.02;
constexpr int64_t kClearLead = 10'000;  ///< ns: below, nobody is clearly the last
constexpr size_t kMostChoices = 4;
constexpr int64_t kMostBatch = int64_t{1} << 40;  ///< more is damage

/// What a phase copies between the memories.
struct Moved {
  std::set<int> from, to;
  std::map<int, int64_t> by_receiver, by_sender;
  int64_t bytes = 0;
  size_t copies = 0;
};

class Questions {
 public:
  Questions(const Model& model, size_t step, int rank)
      : model_(model), step_(model.steps[step]), rank_(rank), number_(step) {}

  std::vector<Question> all() {
    const uint32_t own = step_.event_of(rank_);
    if (own == kNoEvent || !is_ours(model_)) return {};
    const Event& whole = model_.events[own];
    step_args_ = args_of(model_, whole);
    auto place = std::lower_bound(model_.phase_places.begin(),
                                  model_.phase_places.end(), whole.order + 1);
    for (; place != model_.phase_places.end() && *place < whole.last; ++place) {
      ask_before(model_.program[*place]);
    }
    return std::move(questions_);
  }

 private:
  const Model& model_;
  const Step& step_;
  const int rank_;
  const size_t number_;
  tracer::Json step_args_;
  std::set<std::string> asked_;
  size_t reductions_ = 0;
  std::vector<Question> questions_;

  void ask_before(uint32_t phase) {
    const std::string& name = model_.name_of(model_.events[phase]);
    if (name == phases::all_reduce) return ask_about_reduction(phase);
    if (!asked_.insert(name).second) return;
    if (name == phases::scatter) ask_chunk(phase);
    if (name == phases::replicate) ask_bytes_out(phase);
    if (name == phases::gather) ask_last_device(phase);
    if (name == phases::backward) {
      if (model_.ranks() > 1)
        ask_first_bucket(phase);
      else if (model_.devices.size() == 1)
        ask_backward_time(phase);
    }
    if (name == phases::reduce) ask_bytes_in(phase);
  }

  /// Adds a question with the answer among the choices, or nothing if there is only
  /// one choice. Keeps the order of the choices.
  void add(Question question, std::vector<std::string> choices,
           const std::string& answer) {
    for (std::string& choice : choices) {
      std::vector<std::string>& known = question.choices;
      const bool is_new = std::find(known.begin(), known.end(), choice) == known.end();
      if (is_new) known.push_back(std::move(choice));
    }
    const auto right =
        std::find(question.choices.begin(), question.choices.end(), answer);
    if (question.choices.size() < 2 || right == question.choices.end()) return;
    question.answer = static_cast<size_t>(right - question.choices.begin());
    questions_.push_back(std::move(question));
  }

  void add_amount(Question question, std::vector<int64_t> amounts) {
    std::sort(amounts.begin(), amounts.end());
    std::vector<std::string> choices;
    for (const int64_t amount : amounts) {
      if (amount > 0) choices.push_back(human_bytes(amount));
    }
    const std::string answer = human_bytes(question.bytes);
    add(std::move(question), std::move(choices), answer);
  }

  std::string device(int index) const {
    return fmt::format("device {}", model_.devices[index].id);
  }

  /// Returns what copies of the phase's own reason move.
  Moved moved_in(uint32_t phase) const {
    Moved traffic;
    const Event& span = model_.events[phase];
    for (uint32_t place = span.order; place < span.last; ++place) {
      const Copy* copy = model_.copy_of(model_.program[place]);
      if (copy == nullptr || model_.strings[copy->why] != model_.name_of(span))
        continue;
      traffic.from.insert(copy->src);
      traffic.to.insert(copy->dst);
      traffic.by_receiver[copy->dst] += copy->bytes;
      traffic.by_sender[copy->src] += copy->bytes;
      traffic.bytes += copy->bytes;
      ++traffic.copies;
    }
    return traffic;
  }

  static std::string images(int64_t count) {
    return fmt::format("{} image{}", count, count == 1 ? "" : "s");
  }

  void ask_chunk(uint32_t phase) {
    const std::vector<int64_t> chunks = tracer::ints_arg(step_args_, keys::chunks);
    const int64_t batch = int_arg(step_args_, keys::batch, -1);
    const auto devices = static_cast<int64_t>(model_.devices.size());
    int64_t sum = 0;
    std::string list;
    for (size_t i = 0; i < chunks.size(); ++i) {
      if (chunks[i] < 0 || chunks[i] > kMostBatch) return;
      sum += chunks[i];
      if (i < 8) list += fmt::format("{}{}", i == 0 ? "" : ", ", chunks[i]);
    }
    if (chunks.size() > 8) list += ", …";
    if (chunks.size() < 2 || sum != batch || devices < 2) return;
    const int64_t last = chunks.back(), most = (batch + devices - 1) / devices;
    std::vector<int64_t> sizes = {last, batch, devices, last + most, most};
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    while (sizes.size() > kMostChoices) {
      sizes.erase(std::find_if(sizes.begin(), sizes.end(),
                               [&](int64_t size) { return size != last; }));
    }
    std::vector<std::string> choices;
    for (const int64_t size : sizes) choices.push_back(images(size));
    Question question{
        phase, fmt::format("A batch of {} images is scattered to {} devices. How "
                           "large is the last chunk?",
                           batch, devices)};
    question.because = fmt::format("The chunks are {}.", list);
    if (chunks.front() == most) {
      question.because += fmt::format(
          " Each has {}/{} images, rounded up; the last one "
          "gets what is left.",
          batch, devices);
    }
    add(std::move(question), std::move(choices), images(last));
  }

  void ask_bytes_out(uint32_t phase) {
    const Moved traffic = moved_in(phase);
    if (traffic.from.size() != 1 || *traffic.from.begin() == kHostDevice) return;
    ask_amount(phase, traffic, traffic.by_receiver,
               fmt::format("How many bytes leave {}'s port in **replicate**?",
                           device(*traffic.from.begin())),
               "to each of the {} other devices");
  }

  void ask_bytes_in(uint32_t phase) {
    const Moved traffic = moved_in(phase);
    if (traffic.to.size() != 1 || *traffic.to.begin() == kHostDevice) return;
    ask_amount(phase, traffic, traffic.by_sender,
               fmt::format("How many bytes enter {}'s port in **reduce**?",
                           device(*traffic.to.begin())),
               "from each of the {} other devices");
  }

  void ask_amount(uint32_t phase, const Moved& traffic,
                  const std::map<int, int64_t>& others, std::string text,
                  const char* each) {
    if (traffic.bytes <= 0 || others.contains(kHostDevice)) return;
    const auto count = static_cast<int64_t>(others.size());
    const int64_t one = others.begin()->second;
    const bool equal = std::all_of(others.begin(), others.end(),
                                   [&](const auto& own) { return own.second == one; });
    Question question{phase, std::move(text)};
    question.bytes = traffic.bytes;
    question.because =
        equal ? fmt::format("{} {}, in {} copies.", human_bytes(one),
                            fmt::format(fmt::runtime(each), count), traffic.copies)
              : fmt::format("{} copies move {}.", traffic.copies,
                            human_bytes(traffic.bytes));
    add_amount(std::move(question),
               {traffic.bytes, traffic.bytes / count,
                traffic.bytes / count * (count + 1), 2 * traffic.bytes});
  }

  /// Gather needs the output of every replica.
  void ask_last_device(uint32_t phase) {
    if (!model_.has_device_times()) return;
    std::map<int, int64_t> ends;
    for_each_own([&](uint32_t, const Event& event) {
      if (event.what() != Kind::kernel || event.phase == 0) return;
      if (model_.strings[model_.phases[event.phase]] != phases::parallel_apply) return;
      const int own = model_.lanes[event.lane].device;
      if (own != kHostDevice) ends[own] = std::max<int64_t>(ends[own], event.end());
    });
    ask_last(phase, ends, "device",
             "**gather** needs the outputs of all replicas. Which "
             "device lets it wait longest?",
             "finished its forward");
  }

  /// Asks which of the devices (or ranks) has the largest time.
  void ask_last(uint32_t phase, const std::map<int, int64_t>& times, const char* what,
                std::string text, const char* did) {
    if (times.size() < 2) return;
    std::vector<std::pair<int64_t, int>> order;
    for (const auto& [who, time] : times) order.emplace_back(time, who);
    std::sort(order.begin(), order.end());
    const auto [latest, last] = order.back();
    const auto [before, second] = order[order.size() - 2];
    if (latest - before < kClearLead) return;
    const auto named = [&](int who) {
      return model_.ranks() > 1 ? fmt::format("{} {}", what, who) : device(who);
    };
    std::set<int> chosen = {last, order.front().second};
    for (const auto& [who, time] : times) {
      if (chosen.size() < kMostChoices) chosen.insert(who);
    }
    std::vector<std::string> choices;
    for (const int who : chosen) choices.push_back(named(who));
    Question question{phase, std::move(text)};
    question.because =
        fmt::format("It {} {} after {}, and {} after {}.", did,
                    human_time(latest - before), named(second),
                    human_time(latest - order.front().first), named(order[0].second));
    if (order.size() == 2) {
      question.because = fmt::format("It {} {} after {}.", did,
                                     human_time(latest - before), named(second));
    }
    add(std::move(question), std::move(choices), named(last));
  }

  template <typename Body>
  void for_each_own(const Body& body) const {
    auto at = std::lower_bound(
        model_.events.begin(), model_.events.end(), step_.begin,
        [](const Event& event, int64_t begin) { return event.ts < begin; });
    for (; at != model_.events.end() && at->ts <= step_.end; ++at) {
      if (at->step != step_.number) continue;
      body(static_cast<uint32_t>(at - model_.events.begin()), *at);
    }
  }

  /// Returns the collectives of this step that reduce a bucket, in the order of their
  /// start.
  std::vector<std::pair<uint32_t, int64_t>> buckets() const {
    std::vector<std::pair<uint32_t, int64_t>> all;
    for (uint32_t i = 0; i < model_.collectives.size(); ++i) {
      const uint32_t first = model_.collectives[i].events.front();
      if (model_.events[first].step != step_.number) continue;
      const CollectiveArgs own(model_, first);
      if (own.facts.bucket >= 0) all.emplace_back(i, own.facts.bucket);
    }
    return all;
  }

  void ask_first_bucket(uint32_t phase) {
    const auto order = buckets();
    if (order.size() < 2) return;
    std::set<int64_t> chosen = {order.front().second, order.back().second};
    std::string list;
    for (const auto& [collective, bucket] : order) {
      if (chosen.size() < kMostChoices) chosen.insert(bucket);
      list += fmt::format("{}{}", list.empty() ? "" : ", ", bucket);
    }
    std::vector<std::string> choices;
    for (const int64_t bucket : chosen)
      choices.push_back(fmt::format("bucket {}", bucket));
    Question question{
        phase,
        "Backward fills the buckets of gradients. Which bucket is reduced "
        "first?"};
    question.because =
        order.size() <= 8
            ? fmt::format("The reductions began in this order: {}.", list)
            : fmt::format("It was the first of {} reductions.", order.size());
    if (order.front().second == 0) {
      question.because +=
          " Buckets are numbered in the order in which gradients become "
          "ready.";
    }
    add(std::move(question), std::move(choices),
        fmt::format("bucket {}", order.front().second));
  }

  void ask_about_reduction(uint32_t phase) {
    const uint32_t collective = collective_in(phase);
    if (collective == kNoEvent) return;
    ++reductions_;
    if (reductions_ == 1) ask_bytes_of_ring(phase, collective);
    if (reductions_ == 2) ask_last_rank(phase, collective);
  }

  uint32_t collective_in(uint32_t phase) const {
    const Event& span = model_.events[phase];
    for (uint32_t place = span.order; place < span.last; ++place) {
      if (model_.events[model_.program[place]].what() != Kind::collective) continue;
      return model_.collective_of(model_.program[place]);
    }
    return kNoEvent;
  }

  void ask_bytes_of_ring(uint32_t phase, uint32_t index) {
    const Collective& whole = model_.collectives[index];
    const CollectiveArgs own(model_, whole.events.front());
    const int64_t bytes = own.facts.bytes, ranks = own.facts.group_size;
    int64_t sent = 0;
    size_t messages = 0;
    for (const uint32_t message : whole.copies) {
      const Copy& copy = model_.copies[message];
      if (copy.src == kHostDevice || model_.devices[copy.src].rank != rank_) continue;
      sent += copy.bytes;
      ++messages;
    }
    if (sent <= 0 || ranks < 2 || bytes <= 0) return;
    Question question{
        phase, fmt::format("{} ranks all-reduce {}. How many bytes does rank {} send?",
                           ranks, human_bytes(bytes), rank_)};
    question.bytes = sent;
    question.because = fmt::format("It sends {} message{} of about {}.", messages,
                                   messages == 1 ? "" : "s",
                                   human_bytes(sent / static_cast<int64_t>(messages)));
    const double factor =
        2.0 * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
    const double law = factor * static_cast<double>(bytes);
    if (std::abs(law - static_cast<double>(sent)) < kTolerance * law) {
      question.because += fmt::format(
          " That is 2 × {}/{} of the data: once around to sum "
          "the chunks, once to pass the sums on.",
          ranks - 1, ranks);
    }
    const int64_t all = bytes < kMostBatch ? bytes * (ranks - 1) : bytes;
    add_amount(std::move(question), {sent, bytes, bytes / ranks, all});
  }

  void ask_last_rank(uint32_t phase, uint32_t index) {
    if (!model_.has_device_times()) return;
    std::map<int, int64_t> joined;
    for (const uint32_t part : model_.collectives[index].events) {
      joined[model_.rank_of(part)] = model_.events[part].ts;
    }
    ask_last(
        phase, joined, "rank",
        "An all-reduce begins when every rank has joined it. For which rank do the "
        "others wait here?",
        "joined");
  }

  /// Asks for the ratio only if it is close to one of the choices.
  void ask_backward_time(uint32_t phase) {
    if (!model_.has_device_times()) return;
    const Breakdown whole = break_down(model_, number_);
    int64_t forward = 0, backward = 0;
    for (const tracer::NamedPhase& own : whole.phases) {
      int64_t busy = 0;
      for (const auto& [device, time] : own.cost.busy) busy += time;
      if (own.name == phases::forward) forward = busy;
      if (own.name == phases::backward) backward = busy;
    }
    if (forward <= 0 || backward <= 0) return;
    const double ratio = static_cast<double>(backward) / static_cast<double>(forward);
    constexpr double kRatios[] = {0.5, 1, 2, 4};
    constexpr const char* kWords[] = {"about half as long", "about as long",
                                      "about twice as long", "about 4 times as long"};
    for (size_t i = 0; i < std::size(kRatios); ++i) {
      if (std::abs(ratio / kRatios[i] - 1) > 0.2) continue;
      Question question{
          phase,
          "Compared with forward, how long does the device compute in backward?"};
      question.because =
          fmt::format("Backward computes for {}, forward for {}: {:.2g} times as long.",
                      human_time(backward), human_time(forward), ratio);
      add(std::move(question), {std::begin(kWords), std::end(kWords)}, kWords[i]);
    }
  }
};

}  // namespace

std::vector<Question> questions_of(const Model& model, size_t step, int rank) {
  return Questions(model, step, rank).all();
}

}  // namespace lockstep::gui
