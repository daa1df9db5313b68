#include "tracer/emulate/construct/repeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/plan/ring.h"
#include "engine/plan/tree.h"
#include "tracer/format/facts.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {
namespace {

/// Time in which a rank's messages of one step of a tree begin, one after another.
constexpr int64_t kTreeStep = 5;

/// Numbers of the copies: each rank's ids follow those of the rank before it.
class Renumbering {
 public:
  Renumbering(int64_t ids, const Lanes& lanes) : stride_(ids) {
    for (const auto& [key, lane] : lanes.all()) {
      if (lane.device != kNone) device_pid_ = key.pid;
    }
  }

  int64_t id(int64_t old, int rank) const {
    return old == kNone ? kNone : old + rank * stride_;
  }
  int64_t first_free(int ranks) const { return ranks * stride_; }
  int64_t pid(int64_t old, int rank) const {
    return 100 * rank + (old == device_pid_ ? 1 + rank : 0);
  }
  int64_t device_pid(int rank) const { return pid(device_pid_, rank); }
  bool is_device(int64_t old) const { return old == device_pid_; }

 private:
  const int64_t stride_;
  int64_t device_pid_ = kNone;
};

void renumber(IdList& ids, const Renumbering& numbers, int rank) {
  for (int64_t& id : ids) id = numbers.id(id, rank);
}

Event copy_for(const Event& event, const Renumbering& numbers, int rank) {
  Event copy = event;
  copy.pid = numbers.pid(event.pid, rank);
  copy.id = numbers.id(event.id, rank);
  copy.parent = numbers.id(event.parent, rank);
  copy.op = numbers.id(event.op, rank);
  copy.fwd = numbers.id(event.fwd, rank);
  renumber(copy.deps, numbers, rank);
  renumber(copy.waits_for, numbers, rank);
  copy.args[keys::rank] = rank;
  for (const char* device : {keys::device, keys::src, keys::dst}) {
    if (event.args.find(device).is_integer()) copy.args[device] = rank;
  }
  if (const int64_t by = int_arg(event.args, keys::by, kNone); by != kNone) {
    copy.args[keys::by] = numbers.id(by, rank);
  }
  return copy;
}

Event metadata(const char* name, int64_t pid, int64_t tid, Json args) {
  Event event;
  event.ph = 'M';
  event.name = name;
  event.pid = pid;
  event.tid = tid;
  event.args = Args(std::move(args));
  return event;
}

enum class LanesOf : uint8_t { rank, device };

/// The names of a rank's lanes: those that were recorded, and the comm stream.
void name_lanes(const RecordedStep& step, const Renumbering& numbers, int rank,
                LanesOf which, std::vector<Event>& events) {
  for (const Event& recorded : step.metadata) {
    Event event = recorded;
    const bool device = numbers.is_device(recorded.pid);
    if (!device && which == LanesOf::device) continue;
    event.pid = numbers.pid(recorded.pid, rank);
    if (event.name == names::process_name) {
      event.args[keys::name] =
          device ? fmt::format("device {}", rank) : fmt::format("rank {} host", rank);
      event.args[keys::rank] = rank;
    } else if (event.name == names::process_sort_index) {
      event.args[keys::sort_index] = event.pid;
    }
    events.push_back(std::move(event));
  }
  if (which == LanesOf::device) return;
  const int64_t pid = numbers.device_pid(rank);
  events.push_back(
      metadata(names::thread_name, pid, kCommStream, {{keys::name, "comm"}}));
  events.push_back(metadata(names::thread_sort_index, pid, kCommStream,
                            {{keys::sort_index, kCommStream}}));
}

/// The messages of one collective, on all ranks.
class Messages {
 public:
  Messages(const Event& call, const RepeatedCollective& facts,
           const Renumbering& numbers, int ranks, int64_t& next_id,
           std::vector<Event>& events)
      : call_(call),
        facts_(facts),
        numbers_(numbers),
        ranks_(ranks),
        next_id_(next_id),
        events_(events) {}

  void all_reduce() {
    std::vector<std::vector<plan::RingStep>> plans;
    for (int rank = 0; rank < ranks_; ++rank) {
      plans.push_back(plan::ring_all_reduce(rank, ranks_));
    }
    const auto chunks = plan::ring_chunks(facts_.numel, ranks_);
    std::vector<int64_t> received(plans.size(), kNone);  // by rank: its last message
    for (int step = 0; step < 2 * (ranks_ - 1); ++step) {
      std::vector<int64_t> now;
      for (int rank = 0; rank < ranks_; ++rank) {
        const plan::RingStep& action = plans[rank][step];
        const int64_t before = received[action.receive_from];
        now.push_back(send(action.receive_from, rank, step,
                           chunks[action.receive_chunk].count,
                           before == kNone ? IdList{} : IdList{before}));
      }
      received = std::move(now);
    }
  }

  void tree_all_reduce() {
    const auto pieces = plan::ring_chunks(facts_.numel, facts_.pieces);
    std::vector<int64_t> ids;
    std::map<std::pair<int, int>, int> together;  // by receiver and step
    for (const plan::TreeSend& planned : plan::tree_all_reduce(
             plan::tree_parents(ranks_, facts_.per_machine), facts_.pieces)) {
      IdList after;
      for (const size_t before : planned.after) after.push_back(ids[before]);
      ids.push_back(send(planned.from, planned.to, planned.step,
                         pieces[planned.piece].count, std::move(after)));
      events_.back().ts = call_.ts + 1 + kTreeStep * planned.step +
                          together[{planned.to, planned.step}]++;
    }
  }

  void broadcast() {
    IdList before;
    for (int rank = 1; rank < ranks_; ++rank) {
      const int64_t id = send(rank - 1, rank, rank - 1, facts_.numel, before);
      before = {id};
    }
  }

 private:
  /// `after`: the messages after which this one is ready; without any, it waits for
  /// what the sender's collective waits for.
  int64_t send(int from, int to, int step, int64_t numel, IdList after) {
    Event message;
    message.cat = categories::copy;
    message.name = call_.name;
    message.pid = numbers_.device_pid(to);
    message.tid = kCommStream;
    message.ts = call_.ts + 2 * step + 1;
    message.dur = 1;
    message.id = next_id_++;
    message.step = call_.step;
    message.op = numbers_.id(call_.op, to);
    message.deps = std::move(after);
    if (message.deps.empty()) {
      message.deps = call_.deps;
      renumber(message.deps, numbers_, from);
    }
    message.args = Json{{keys::rank, to},
                        {keys::device, to},
                        {keys::stream, kCommStream},
                        {keys::src, from},
                        {keys::dst, to},
                        {keys::bytes, numel * facts_.item_bytes},
                        {keys::why, call_.args[keys::why]},
                        {keys::tensor, call_.args[keys::tensor]},
                        {keys::dtype, call_.args[keys::dtype]},
                        {keys::shape, Json::array({numel})},
                        {keys::group, call_.args[keys::group]},
                        {keys::seq, call_.args[keys::seq]},
                        {is_tree() ? keys::tree_step : keys::ring_step, step},
                        {keys::phase, call_.args[keys::phase]}};
    for (const char* key : {keys::algorithm, keys::protocol}) {
      if (call_.args.contains(keys::protocol)) message.args[key] = call_.args[key];
    }
    events_.push_back(std::move(message));
    return events_.back().id;
  }

  bool is_tree() const { return text_arg(call_.args, keys::algorithm) == "tree"; }

  const Event& call_;
  const RepeatedCollective& facts_;
  const Renumbering& numbers_;
  const int ranks_;
  int64_t& next_id_;
  std::vector<Event>& events_;
};

}  // namespace

std::string device_type(const Json& lockstep) {
  const Json& devices = lockstep[top::devices];
  const std::string name =
      string_arg(devices.empty() ? Json::object() : devices[0], "name");
  return name.substr(0, name.find(':'));
}

void describe_devices(Json& lockstep, int count, Ranks ranks) {
  const std::string type = device_type(lockstep);
  Json devices = Json::array();
  for (int device = 0; device < count; ++device) {
    devices.push_back({{"id", device},
                       {"name", fmt::format("{}:{}", type, device)},
                       {"rank", ranks == Ranks::one ? 0 : device}});
  }
  lockstep[top::devices] = std::move(devices);
  lockstep[top::steps] = 1;
  lockstep.erase(top::partial);  // of the recording
  lockstep.erase(top::workers);
}

int64_t room_for_messages(int ranks) { return ranks == 1 ? 0 : 4 * int64_t{ranks} + 1; }

int64_t room_for_tree(int ranks, int pieces) {
  return kTreeStep * (2 * int64_t{ranks} + pieces + 1);
}

Trace repeat_programs(const Trace& trace, const RecordedStep& step,
                      const std::vector<ProgramOfRank>& programs, size_t further) {
  const int ranks = static_cast<int>(programs.size());
  int64_t ids = 0;
  for (const ProgramOfRank& program : programs) ids = std::max(ids, program.ids);
  const Renumbering numbers(ids, Lanes(trace));
  Trace result;
  result.lockstep = trace.lockstep;
  result.other = trace.other;
  result.other["distributedInfo"] = {{"backend", "ring"}, {"world_size", ranks}};
  result.texts = trace.texts;
  describe_devices(result.lockstep, ranks, Ranks::one_per_device);
  std::map<const std::vector<Event>*, std::vector<Event>> editable;
  for (const ProgramOfRank& program : programs) {
    if (editable.contains(program.events)) continue;
    std::vector<Event>& events = editable[program.events] = *program.events;
    // Arguments are parsed when they are first changed: here, not once for each rank.
    for (Event& event : events) event.args[keys::rank] = 0;
  }
  for (const ProgramOfRank& program : programs) further += program.events->size();
  result.events.reserve(further + step.metadata.size() * programs.size());
  for (int rank = 0; rank < ranks; ++rank) {
    name_lanes(step, numbers, rank, LanesOf::rank, result.events);
    for (const Event& event : editable[programs[rank].events]) {
      result.events.push_back(copy_for(event, numbers, rank));
    }
  }
  return result;
}

void name_device_lanes(const Trace& trace, const RecordedStep& step, int device,
                       std::vector<Event>& events) {
  name_lanes(step, Renumbering(0, Lanes(trace)), device, LanesOf::device, events);
}

Trace repeat_on_ranks(const Trace& trace, const RecordedStep& step,
                      const std::vector<Event>& events,
                      const std::vector<RepeatedCollective>& collectives, int ranks) {
  int64_t ids = 0;
  for (const Event& event : events) ids = std::max(ids, event.id + 1);
  Trace result = repeat_programs(
      trace, step,
      std::vector<ProgramOfRank>(static_cast<size_t>(ranks), {&events, ids}),
      2 * collectives.size() * static_cast<size_t>(ranks) * static_cast<size_t>(ranks));
  const Renumbering numbers(ids, Lanes(trace));
  std::unordered_map<int64_t, const Event*> calls;
  for (const Event& event : events) {
    if (event.is(categories::collective)) calls.emplace(event.id, &event);
  }
  int64_t next_id = numbers.first_free(ranks);
  for (const RepeatedCollective& collective : collectives) {
    const Event& call = *calls.at(collective.id);
    Messages messages(call, collective, numbers, ranks, next_id, result.events);
    if (call.name == reasons::all_reduce && collective.pieces > 0) {
      messages.tree_all_reduce();
    } else if (call.name == reasons::all_reduce) {
      messages.all_reduce();
    } else {
      messages.broadcast();
    }
  }
  sort_events(result.events);
  return result;
}

}  // namespace lockstep::tracer
