// Every name in the trace schema: categories, phases, reasons, argument names. Shared
// by the recorder, the writer, the reader, the analyses, the viewer and the importer;
// README.md defines each name, and schema.json lists the events that carry it.
#pragma once

#include <cstdint>

namespace lockstep::tracer {

inline constexpr int64_t kNone = -1;  ///< an absent id, step or parent

/// `cat` of an event.
namespace categories {
inline constexpr char call[] = "call";
inline constexpr char op[] = "op";
inline constexpr char kernel[] = "kernel";
inline constexpr char copy[] = "copy";
inline constexpr char collective[] = "collective";
inline constexpr char send[] =
    "send";  ///< in a single rank's file: the halves of a message
inline constexpr char recv[] = "recv";
inline constexpr char phase[] = "phase";
inline constexpr char sync[] = "sync";
inline constexpr char mark[] = "mark";
inline constexpr char memory[] = "memory";
inline constexpr char launch[] = "launch";  ///< flows from an op to what it enqueued
}  // namespace categories

/// `name` of an event, if it is fixed by the schema.
namespace names {
inline constexpr char step[] = "step";
inline constexpr char memory[] = "memory";
// Metadata.
inline constexpr char process_name[] = "process_name";
inline constexpr char process_sort_index[] = "process_sort_index";
inline constexpr char thread_name[] = "thread_name";
inline constexpr char thread_sort_index[] = "thread_sort_index";
/// A kernel that makes a worker slow (`--slow-rank`).
inline constexpr char emulated_work[] = "lockstep::emulated_work";
// Marks.
inline constexpr char grad_ready[] = "grad_ready";
inline constexpr char grad_hook[] = "grad_hook";
inline constexpr char bucket_ready[] = "bucket_ready";
// Operations on a model in host memory that workers share.
inline constexpr char read_shared[] = "lockstep::read_shared";
inline constexpr char update_shared[] = "lockstep::update_shared";
}  // namespace names

/// `name` of a phase, and `phase` of the tasks that belong to it.
namespace phases {
inline constexpr char data[] = "data";
inline constexpr char h2d[] = "h2d";
inline constexpr char scatter[] = "scatter";
inline constexpr char replicate[] = "replicate";
inline constexpr char parallel_apply[] = "parallel_apply";
inline constexpr char gather[] = "gather";
inline constexpr char forward[] = "forward";
inline constexpr char loss[] = "loss";
inline constexpr char backward[] = "backward";
inline constexpr char reduce[] = "reduce";
inline constexpr char broadcast[] = "broadcast";
inline constexpr char all_reduce[] = "all_reduce";
inline constexpr char average[] = "average";  ///< of the ranks' weights (local SGD)
inline constexpr char pull[] = "pull";        ///< of shared weights, to a worker
inline constexpr char push[] = "push";        ///< of gradients to a server
inline constexpr char optimizer[] = "optimizer";
inline constexpr char metrics[] = "metrics";
}  // namespace phases

/// `why` bytes are moved, or a host thread waits.
namespace reasons {
// Copies.
inline constexpr char h2d[] = "h2d";
inline constexpr char d2h[] = "d2h";
inline constexpr char p2p[] = "p2p";  ///< between devices, by another program
inline constexpr char scatter[] = "scatter";
inline constexpr char replicate[] = "replicate";
inline constexpr char gather[] = "gather";
inline constexpr char grad_scatter[] = "grad_scatter";
inline constexpr char reduce[] = "reduce";
// Copies of a loss that each device computes for its own outputs.
inline constexpr char targets[] = "targets";      ///< a chunk of the labels
inline constexpr char loss[] = "loss";            ///< a chunk's, to be added
inline constexpr char loss_grad[] = "loss_grad";  ///< the sum's, to each device
// Copies between the stages of a pipeline.
inline constexpr char activation[] = "activation";            ///< to the next stage
inline constexpr char activation_grad[] = "activation_grad";  ///< to the one before
// Copies between a worker and a model that several workers share.
inline constexpr char pull[] = "pull";  ///< weights, to the worker
inline constexpr char push[] = "push";  ///< gradients, from the worker
// Collectives and their messages.
inline constexpr char all_reduce[] = "all_reduce";
inline constexpr char broadcast[] = "broadcast";
inline constexpr char rebuild[] = "rebuild";  ///< DDP's buckets, in the new order
inline constexpr char average[] = "average";  ///< of the ranks' weights
inline constexpr char metrics[] = "metrics";
inline constexpr char sync_batch_norm[] = "sync_batch_norm";
// Waits.
inline constexpr char item[] = "item";        ///< for a scalar
inline constexpr char device[] = "device";    ///< for a whole device
inline constexpr char stream[] = "stream";    ///< for one stream of it
inline constexpr char join[] = "join";        ///< for threads
inline constexpr char queue[] = "queue";      ///< for work from another thread
inline constexpr char lock[] = "lock";        ///< for the model that workers share
inline constexpr char workers[] = "workers";  ///< the ranks before servers
}  // namespace reasons

/// Names of arguments.
namespace keys {
// Identity and causality.
inline constexpr char id[] = "id";
inline constexpr char step[] = "step";
inline constexpr char parent[] = "parent";
inline constexpr char op[] = "op";
inline constexpr char fwd[] = "fwd";
inline constexpr char deps[] = "deps";
inline constexpr char waits_for[] = "for";  ///< what a `sync` waited for
inline constexpr char after[] =
    "after";                        ///< the event that made room for a loader's batch
inline constexpr char by[] = "by";  ///< the kernel that caused a mark
/// In a single rank's file: an event of another rank for which a `sync` waited, with
/// the number that it has in that rank's file. Merging turns them into `for`.
inline constexpr char for_rank[] = "for_rank";
inline constexpr char for_event[] = "for_event";
// Place.
inline constexpr char rank[] = "rank";
inline constexpr char device[] = "device";
inline constexpr char stream[] = "stream";
// Calls.
inline constexpr char file[] = "file";
inline constexpr char line[] = "line";
inline constexpr char def_file[] = "def_file";
inline constexpr char def_line[] = "def_line";
inline constexpr char module[] = "module";
inline constexpr char cpp[] = "cpp";
inline constexpr char slot[] = "slot";
inline constexpr char shapes[] = "shapes";
// Tasks.
inline constexpr char phase[] = "phase";
inline constexpr char impl[] = "impl";
inline constexpr char kernel[] = "kernel";  ///< of an op: the kernel that runs it
inline constexpr char flops[] = "flops";
inline constexpr char bytes[] = "bytes";
inline constexpr char queued_us[] = "queued_us";
inline constexpr char port_held_by[] =
    "port_held_by";  ///< the copy that held a port until this one could start
inline constexpr char via[] = "via";  ///< of an emulated copy: `gpu0>switch0>gpu1`
inline constexpr char protocol[] = "protocol";  ///< of a collective: `LL`, `Simple`, …
inline constexpr char cpu_us[] = "cpu_us";
/// The number of its device's (its sender's) memory counters that were recorded before
/// the task was enqueued.
inline constexpr char memory_counters[] = "memory_counters";
inline constexpr char src_memory_counters[] = "src_memory_counters";
inline constexpr char activities[] = "activities";  ///< number of GPU activities timed
inline constexpr char kernels[] =
    "kernels";  ///< the names of the GPU's kernels, each once, in order
inline constexpr char modelled[] =
    "modelled";  ///< as prescribed by the library's algorithm
inline constexpr char imported[] = "imported";        ///< from another program's file
inline constexpr char correlation[] = "correlation";  ///< from the PyTorch profiler
// Copies.
inline constexpr char src[] = "src";
inline constexpr char dst[] = "dst";
inline constexpr char why[] = "why";  ///< a reason
inline constexpr char tensor[] = "tensor";
inline constexpr char shape[] = "shape";
inline constexpr char dtype[] = "dtype";
// Pipelines.
inline constexpr char action[] = "action";                ///< of a phase: `0F3`
inline constexpr char stage[] = "stage";                  ///< of a phase or a copy
inline constexpr char micro_batch[] = "micro_batch";      ///< of a phase or a copy
inline constexpr char schedule[] = "schedule";            ///< of a step: `1f1b`
inline constexpr char micro_batches[] = "micro_batches";  ///< of a step
inline constexpr char stage_devices[] = "stage_devices";  ///< of a step: one per stage
// A classifier on a device of its own (hybrid); its device is `output_device`.
inline constexpr char feature_devices[] = "feature_devices";  ///< of a step
// Weights that are averaged from time to time (local SGD).
inline constexpr char local_steps[] = "local_steps";          ///< from one to the next
inline constexpr char warmup_steps[] = "warmup_steps";        ///< before the first
inline constexpr char optimizer_steps[] = "optimizer_steps";  ///< made so far
// Updates of a model that workers share.
inline constexpr char worker[] = "worker";
inline constexpr char server[] = "server";
inline constexpr char read_version[] = "read_version";  ///< that a gradient was for
inline constexpr char version[] = "version";            ///< that an update made
inline constexpr char lost_updates[] = "lost_updates";  ///< elements it overwrote
inline constexpr char update_rule[] = "update_rule";    ///< of a step: `store`, …
inline constexpr char lock[] = "lock";  ///< of a step: held for the `step`, `update`
inline constexpr char discarded[] = "discarded";      ///< of a push: came too late
inline constexpr char workers[] = "workers";          ///< that a `sync` waited for
inline constexpr char servers[] = "servers";          ///< of a step: their number
inline constexpr char consistency[] = "consistency";  ///< of a step: `ssp`
inline constexpr char staleness[] = "staleness";      ///< of a step: ssp's bound
inline constexpr char backup[] = "backup";  ///< of a step: gradients not waited for
// Collectives and their messages.
inline constexpr char collective[] = "collective";
inline constexpr char algorithm[] = "algorithm";
inline constexpr char group[] = "group";
inline constexpr char group_size[] = "group_size";
inline constexpr char seq[] = "seq";
inline constexpr char bucket[] = "bucket";
inline constexpr char params[] = "params";
inline constexpr char ring_step[] = "ring_step";
inline constexpr char tree_step[] = "tree_step";
// Steps.
inline constexpr char kind[] = "kind";
inline constexpr char batch[] = "batch";
inline constexpr char input_bytes[] = "input_bytes";
inline constexpr char label_bytes[] = "label_bytes";
inline constexpr char output_bytes[] = "output_bytes";
inline constexpr char chunks[] = "chunks";
inline constexpr char input_on[] = "input_on";
inline constexpr char device_ids[] = "device_ids";
inline constexpr char output_device[] = "output_device";
inline constexpr char interrupted[] = "interrupted";
inline constexpr char loss_in_forward[] = "loss_in_forward";  ///< dp-criterion
inline constexpr char synced[] = "synced";
inline constexpr char broadcast_bytes[] = "broadcast_bytes";
inline constexpr char wrapped_parameter_bytes[] = "wrapped_parameter_bytes";
inline constexpr char wrapped_buffer_bytes[] = "wrapped_buffer_bytes";
// Marks.
inline constexpr char param[] = "param";
// Metadata.
inline constexpr char name[] = "name";
inline constexpr char sort_index[] = "sort_index";
}  // namespace keys

/// Arguments of a `memory` counter: live bytes of a device, by what they are for.
inline constexpr const char* memory_categories[] = {
    "parameters", "gradients", "buffers",   "activations", "inputs",
    "optimizer",  "buckets",   "workspace", "other"};

/// Possible values of string arguments, and of `clock`.
namespace values {
inline constexpr char measured[] = "measured";  ///< `clock`
inline constexpr char emulated[] = "emulated";
inline constexpr char train[] = "train";  ///< `kind`
inline constexpr char eval[] = "eval";
inline constexpr char host[] = "host";        ///< `src`, `dst`, `input_on`
inline constexpr char device0[] = "device0";  ///< `input_on`
inline constexpr char in_step[] = "sync";     ///< `consistency`: workers wait for all
}  // namespace values

/// Top-level keys of the file, next to `traceEvents`, and of the objects below them.
namespace top {
inline constexpr char events[] = "traceEvents";
inline constexpr char time_unit[] = "displayTimeUnit";
inline constexpr char lockstep[] = "lockstep";
inline constexpr char distributed[] = "distributedInfo";
// In `lockstep`.
inline constexpr char format[] = "format";
inline constexpr char clock[] = "clock";
inline constexpr char mode[] = "mode";
inline constexpr char arch[] = "arch";
inline constexpr char command[] = "command";
inline constexpr char devices[] = "devices";
inline constexpr char steps[] = "steps";
inline constexpr char model[] = "model";
inline constexpr char parameter_bytes[] = "parameter_bytes";
inline constexpr char buffer_bytes[] = "buffer_bytes";
inline constexpr char sources[] = "sources";
inline constexpr char emulation[] = "emulation";
/// What devices whose work takes the time of other devices stand for.
inline constexpr char emulated_devices[] = "emulated_devices";
inline constexpr char constructed[] = "constructed";  ///< from one device's step
inline constexpr char imported[] = "imported";
inline constexpr char rank_clock[] = "rank_clock";
inline constexpr char partial[] = "partial";  ///< see partial.h
inline constexpr char workers[] = "workers";  ///< the ranks before servers
inline constexpr char failure[] = "failure";
// In `lockstep.failure`.
inline constexpr char error[] = "error";
inline constexpr char event[] = "event";
// In `distributedInfo`.
inline constexpr char rank[] = "rank";
inline constexpr char world_size[] = "world_size";
}  // namespace top

}  // namespace lockstep::tracer
