// Rules about what no clock shows: what is computed, what is read, and by whom.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "lessons/machine/suspicion_rules.h"

namespace lockstep::lessons::rules {

Finding division(const Trace& trace) {
  if (mode_of(trace) != "ddp") {
    return {{},
            "this run has one process: no gradient is divided by a number of ranks"};
  }
  Finding found;
  for (const Event* backward : phases(trace, "backward")) {
    for (const Event* op : inside(trace, *backward, "op", "aten::mul")) {
      const bool by_script = op->pid == backward->pid && op->tid == backward->tid;
      if (!by_script) continue;  // a gradient is divided where it is packed
      found.guilty.push_back(op);
      for (const Event* kernel : events_of(trace, "kernel")) {
        if (kernel->op == op->id) found.guilty.push_back(kernel);
      }
    }
  }
  found.because = found.guilty.empty()
                      ? "each gradient is multiplied by one number, when it is packed "
                        "into its bucket, and by none afterwards"
                      : "gradients are multiplied by a number after their all-reduce, "
                        "and were when they were packed";
  return found;
}

Finding scale(const Trace& trace) {
  int64_t parts = 0;
  for (const Event* step : phases(trace, "step")) {
    parts = std::max(parts, number(*step, "micro_batches"));
  }
  if (parts < 2) {
    return {{},
            "there are no micro-batches here: a step has one loss, which is a mean"};
  }
  Finding found;
  for (const Event* loss : phases(trace, "loss")) {
    if (!inside(trace, *loss, "op", "aten::mul").empty()) continue;
    found.guilty.push_back(loss);
    for (const Event* op : inside(trace, *loss, "op")) {
      found.guilty.push_back(op);
      for (const Event* kernel : events_of(trace, "kernel")) {
        if (kernel->op == op->id) found.guilty.push_back(kernel);
      }
    }
  }
  found.because = fmt::format(
      "{} micro-batches, {} losses, of which {} are multiplied "
      "by a number",
      parts, phases(trace, "loss").size(), found.guilty.empty() ? "all" : "none");
  return found;
}

// --- samples: who reads what, and who does what

namespace {

struct Fetch {
  const Event* event;
  int64_t rank, epoch;
  std::vector<int64_t> samples;
};

/// Returns the batches that loaders made. A worker that begins again with batch 0
/// begins an epoch.
std::vector<Fetch> fetches(const Trace& trace) {
  std::vector<Fetch> found;
  std::map<int64_t, int64_t> epochs;
  for (const Event* event : events_of(trace, "call", "_MapDatasetFetcher.fetch")) {
    if (number(*event, "batch") < 0) continue;
    const int64_t rank = rank_of(*event);
    const bool known = epochs.contains(rank);
    if (number(*event, "batch") == 0) epochs[rank] += known ? 1 : 0;
    found.push_back(
        {event, rank, epochs[rank], event->args.find("indices").integers()});
  }
  return found;
}

std::string some(const std::vector<int64_t>& samples) {
  const size_t count = std::min<size_t>(samples.size(), 3);
  return fmt::format("{}", fmt::join(samples.begin(), samples.begin() + count, ", "));
}

}  // namespace

Finding set_epoch(const Trace& trace) {
  Finding found;
  const std::vector<Fetch> all = fetches(trace);
  const Fetch* later = nullptr;
  for (const Fetch& fetch : all) {
    if (fetch.epoch > 0) later = &fetch;
    for (const Fetch& before : all) {
      const bool same_place =
          before.rank == fetch.rank && before.epoch + 1 == fetch.epoch &&
          number(*before.event, "batch") == number(*fetch.event, "batch");
      if (!same_place || before.samples != fetch.samples) continue;
      found.guilty.push_back(fetch.event);
      found.because = fmt::format(
          "batch {} of rank {} is {}, … in epoch {} as in the one before",
          number(*fetch.event, "batch"), fetch.rank, some(fetch.samples), fetch.epoch);
    }
  }
  if (!found.guilty.empty()) return found;
  if (all.empty()) return {{}, "no loader's batches were recorded"};
  if (later == nullptr) {
    return {{}, "there is one epoch in this recording: no order can repeat itself"};
  }
  found.because = fmt::format("epoch {} has an order of its own: rank {} reads {}, …",
                              later->epoch, later->rank, some(later->samples));
  return found;
}

Finding seeds(const Trace& trace) {
  const std::vector<Fetch> all = fetches(trace);
  if (all.empty()) return {{}, "one process reads all pictures here"};
  std::set<const Event*> twice;
  std::map<std::pair<int64_t, int64_t>, const Fetch*> readers;  // by epoch and sample
  std::set<int64_t> samples;
  std::string told;
  for (const Fetch& fetch : all) {
    for (const int64_t sample : fetch.samples) {
      samples.insert(sample);
      const auto [other, first] =
          readers.emplace(std::pair(fetch.epoch, sample), &fetch);
      if (first || other->second->rank == fetch.rank) continue;
      twice.insert({fetch.event, other->second->event});
      told = fmt::format("ranks {} and {} both read picture {} in epoch {}",
                         other->second->rank, fetch.rank, sample, fetch.epoch);
    }
  }
  if (twice.empty()) {
    return {{},
            fmt::format("each of the {} pictures is read by one rank in an epoch",
                        samples.size())};
  }
  Finding found{{twice.begin(), twice.end()}, told};
  std::ranges::sort(found.guilty, {}, &Event::ts);
  return found;
}

Finding evaluation(const Trace& trace) {
  std::map<int64_t, std::set<int64_t>> evaluating;  // ranks, by step
  for (const Event* step : phases(trace, "step")) {
    if (text(*step, "kind") == "eval") evaluating[step->step].insert(rank_of(*step));
  }
  Finding found;
  for (const auto& [step, ranks] : evaluating) {
    if (ranks == ranks_of(trace)) continue;
    found.because = fmt::format("step {} is an evaluation, which only rank {} makes",
                                step, fmt::join(ranks, ", "));
    for (const Event& event : trace.events) {
      if (event.step == step && event.id != tracer::kNone) {
        found.guilty.push_back(&event);
      }
    }
  }
  if (found.guilty.empty()) {
    found.because = evaluating.empty() ? "every step of this recording is of training"
                                       : "all ranks evaluate together";
  }
  return found;
}

}  // namespace lockstep::lessons::rules
