#include "tracer/analysis/split.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "tracer/analysis/split_parts.h"
#include "tracer/analysis/summary.h"

namespace lockstep::tracer {

const SpentWords& words_of(Spent spent) {
  static const std::array<SpentWords, kSpents> words = {{
      {"computing", "a kernel of forward, loss, backward or the optimizer runs"},
      {kWaitingForCore, waiting_rule(Processor::cores)},
      {kWaitingForGpu, waiting_rule(Processor::gpus)},
      {"scatter",
       "images, labels or gradients of outputs go to the devices, or a device waits "
       "for "
       "that"},
      {"replicate", "the model is copied to the replicas, or a device waits for that"},
      {"gather", "outputs or losses come to one device, or a device waits for that"},
      {"reduce", "gradients are added on one device, or a device waits for that"},
      {"activations",
       "activations or their gradients go to another stage, or a device waits for "
       "that"},
      {"push and pull",
       "a worker pulls weights or pushes gradients, or a device waits for that"},
      {"bucket copies",
       "kernels copy the means from DDP's buckets back to the gradients"},
      {"collectives",
       "a collective's messages arrive, and no kernel runs or could start"},
      {"collectives or imbalance",
       "no conclusion: in a collective whose messages the trace does not time, it "
       "transfers or waits for another rank"},
      {"other work", "copies to and from the host, memsets, kernels of other phases"},
      {"imbalance",
       "it waits for another device, which computes or waits for a core or the GPU, or "
       "for another rank"},
      {"waiting for the lock", "a worker waits for the lock of the model they share"},
      {"loader", "the next batch is not ready: the host waits in the phase data"},
      {"host", "nothing is launched for the device: a host thread is still working"},
      {"wake-ups",
       "all that was awaited has ended; a thread or a stream still wakes up"},
      {"unknown", "the trace does not say what the device waited for"},
  }};
  return words[static_cast<size_t>(spent)];
}

const char* rule_of(Spent spent, Processor processor) {
  return spent == Spent::gpu ? waiting_rule(processor) : words_of(spent).rule;
}

int64_t SpentTimes::sum() const {
  return std::accumulate(times.begin(), times.end(), int64_t{0});
}

namespace split {

namespace {

/// Returns the class of the work for a reason or in a phase.
Spent spent_for(std::string_view what) {
  static constexpr std::pair<std::string_view, Spent> classes[] = {
      {reasons::scatter, Spent::scatter},
      {reasons::targets, Spent::scatter},
      {reasons::grad_scatter, Spent::scatter},
      {reasons::loss_grad, Spent::scatter},
      {reasons::replicate, Spent::replicate},
      {reasons::gather, Spent::gather},
      {reasons::loss, Spent::gather},
      {reasons::reduce, Spent::reduce},
      {reasons::activation, Spent::activations},
      {reasons::activation_grad, Spent::activations},
      {reasons::pull, Spent::push_pull},
      {reasons::push, Spent::push_pull},
  };
  for (const auto& [name, spent] : classes) {
    if (name == what) return spent;
  }
  return Spent::other;
}

/// What a task's arguments say, read once.
struct TaskFacts {
  std::string_view phase, why;
  int64_t queued = 0, src = kNowhere, dst = kNowhere;
  bool is_message = false, modelled = false, imported = false;

  explicit TaskFacts(const Event& task) {
    task.args.for_each([&](std::string_view key, const Value& value) {
      if (is_name(key, keys::phase)) phase = value.text();
      if (is_name(key, keys::why)) why = value.text();
      if (is_name(key, keys::queued_us)) queued = value.duration();
      if (is_name(key, keys::src)) src = value.port();
      if (is_name(key, keys::dst)) dst = value.port();
      if (is_name(key, keys::group)) is_message = true;
      if (is_name(key, keys::modelled)) modelled = value.is_true();
      if (is_name(key, keys::imported)) imported = value.is_true();
    });
  }
};

Spent spent_by_kernel(const Event& kernel, std::string_view phase) {
  if (!computes(kernel)) return Spent::other;
  if (phase.empty() || is_computing(phase)) return Spent::computing;
  return phase == phases::all_reduce ? Spent::bucket_copies : spent_for(phase);
}

}  // namespace

Tracks::Tracks(const Trace& trace, const Lanes& lanes) : lanes_(lanes) {
  std::map<LaneKey, size_t> collectives;  // the last one of each lane: its Work
  std::map<LaneKey, size_t> owners;       // … and its track
  for (const auto& [key, lane] : lanes.all()) {
    if (!lane.is_host()) track_of(lane.rank, lane.device);
  }
  add_idle_devices(trace);
  for (const Event& task : trace.events) {
    if (!is_task(task)) continue;
    const Lane& lane = lanes.of(task);
    const TaskFacts facts(task);
    if (!facts.is_message) streams_[lane_of(task)].push_back(&task);
    Work work{&task, std::max<int64_t>(0, facts.queued), Level::kernel, Spent::other};
    if (task.is(categories::kernel)) {
      work.spent = spent_by_kernel(task, facts.phase);
    } else if (task.is(categories::collective)) {
      work.level = Level::collective;
      work.spent = facts.imported ? Spent::undivided : Spent::imbalance;
    } else if (facts.is_message) {
      work.level = Level::collective;
      work.spent = facts.modelled ? Spent::undivided : Spent::collectives;
      work.queued = 0;
    } else {
      work.level = Level::copy;
      work.spent = spent_for(facts.why);
    }
    if (!lane.is_host()) {
      const size_t track = track_of(lane.rank, lane.device);
      if (task.is(categories::collective)) {
        collectives[lane_of(task)] = tracks_[track].tasks.size();
        owners[lane_of(task)] = track;
      } else if (facts.modelled && collectives.contains(lane_of(task))) {
        Work& around = tracks_[owners[lane_of(task)]].tasks[collectives[lane_of(task)]];
        if (task.end() <= around.task->end()) around.spent = Spent::undivided;
      }
      tracks_[track].tasks.push_back(work);
    }
    // A message's sender is inside the same collective.
    const bool sends = task.is(categories::copy) && !facts.is_message && facts.src >= 0;
    if (!sends || (!lane.is_host() && facts.src == lane.device)) continue;
    const auto sender = by_place_.find({lane.rank, facts.src});
    if (sender != by_place_.end()) tracks_[sender->second].tasks.push_back(work);
  }
  const bool gpus = processor_of(trace.lockstep) != Processor::cores;
  for (Track& track : tracks_) {
    track.queued_as = gpus ? Spent::gpu : Spent::core;
    int64_t last = INT64_MIN;
    for (const Work& work : track.tasks) {
      last = std::max(last, work.task->end());
      track.ends.push_back(last);
    }
    track.queued_from.resize(track.tasks.size());
    int64_t from = INT64_MAX;
    for (size_t i = track.tasks.size(); i-- > 0;) {
      from = std::min(from, track.tasks[i].task->ts - track.tasks[i].queued);
      track.queued_from[i] = from;
    }
  }
}

/// A batch smaller than the number of devices leaves some without any task.
void Tracks::add_idle_devices(const Trace& trace) {
  const auto devices = trace.lockstep.find(top::devices);
  if (devices == trace.lockstep.end() || !devices->is_array()) return;
  std::set<int64_t> known;
  for (const Track& track : tracks_) known.insert(track.device);
  for (const Json& device : *devices) {
    const int64_t id = int_arg(device, keys::id, kNone);
    if (string_arg(device, keys::name) == "none") continue;  // an import without any
    if (id >= 0 && known.insert(id).second) track_of(0, id);
  }
}

size_t Tracks::track_of(int64_t rank, int64_t device) {
  const auto [place, is_new] = by_place_.try_emplace({rank, device}, tracks_.size());
  if (is_new) tracks_.push_back({rank, device, {}, {}});
  return place->second;
}

const Track* Tracks::of(const Event& task) const {
  const Lane& lane = lanes_.of(task);
  const int64_t device = lane.is_host() ? port_arg(task.args, keys::src) : lane.device;
  const auto place = by_place_.find({lane.rank, device});
  return place == by_place_.end() ? nullptr : &tracks_[place->second];
}

const Event* Tracks::next_on_stream(const Event& task, int64_t from) const {
  const auto* stream = streams_.find(lane_of(task));
  if (stream == nullptr) return nullptr;
  const auto next =
      std::lower_bound(stream->begin(), stream->end(), from,
                       [](const Event* e, int64_t ts) { return e->ts < ts; });
  return next == stream->end() ? nullptr : *next;
}

const Event* Tracks::before(const Event& task) const {
  const auto* stream = streams_.find(lane_of(task));
  if (stream == nullptr) return nullptr;
  const auto next =
      std::lower_bound(stream->begin(), stream->end(), task.ts,
                       [](const Event* e, int64_t ts) { return e->ts < ts; });
  return next == stream->begin() ? nullptr : *(next - 1);
}

const Work* Track::next(int64_t from) const {
  const auto work =
      std::lower_bound(tasks.begin(), tasks.end(), from,
                       [](const Work& w, int64_t ts) { return w.task->ts < ts; });
  return work == tasks.end() ? nullptr : &*work;
}

namespace {

/// A class of work begins or ends on a device. `slot` orders classes by precedence.
struct Edge {
  int64_t ts;
  uint8_t slot;
  int8_t change;
};

/// Waiting for a core or the GPU is one class; the other levels have one slot for each.
constexpr size_t kCoreSlot = kSpents;
constexpr size_t kSlots = 3 * kSpents + 1;
static_assert(kSlots <= 64, "one bit for each");

uint8_t slot_of(Level level, Spent spent) {
  if (level == Level::core) return kCoreSlot;
  const size_t before = level == Level::kernel ? 0
                        : level == Level::copy ? kSpents + 1
                                               : 2 * kSpents + 1;
  return static_cast<uint8_t>(before + static_cast<size_t>(spent));
}

Spent spent_of_slot(const Track& track, size_t slot) {
  if (slot == kCoreSlot) return track.queued_as;
  return static_cast<Spent>((slot < kCoreSlot ? slot : slot - 1) % kSpents);
}

std::vector<Edge> edges_of(const Track& track, int64_t begin, int64_t end) {
  std::vector<Edge> edges;
  const auto add = [&](int64_t from, int64_t to, uint8_t slot) {
    from = std::max(from, begin), to = std::min(to, end);
    if (from >= to) return;
    edges.push_back({from, slot, 1});
    edges.push_back({to, slot, -1});
  };
  const auto first = std::upper_bound(track.ends.begin(), track.ends.end(), begin);
  for (auto i = static_cast<size_t>(first - track.ends.begin()); i < track.tasks.size();
       ++i) {
    const auto& [task, queued, level, spent] = track.tasks[i];
    add(task->ts, task->end(), slot_of(level, spent));
    if (queued > 0 && level == Level::collective) {
      add(task->ts - queued, task->ts, slot_of(level, Spent::imbalance));
    } else if (queued > 0 && task->is(categories::kernel)) {  // a copy needs no core
      add(task->ts - queued, task->ts, slot_of(Level::core, Spent::core));
    }
    if (track.queued_from[i] >= end) break;
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.ts < b.ts; });
  return edges;
}

}  // namespace

std::vector<Piece> pieces_of(const Track& track, int64_t begin, int64_t end) {
  std::vector<Piece> pieces;
  std::array<int64_t, kSlots> running{};
  uint64_t any = 0;
  int64_t at = begin;
  const auto until = [&](int64_t ts) {
    if (ts <= at) return;
    Piece piece{at, ts, Spent::unknown, any == 0};
    if (any != 0) {
      piece.spent = spent_of_slot(track, static_cast<size_t>(__builtin_ctzll(any)));
    }
    const bool same = !pieces.empty() && pieces.back().idle == piece.idle &&
                      pieces.back().spent == piece.spent;
    if (same) {
      pieces.back().to = ts;
    } else {
      pieces.push_back(piece);
    }
    at = ts;
  };
  for (const Edge& edge : edges_of(track, begin, end)) {
    until(edge.ts);
    const uint64_t bit = uint64_t{1} << edge.slot;
    running[edge.slot] += edge.change;
    any = running[edge.slot] > 0 ? any | bit : any & ~bit;
  }
  until(end);
  return pieces;
}

}  // namespace split

Split split_of(const Step& step, const std::vector<DevicePieces>& devices) {
  if (devices.empty()) return {};
  Split split;
  split.step = step.length();
  split.known = true;
  for (const DevicePieces& own : devices) {
    DeviceSplit& device = split.devices.emplace_back(own.rank, own.device);
    for (const SpentPiece& piece : own.pieces) {
      device.spent[piece.spent] += piece.end - piece.begin;
    }
    for (size_t i = 0; i < kSpents; ++i) {
      split.spent.times[i] += device.spent.times[i];
    }
  }
  return split;
}

Split mean_split(const std::vector<const Split*>& splits) {
  if (splits.empty()) return {};
  for (const Split* split : splits) {
    if (!split->known || split->devices.size() != splits[0]->devices.size()) return {};
  }
  Split mean = *splits[0];
  const auto count = static_cast<__int128>(splits.size());
  __int128 steps = 0;
  for (const Split* split : splits) steps += split->step;
  mean.step = static_cast<int64_t>(steps / count);
  mean.spent = {};
  for (size_t d = 0; d < mean.devices.size(); ++d) {
    // Rounds the sum up to each class, so that the last one is the step.
    __int128 sum = 0, before = 0;
    for (size_t i = 0; i < kSpents; ++i) {
      for (const Split* split : splits) sum += split->devices[d].spent.times[i];
      const __int128 until = steps == 0 ? 0 : sum * mean.step / steps;
      mean.devices[d].spent.times[i] = static_cast<int64_t>(until - before);
      mean.spent.times[i] += mean.devices[d].spent.times[i];
      before = until;
    }
  }
  return mean;
}

}  // namespace lockstep::tracer
