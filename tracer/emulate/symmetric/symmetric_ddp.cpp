#include "tracer/emulate/symmetric/symmetric_ddp.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>

#include "engine/plan/ring.h"
#include "tracer/emulate/construct/rank_of_ddp.h"
#include "tracer/emulate/hardware/hardware.h"
#include "tracer/emulate/own_hardware.h"
#include "tracer/emulate/symmetric/rank_times.h"
#include "tracer/emulate/symmetric/ring_times.h"
#include "tracer/format/facts.h"
#include "tracer/format/index.h"

namespace lockstep::tracer {

namespace {

constexpr int64_t kUnset = RankTimes::kNever;

/// What other ranks have a part in, on one rank.
struct Meeting {
  size_t event = 0;
  RepeatedCollective collective;  ///< of a copy from the host: none
  bool sums = false;
};

void require_simple(const ConstructedProgram& program) {
  if (program.devices < 1 || program.devices > kMostRanks) {
    throw std::runtime_error(
        fmt::format("a program of {} ranks cannot be re-timed; fix: choose 1 to {}",
                    program.devices, kMostRanks));
  }
  if (program.all_reduce == "tree") {
    throw std::runtime_error(
        fmt::format("trees of more than {} ranks cannot be re-timed; fix: choose "
                    "--all-reduce ring",
                    kMostDevices));
  }
  if (program.hardware == nullptr) return;
  throw std::runtime_error(fmt::format(
      "more than {} devices cannot share the links of {}; fix: choose fewer "
      "devices, or --link-gb-per-s instead of --hardware",
      kMostDevices, program.hardware->name));
}

bool is_from_host(const Event& event) {
  return event.is(categories::copy) && copy_facts(event).src == kHost;
}

bool is_to_host(const Event& event) {
  return event.is(categories::copy) && copy_facts(event).dst == kHost;
}

}  // namespace

/// The program of one rank, as a trace and its graph.
struct SymmetricDdp::Program {
  Program(const Trace& recorded, const ConstructedProgram& constructed)
      : recorded(recorded),
        program(constructed),
        rank(rank_of_ddp(recorded, constructed)),
        trace(repeat_on_ranks(recorded, rank.step, rank.events, {}, 1)),
        lanes(trace),
        graph(trace, lanes) {
    for (size_t i = 0; i < trace.events.size(); ++i) {
      if (is_from_host(trace.events[i])) copies.push_back({i, {}});
      if (is_to_host(trace.events[i])) to_host.push_back(i);
      if (trace.events[i].name == names::step) begin = trace.events[i].ts;
    }
    const Index index(trace);
    for (const RepeatedCollective& collective : rank.collectives) {
      const size_t event = index.position(collective.id);
      const bool sums = trace.events[event].name == reasons::all_reduce;
      (sums ? buckets : broadcasts).push_back({event, collective, sums});
    }
    for (const auto* meetings : {&copies, &broadcasts, &buckets}) {
      for (const Meeting& meeting : *meetings) {
        inputs.push_back(static_cast<uint32_t>(TimingGraph::end_of(meeting.event)));
      }
    }
  }

  const Trace& recorded;
  const ConstructedProgram program;
  const RankOfDdp rank;
  const Trace trace;
  const Lanes lanes;
  const TimingGraph graph;
  /// In the order in which each of them happens.
  std::vector<Meeting> copies, broadcasts, buckets;
  std::vector<size_t> to_host;
  std::vector<uint32_t> inputs;  ///< the ends of all of them, in that order
  int64_t begin = 0;
};

namespace {

/// Computes when each rank meets the others: first the copies and broadcasts, which
/// share the port into each device, then the sums.
class Meetings {
 public:
  Meetings(const std::vector<Meeting>& copies, const std::vector<Meeting>& broadcasts,
           const std::vector<Meeting>& buckets, const RankTimes& times,
           const Trace& trace, const EmulateOptions& options, int ranks)
      : copies_(copies),
        broadcasts_(broadcasts),
        buckets_(buckets),
        times_(times),
        trace_(trace),
        options_(options),
        values_(static_cast<size_t>(ranks)),
        ports_(static_cast<size_t>(ranks)),
        joined_(static_cast<size_t>(ranks), INT64_MAX) {
    for (auto& values : values_) values.assign(times.inputs(), kUnset);
  }

  void run() {
    for (size_t i = 0; i < broadcasts_.size(); ++i) broadcast(i);
    for (size_t r = 0; r < values_.size(); ++r) serve_copies(r, INT64_MAX);
    for (size_t i = 0; i < buckets_.size(); ++i) sum(i);
  }

  /// By rank: when each input happens.
  const std::vector<std::vector<int64_t>>& values() const { return values_; }
  /// From when until when a rank may send messages of sums.
  std::pair<int64_t, int64_t> sums(size_t rank) const { return {joined_[rank], end_}; }

 private:
  struct Port {
    int64_t free = INT64_MIN;
    size_t next = 0;  ///< of the copies from the host
  };

  int64_t start(const Meeting& meeting, size_t rank) const {
    return times_.at(TimingGraph::start_of(meeting.event), values_[rank]);
  }

  /// Ports take what was ready first: copies that are ready before a message go first.
  void serve_copies(size_t rank, int64_t message, size_t at_least = 0) {
    Port& port = ports_[rank];
    for (; port.next < copies_.size(); ++port.next) {
      const Meeting& copy = copies_[port.next];
      const int64_t ready = start(copy, rank);
      if (port.next >= at_least && ready >= message) return;
      const double bytes = number_arg(trace_.events[copy.event].args, keys::bytes);
      port.free = std::max(ready, port.free) + copy_time(bytes, options_.link);
      values_[rank][port.next] = port.free;
    }
  }

  /// From each rank to the next.
  void broadcast(size_t which) {
    const Meeting& meeting = broadcasts_[which];
    const size_t ranks = values_.size(), input = copies_.size() + which;
    const auto bytes =
        static_cast<double>(meeting.collective.numel * meeting.collective.item_bytes);
    const int64_t takes = copy_time(bytes, options_.link);
    const size_t moment = TimingGraph::start_of(meeting.event);
    size_t awaited = 0;  // copies for which the collective waits
    for (size_t i = 0; i < copies_.size(); ++i) {
      if (times_.waits(moment, i)) awaited = i + 1;
    }
    std::vector<int64_t> joined(ranks), arrives(ranks, kUnset);
    for (size_t r = 0; r < ranks; ++r) {
      serve_copies(r, INT64_MIN, awaited);
      joined[r] = start(meeting, r);
    }
    for (size_t r = 1; r < ranks; ++r) {
      const int64_t ready = std::max({joined[r], joined[r - 1], arrives[r - 1]});
      serve_copies(r, ready);
      ports_[r].free = std::max(ready, ports_[r].free) + takes;
      arrives[r] = ports_[r].free;
    }
    for (size_t r = 0; r < ranks; ++r) {
      const int64_t sent = r + 1 < ranks ? arrives[r + 1] : kUnset;
      values_[r][input] = ranks == 1 ? joined[r] : std::max(arrives[r], sent);
    }
  }

  void sum(size_t which) {
    const Meeting& meeting = buckets_[which];
    const size_t ranks = values_.size();
    const size_t input = copies_.size() + broadcasts_.size() + which;
    std::vector<int64_t> joined(ranks), chunks(ranks);
    for (size_t r = 0; r < ranks; ++r) joined[r] = start(meeting, r);
    const auto ranges =
        plan::ring_chunks(meeting.collective.numel, static_cast<int>(ranks));
    for (size_t i = 0; i < ranks; ++i) {
      const int64_t bytes = ranges[i].count * meeting.collective.item_bytes;
      chunks[i] = copy_time(static_cast<double>(bytes), options_.link);
    }
    const std::vector<int64_t> ends = ring_ends(joined, chunks);
    for (size_t r = 0; r < ranks; ++r) values_[r][input] = ends[r];
    if (ranks == 1) return;
    if (which == 0) joined_ = joined;
    end_ = *std::ranges::max_element(ends);
  }

  const std::vector<Meeting>&copies_, &broadcasts_, &buckets_;
  const RankTimes& times_;
  const Trace& trace_;
  const EmulateOptions& options_;
  std::vector<std::vector<int64_t>> values_;
  std::vector<Port> ports_;
  std::vector<int64_t> joined_;  ///< by rank: the first sum
  int64_t end_ = INT64_MIN;
};

void set_times(Event& event, const RankTimes& times, size_t index,
               std::span<const int64_t> values) {
  event.ts = times.at(TimingGraph::start_of(index), values);
  event.dur = times.at(TimingGraph::end_of(index), values) - event.ts;
}

}  // namespace

SymmetricDdp::SymmetricDdp(const Trace& trace, const ConstructedProgram& program) {
  require_simple(program);
  program_ = std::make_unique<Program>(trace, program);
}
SymmetricDdp::~SymmetricDdp() = default;
SymmetricDdp::SymmetricDdp(SymmetricDdp&&) noexcept = default;

int64_t SymmetricDdp::batch() const {
  return program_->rank.step.batch * program_->program.devices;
}

SymmetricStep SymmetricDdp::retime(const EmulateOptions& options) const {
  const Program& p = *program_;
  const RankTimes times(p.graph, own_hardware(options), p.inputs);
  Meetings meetings(p.copies, p.broadcasts, p.buckets, times, p.trace, options,
                    p.program.devices);
  meetings.run();
  SymmetricStep step;
  for (size_t rank = 0; rank < meetings.values().size(); ++rank) {
    const auto& values = meetings.values()[rank];
    step.rank_ends.push_back(times.last(values) - p.begin);
    step.length = std::max(step.length, step.rank_ends.back());
    for (const size_t event : p.to_host) {
      const int64_t begin = times.at(TimingGraph::start_of(event), values);
      const int64_t end = times.at(TimingGraph::end_of(event), values);
      const auto [first, last] = meetings.sums(rank);
      if (begin < last && end > first) step.exact = false;
    }
  }
  return step;
}

Trace SymmetricDdp::representatives(const EmulateOptions& options,
                                    const std::vector<int>& ranks) const {
  const Program& p = *program_;
  const RankTimes times(p.graph, own_hardware(options), p.inputs);
  Meetings meetings(p.copies, p.broadcasts, p.buckets, times, p.trace, options,
                    p.program.devices);
  meetings.run();
  Trace result = repeat_on_ranks(p.recorded, p.rank.step, p.rank.events, {},
                                 static_cast<int>(ranks.size()));
  int64_t stride = 0;
  for (const Event& event : p.rank.events) stride = std::max(stride, event.id + 1);
  const Index index(p.trace);
  for (Event& event : result.events) {
    if (event.ph == 'M') {
      const int64_t rank = int_arg(event.args, keys::rank, kNone);
      if (event.name != names::process_name || rank == kNone) continue;
      const bool host = event.pid == 100 * rank;
      const int own = ranks[static_cast<size_t>(rank)];
      event.args[keys::name] =
          host ? fmt::format("rank {} host", own) : fmt::format("device {}", own);
      continue;
    }
    const int64_t rank = event.id / stride;
    set_times(event, times, index.position(event.id - rank * stride),
              meetings.values()[static_cast<size_t>(ranks[static_cast<size_t>(rank)])]);
    if (is_task(event)) event.args[keys::queued_us] = 0.0;
  }
  sort_events(result.events);
  describe_ddp(result, p.recorded, p.program, batch());
  result.lockstep[top::constructed]["representatives"] = ranks;
  result.lockstep[top::clock] = values::emulated;
  result.lockstep[top::emulation] = {
      {"assumed", assumptions(options, processor_of(p.recorded.lockstep)) + "; " +
                      construction(result)},
      {"durations", "own hardware"},
      {"link_gb_per_s", options.link.gb_per_s},
      {"link_latency_us", options.link.latency_us}};
  return result;
}

const char* needs_messages(const ConstructedProgram& program,
                           const EmulateOptions& options) {
  if (program.hardware != nullptr) return "--hardware";
  if (program.all_reduce == "tree") return "--all-reduce tree";
  return options.interference == 1 ? nullptr : "--interference";
}

void require_messages_possible(const ConstructedProgram& program,
                               const EmulateOptions& options) {
  const char* const option = needs_messages(program, options);
  if (option == nullptr || program.devices <= kMostDevices) return;
  throw std::runtime_error(fmt::format(
      "{} needs an event for each message, which there is for at most {} devices; fix: "
      "choose fewer devices, or leave it out",
      option, kMostDevices));
}

std::vector<int> representatives_of(int ranks) {
  if (ranks <= 4) {
    std::vector<int> all(static_cast<size_t>(ranks));
    for (int r = 0; r < ranks; ++r) all[static_cast<size_t>(r)] = r;
    return all;
  }
  return {0, 1, ranks / 2, ranks - 1};
}

}  // namespace lockstep::tracer
