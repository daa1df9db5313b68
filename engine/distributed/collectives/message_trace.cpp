#include "engine/distributed/collectives/message_trace.h"

#include "tracer/record/recorder.h"

namespace lockstep::distributed {
namespace {

constexpr int kCommLane = 2;

tracer::Record record_of(const MessageFacts& message, const Collective& call) {
  tracer::Record record;
  record.device = message.rank;  // rank r's device is number r
  record.lane = kCommLane;
  record.id = tracer::next_id();
  record.op = call.op;
  record.step = call.step;
  return record;
}

std::vector<tracer::Arg> args_of(const MessageFacts& message, const Collective& call,
                                 int src, int dst) {
  const int64_t numel = message.data.numel;
  std::vector<tracer::Arg> args{{"src", src},
                                {"dst", dst},
                                {"bytes", message.data.bytes()},
                                {"why", call.why},
                                {"tensor", call.tensor},
                                {"dtype", name(message.data.dtype)},
                                tracer::Arg::integers("shape", {&numel, 1}),
                                {"group", message.group},
                                {"seq", call.seq},
                                {"ring_step", message.step}};
  if (message.modelled) args.emplace_back("modelled", true);
  if (call.phase) args.emplace_back("phase", call.phase);
  return args;
}

/// What this rank received, as an event of category `cat`.
int64_t record_received(const char* cat, const MessageFacts& message,
                        const Collective& call, const Exchanged& times,
                        int64_t cpu_ns) {
  tracer::Record record = record_of(message, call);
  record.cat = cat;
  record.name = call.why;
  record.ts = times.in_began;
  record.dur = times.in_ended - times.in_began;
  auto args = args_of(message, call, message.peer, message.rank);
  args.emplace_back("queued_us", 0.0);
  args.emplace_back("cpu_us", static_cast<double>(cpu_ns) / 1e3);
  tracer::append(record, args, times.after);
  return record.id;
}

}  // namespace

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

}  // namespace lockstep::distributed
