// The damaged copies of the hand-written traces (tests/golden/damage.py): the law that
// must reject each copy, and its message.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace lockstep::tracer::testing {

struct Damage {
  const char* law;           ///< the law that must reject the copy
  const char* what;          ///< the damage; the copy is damaged/LAW.WHAT.json
  const char* event;         ///< the event in the report (named_events.h); "": none
  const char* sentence;      ///< the message
  const char* follows = "";  ///< other laws that the damage violates
};

inline std::string file_of(const Damage& damage) {
  return std::string(damage.law) + "." + damage.what + ".json";
}

inline void PrintTo(const Damage& damage, std::ostream* out) {
  *out << "damaged/" << file_of(damage);
}

/// Copies of minimal.json; those of the law `ports` as if emulated.
inline const std::vector<Damage> kDamagedDataParallel = {
    {"format", "version", "",
     "`lockstep.format` is not 1; fix: pass a trace that lockstep recorded"},
    {"format", "clock", "", "`lockstep.clock` is neither `measured` nor `emulated`"},
    {"format", "model", "",
     "`lockstep.model` lacks `parameter_bytes` or `buffer_bytes`",
     "reduce-bytes, replicate-bytes"},
    {"times", "negative-dur", "loss to the host",
     "copy `loss to the host` has ts 64.000 µs, dur -26.000 µs"},
    {"sorted", "late-step", "", "`traceEvents` is not sorted by ts, longer first",
     "nesting, steps-whole"},
    {"ids-unique", "twice", "scatter images@cpu:0",
     "id 20 is used again by copy `scatter images`", "references"},
    {"ids-unique", "no-id", "",
     "sync `wait for replicas` at 11.500 µs has no valid `args.id`"},
    {"ids-unique", "no-step", "grad_ready@cpu:1",
     "mark `grad_ready` has no valid `args.step`"},
    {"references", "op", "labels to device 0@cpu:0",
     "`op` of copy `labels to device 0` refers to #99, which does not exist"},
    {"references", "deps", "aten::linear@cpu:1",
     "`deps` of kernel `aten::linear` refers to #99, which does not exist"},
    {"references", "parent", "aten::linear#2",
     "`parent` of op `aten::linear` refers to #99, which does not exist"},
    {"references", "for", "wait for replicas",
     "`for` of sync `wait for replicas` refers to #99, which does not exist"},
    {"references", "fwd", "AddmmBackward0#2",
     "`fwd` of op `AddmmBackward0` refers to #99, which does not exist"},
    {"references", "type", "aten::linear@cpu:0",
     "`deps` of kernel `aten::linear` has the wrong type"},
    {"references", "no-op", "AddmmBackward0@cpu:0",
     "kernel `AddmmBackward0` has no `op`, the operation that enqueued it"},
    {"lanes-named", "thread", "scatter images@cpu:1",
     "pid 2 tid 1 has no `thread_name`"},
    {"lanes-named", "process", "scatter images@cpu:0", "pid 1 has no `process_name`"},
    {"sources-present", "def-file", "DataParallel.__call__",
     "call `DataParallel.__call__` names elsewhere.cpp, which is not in "
     "`lockstep.sources`"},
    {"sources-present", "file", "DataParallel.__call__",
     "call `DataParallel.__call__` names train.cpp, which is not in "
     "`lockstep.sources`"},
    {"memory-positive", "negative", "", "`gradients` is -48 at 60.000 µs (pid 1)"},
    {"nesting", "overlap", "Broadcast",
     "op `Broadcast` ends at 8.000 µs, after the enclosing op `Scatter` #4 (6.500 µs)"},
    {"nesting", "too-long", "DataParallel.__call__",
     "call `DataParallel.__call__` ends at 20.500 µs, after the enclosing phase "
     "`forward` #2 (20.000 µs)"},
    {"fifo", "overlap", "replicate buffers@cpu:1",
     "copy `replicate buffers` starts at 15.500 µs, while copy `replicate parameters` "
     "#22 runs on the same stream"},
    {"parent-contains", "late", "aten::linear#2",
     "op `aten::linear` starts at 10.000 µs, outside its parent #4 (3.000 µs to 5.000 "
     "µs)"},
    {"launch-order", "before-op", "aten::linear@cpu:0",
     "kernel `aten::linear` starts at 10.500 µs, but its op #13 starts at 27.000 µs"},
    {"deps-respected", "kernel-too-early", "aten::linear@cpu:1",
     "kernel `aten::linear` starts at 16.250 µs, but copy `replicate buffers` #24 ends "
     "at 16.500 µs"},
    {"sync-waits", "too-early", "wait for the loss",
     "sync `wait for the loss` ends at 89.000 µs, but copy `loss to the host` #33 ends "
     "at 90.000 µs"},
    {"grad-ready", "by", "grad_ready@cpu:1",
     "`by` of mark `grad_ready` does not name a kernel"},
    {"grad-ready", "time", "grad_ready@cpu:1",
     "mark `grad_ready` at 55.500 µs is not at the end of kernel #30 (55.000 µs)"},
    {"steps-whole", "no-end", "step 0", "step 0 has no end"},
    {"steps-whole", "phase-outside", "backward", "phase `backward` is outside step 0",
     "nesting"},
    {"reduce-after-backward", "too-early", "reduce gradients@cpu:0",
     "copy `reduce gradients` starts at 54.500 µs, before kernel `AddmmBackward0` #30 "
     "ends (55.000 µs)",
     "deps-respected, sorted"},
    {"copies-on-receiver", "on-sender", "replicate parameters@cpu:1",
     "copy `replicate parameters` goes to device 0, but is on a lane of device 1",
     "replicate-bytes"},
    {"copies-on-receiver", "within-device", "gather outputs@cpu:0",
     "copy `gather outputs` goes from device 0 to device 0, which is not a copy "
     "between memories",
     "gather-bytes"},
    {"copy-bytes", "shape", "reduce gradients@cpu:0",
     "copy `reduce gradients` reports 48 B, but its shape has 13 elements of 4 B"},
    {"copy-bytes", "none", "gradient of outputs@cpu:1",
     "copy `gradient of outputs` has no `bytes`", "grad-scatter-bytes"},
    {"d2h-scalars", "double", "loss to the host",
     "reading one float32 moved 8 B, expected 4 B"},
    {"chunks", "equal", "step 0",
     "step 0: `chunks` is [1, 2], but a batch of 3 is cut into [2, 1]"},
    {"chunks", "batch", "step 0",
     "step 0: `chunks` is [2, 1], but a batch of 4 is cut into [2, 2]"},
    {"images-h2d", "unasked", "labels to device 0@cpu:0",
     "step 0: images moved 24 B from host to device 0, expected 0 B", "labels-h2d"},
    {"labels-h2d", "bytes", "labels to device 0@cpu:0",
     "step 0: labels moved 12 B from host to device 0, expected 24 B", "copy-bytes"},
    {"labels-h2d", "missing", "step 0",
     "step 0: labels moved 0 B from host to device 0, expected 24 B"},
    {"scatter-bytes", "bytes", "scatter images@cpu:0",
     "step 0: scatter moved 60 B from host to device 0, expected 40 B", "copy-bytes"},
    {"scatter-bytes", "missing", "step 0",
     "step 0: scatter moved 0 B from host to device 1, expected 20 B", "references"},
    {"replicate-bytes", "buffers-missing", "replicate parameters@cpu:1",
     "step 0: replicate moved 48 B from device 0 to device 1, expected 56 B",
     "references"},
    {"replicate-bytes", "bytes", "replicate buffers@cpu:1",
     "step 0: replicate moved 52 B from device 0 to device 1, expected 56 B",
     "copy-bytes"},
    {"gather-bytes", "bytes", "gather outputs@cpu:0",
     "step 0: gather moved 16 B from device 1 to device 0, expected 8 B", "copy-bytes"},
    {"gather-bytes", "missing", "step 0",
     "step 0: gather moved 0 B from device 1 to device 0, expected 8 B"},
    {"grad-scatter-bytes", "bytes", "gradient of outputs@cpu:1",
     "step 0: grad_scatter moved 4 B from device 0 to device 1, expected 8 B",
     "copy-bytes"},
    {"grad-scatter-bytes", "in-eval", "gradient of outputs@cpu:1",
     "step 0: grad_scatter moved 8 B from device 0 to device 1, expected 0 B",
     "reduce-bytes"},
    {"reduce-bytes", "bytes", "reduce gradients@cpu:0",
     "step 0: reduce moved 40 B from device 1 to device 0, expected 48 B",
     "copy-bytes"},
    {"reduce-bytes", "missing", "step 0",
     "step 0: reduce moved 0 B from device 1 to device 0, expected 48 B"},
    {"ports", "too-fast", "reduce gradients@cpu:0",
     "copy `reduce gradients` moves 48 B in 2.000 µs: more than the link's 0.016 GB/s"},
};

/// Copies of minimal_ddp.json.
inline const std::vector<Damage> kDamagedRing = {
    {"halves-matched", "recv", "all_reduce@cpu:0/all_reduce@cpu:0#1",
     "recv #43 from 1 to 0 (all_reduce 1, message 0) has no matching half; fix: merge "
     "the files of all ranks",
     "ring-bytes, ring-messages, ring-steps"},
    {"ranks-agree", "bytes", "broadcast@cpu:1",
     "rank 1: collective #0 is broadcast (8 B), but another rank called broadcast "
     "(4 B)",
     "buffers-broadcast"},
    {"ranks-agree", "missing", "broadcast@cpu:0",
     "broadcast #0 was called by 1 of 2 ranks", "ring-bytes"},
    {"ring-bytes", "broadcast", "broadcast@cpu:0",
     "broadcast #0 of 4 B moved 8 B, expected 1 times its bytes: 4", "copy-bytes"},
    {"ring-share", "bytes", "all_reduce@cpu:0",
     "in all_reduce #1 device 1 sent 48 B, expected 8.0 B ± 8",
     "copy-bytes, ring-bytes"},
    {"ring-messages", "missing", "all_reduce@cpu:0",
     "in all_reduce #1 device 0 sent 1 messages, expected 2", "ring-bytes"},
    {"messages-agree", "why", "all_reduce@cpu:0/all_reduce@cpu:0#1",
     "`why` of message 0 of all_reduce #1, from 1 to 0, is `gather`, expected "
     "`all_reduce`"},
    {"messages-agree", "dtype", "all_reduce@cpu:1/all_reduce@cpu:1#2",
     "`dtype` of message 1 of all_reduce #1, from 0 to 1, is `int32`, expected "
     "`float32`"},
    {"ring-steps", "again", "all_reduce@cpu:0/all_reduce@cpu:0#2",
     "the message that device 0 receives after 1 others of all_reduce #1 has "
     "`ring_step` 0, expected 1",
     "ring-forwarding"},
    {"ring-forwarding", "dropped", "all_reduce@cpu:0/all_reduce@cpu:0#2",
     "message 1 of all_reduce #1, from 1 to 0, does not wait for #93, in which device "
     "1 receives what it passes on"},
    {"ring-forwarding", "first", "all_reduce@cpu:0/all_reduce@cpu:0#1",
     "message 0 of all_reduce #1, from 1 to 0, does not wait for kernel "
     "`linear_backward_weight` #81, as its sender does"},
    {"collective-deps", "dropped", "all_reduce@cpu:1",
     "all_reduce #1 of bucket 0 does not wait for kernel `linear_backward_weight` #81, "
     "which was enqueued before it",
     "bucket-deps"},
    {"gradients-reduced", "other", "rank 1/step 0",
     "step 0, rank 1: 0 B of gradients reduced, expected 8", "ranks-agree"},
    {"bucket-order", "second-first", "all_reduce@cpu:0",
     "rank 0 reduces bucket 1 after bucket -1", "ranks-agree"},
    {"bucket-deps", "dropped", "all_reduce@cpu:0",
     "all_reduce #1 of bucket 0 does not wait for kernel #31, which finishes the "
     "gradient of weight",
     "collective-deps"},
    {"bucket-deps", "too-early", "all_reduce@cpu:0",
     "all_reduce #1 of bucket 0 does not wait for kernel #31, which finishes the "
     "gradient of weight",
     "collective-deps"},
    {"buffers-broadcast", "unsaid", "rank 0/step 0",
     "step 0, rank 0: 4 B of buffers broadcast, expected 0"},
    {"images-h2d-of-ranks", "labels", "rank 1/step 0",
     "step 0, rank 1: 16 B went to the device, expected 24", "copy-bytes"},
    {"fifo", "message-too-long", "all_reduce@cpu:0/all_reduce@cpu:0#2",
     "copy `all_reduce` starts at 27.000 µs, while collective `all_reduce` #42 runs on "
     "the same stream"},
};

/// Copies of minimal_ddp.json as if recorded with Gloo.
inline const std::vector<Damage> kDamagedGloo = {
    {"ring-bytes", "gloo-all-reduce", "all_reduce@cpu:0",
     "all_reduce #1 of 8 B moved 20 B, expected 2 times its bytes: 16", "copy-bytes"},
    {"ring-bytes", "gloo-broadcast", "broadcast@cpu:0",
     "broadcast #0 of 4 B moved 8 B, expected 1 times its bytes: 4", "copy-bytes"},
    {"ring-messages", "gloo", "all_reduce@cpu:0",
     "in all_reduce #1 device 0 sent 1 messages, expected 2", "ring-bytes"},
};

}  // namespace lockstep::tracer::testing
