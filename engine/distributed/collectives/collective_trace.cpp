#include "engine/distributed/collectives/collective_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/runtime/device_context.h"
#include "tracer/format/keys.h"
#include "tracer/record/recorder.h"

namespace lockstep::distributed {
namespace keys = tracer::keys;
namespace {

constexpr int kCommLane = 2;

tracer::Record record_of(const MessageFacts& message, const Collective& call) {
  tracer::Record record;
  record.device = message.rank;  // the device of rank r is number r
  record.lane = kCommLane;
  record.id = tracer::next_id();
  record.op = call.op;
  record.step = call.step;
  return record;
}

/// Adds where in a pipeline the message goes.
void add_place(std::vector<tracer::Arg>& args, const Collective& call) {
  if (call.stage < 0) return;
  args.emplace_back(keys::stage, call.stage);
  args.emplace_back(keys::micro_batch, call.micro_batch);
}

std::vector<tracer::Arg> args_of(const MessageFacts& message, const Collective& call,
                                 int src, int dst) {
  const int64_t numel = message.data.numel;
  std::vector<tracer::Arg> args{{keys::src, src},
                                {keys::dst, dst},
                                {keys::bytes, message.data.bytes()},
                                {keys::why, call.why},
                                {keys::tensor, call.tensor},
                                {keys::dtype, name(message.data.dtype)},
                                tracer::Arg::integers(keys::shape, {&numel, 1}),
                                {keys::group, message.group},
                                {keys::seq, call.seq},
                                {keys::ring_step, message.step}};
  if (message.modelled) args.emplace_back(keys::modelled, true);
  add_place(args, call);
  if (call.phase) args.emplace_back(keys::phase, call.phase);
  return args;
}

/// Records the message that this rank received as an event of category `cat`.
int64_t record_received(const char* cat, const MessageFacts& message,
                        const Collective& call, const Exchanged& times,
                        int64_t cpu_ns) {
  tracer::Record record = record_of(message, call);
  record.cat = cat;
  record.name = call.why;
  record.ts = times.in_began;
  record.dur = times.in_ended - times.in_began;
  auto args = args_of(message, call, message.peer, message.rank);
  args.emplace_back(keys::queued_us, 0.0);
  args.emplace_back(keys::cpu_us, static_cast<double>(cpu_ns) / 1e3);
  tracer::append(record, args, times.after);
  return record.id;
}

}  // namespace

void describe_collective(runtime::Task& task, Collective& call,
                         const CollectiveLabel& label, const ProcessGroup& group,
                         Device device, DType dtype) {
  task.record.cat = "collective";
  task.record.name = call.name;
  if (!tracer::recording()) return;
  call.op = task.record.op = tracer::innermost_event();
  call.step = task.record.step = tracer::current_step();
  call.phase = tracer::thread_context().phase;
  call.waits = task.waits;
  call.waits.push_back(runtime::context(device).comm().record_event());
  call.messages = task.parts = std::make_shared<runtime::TaskParts>();
  for (const runtime::EventPtr& event : task.waits) {
    for (const runtime::TraceEnd& end : event->ends()) call.deps.push_back(end.id);
  }
  task.record.id = tracer::next_id();
  task.args = {{keys::collective, call.name},
               {keys::algorithm, group.communicator().algorithm()},
               {keys::why, call.why},
               {keys::bytes, call.bytes},
               {keys::dtype, lockstep::name(dtype)},
               {keys::group, tracer::intern(group.name())},
               {keys::group_size, group.size()},
               {keys::seq, call.seq}};
  if (call.phase) task.args.emplace_back(keys::phase, call.phase);
  if (*call.tensor) task.args.emplace_back(keys::tensor, call.tensor);
  if (call.bucket >= 0) task.args.emplace_back(keys::bucket, call.bucket);
  add_place(task.args, call);
  if (!label.params.empty()) {
    const std::string lines = fmt::format("{}", fmt::join(label.params, "\n"));
    task.args.push_back(tracer::Arg::texts(keys::params, tracer::intern(lines)));
  }
}

int64_t record_copy(const MessageFacts& message, const Collective& call,
                    const Exchanged& times, int64_t cpu_ns) {
  return record_received("copy", message, call, times, cpu_ns);
}

int64_t record_recv(const MessageFacts& message, const Collective& call,
                    const Exchanged& times, int64_t cpu_ns) {
  return record_received("recv", message, call, times, cpu_ns);
}

int64_t record_send(const MessageFacts& message, const Collective& call,
                    const Exchanged& times, const std::vector<int64_t>& after) {
  tracer::Record record = record_of(message, call);
  record.ph = 'i';
  record.cat = "send";
  record.name = call.why;
  record.ts = times.out_began;
  tracer::append(record, args_of(message, call, message.rank, message.peer), after);
  return record.id;
}

TracedTransport::TracedTransport(std::unique_ptr<Transport> transport,
                                 const std::string& group, int rank)
    : transport_(std::move(transport)), group_(tracer::intern(group)), rank_(rank) {}

Exchanged TracedTransport::exchange(const Outgoing* out, const Incoming* in,
                                    const Collective& call) {
  if (!call.recorded()) return transport_->exchange(out, in, call);
  begin(call);
  Outgoing described;
  if (out) {
    described = *out;
    described.after = causes_;
    described.waits = waits_;
  }
  const int64_t cpu_start = tracer::thread_cpu_ns();
  Exchanged times = transport_->exchange(out ? &described : nullptr, in, call);
  const int64_t cpu = tracer::thread_cpu_ns() - cpu_start;
  if (out && !shares_recorder()) {
    record_send({group_, rank_, out->to, out->tag.message, out->data}, call, times,
                causes_);
  }
  if (in) record_received(*in, call, times, cpu);
  return times;
}

void TracedTransport::begin(const Collective& call) {
  if (std::exchange(op_, call.op) == call.op) return;
  causes_ = call.deps;
  waits_ = call.waits;
  last_ended_ = 0;
}

void TracedTransport::record_received(const Incoming& in, const Collective& call,
                                      Exchanged& times, int64_t cpu_ns) {
  // Hardware clock times are clamped: no message begins before its dependencies end.
  times.in_began = std::max({times.in_began, ended(waits_), last_ended_});
  times.in_ended = std::max(times.in_ended, times.in_began + 1);
  const MessageFacts facts{group_, rank_, in.from, in.tag.message, in.data};
  causes_ = {shares_recorder() ? record_copy(facts, call, times, cpu_ns)
                               : record_recv(facts, call, times, cpu_ns)};
  waits_.clear();
  last_ended_ = times.in_ended;
  extend_span(call, times.in_began, times.in_ended);
}

}  // namespace lockstep::distributed
