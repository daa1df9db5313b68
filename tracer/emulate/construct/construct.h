// Programs that were not run: what N devices would do, made from what one device did.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/buckets.h"
#include "engine/plan/pipeline.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

struct Hardware;

/// How a pipeline shares a network.
struct ConstructedPipeline {
  std::vector<std::string> cuts = {};    ///< the modules with which a stage begins
  plan::PipelineSchedule schedule = {};  ///< obeys plan::broken_rule; only F and B
  std::string name = {};                 ///< of the schedule: `1f1b`
};

struct ConstructedProgram {
  int devices = 2;
  /// Of all devices; 0: the batch of the trace on each of them, or in each micro-batch.
  int64_t batch = 0;
  int64_t bucket_cap = plan::kBucketCap;  ///< bytes
  /// If not empty: the number of gradients in each bucket, in the order in which they
  /// become ready, instead of `bucket_cap`.
  std::vector<size_t> buckets = {};
  /// Or `single`, `dp`, `dp-criterion`, `dp-features`, `model-parallel`, `ps`.
  std::string mode = "ddp";
  ConstructedPipeline pipeline = {};  ///< of mode `model-parallel`; sets `devices`
  /// Recordings of the same device with other batches: batches between are possible,
  /// too (recorded_batches.h).
  std::vector<const Trace*> further = {};
  /// If set: its library chooses how gradients are summed and parameters broadcast, and
  /// DataParallel's host takes its time. A program for hardware is emulated with it.
  const Hardware* hardware = nullptr;
  /// `ring` or `tree`: how DDP sums buckets. Empty: as the hardware's library chooses,
  /// without hardware in rings.
  std::string all_reduce = {};
  int64_t first_bucket = plan::kFirstBucketBytes;  ///< the limit of the first bucket
  int servers = 1;  ///< of mode `ps`: on devices after the workers'
};

/// The largest number of devices for which each message of a ring is an event.
inline constexpr int kMostDevices = 64;

/// Returns the program of `program.mode`, as the functions below do. Throws
/// std::invalid_argument if there is no such mode.
Trace construct(const Trace& trace, const ConstructedProgram& program);

/// Returns the program of one DistributedDataParallel step after the buckets have been
/// rebuilt: every rank does what the one device of `trace` did in its median training
/// step, broadcasts buffers before the forward pass, copies each gradient to its bucket
/// when its hook runs, and sums buckets around a ring as soon as they are full, in
/// order. Buckets and chunks are exact to the byte (engine/plan). Its times only order
/// the events; emulate() computes them. `trace` must outlive the result.
///
/// Throws std::runtime_error if `trace` is not of one device (recorded_step.h), if the
/// batch of a device is neither recorded nor between two recorded ones, or for more
/// than kMostDevices devices.
Trace construct_ddp(const Trace& trace, const ConstructedProgram& program);

/// Returns the program of one DataParallel step: the batch is scattered from the host,
/// parameters and buffers are broadcast in groups, one host thread per replica repeats
/// the forward pass of the median training step of `trace`, the outputs are gathered,
/// device 0 computes the loss of the whole batch, and after all replicas' backward
/// passes it adds their gradients, in groups, and updates the parameters. With one
/// device, the network is called without any of that. Groups and chunks are exact to
/// the byte (engine/plan). Its times only order the events; emulate() computes them.
/// `trace` must outlive the result.
///
/// In mode `dp-criterion` the outputs stay on their devices: labels go there, each
/// device computes the loss of its chunk, and device 0 their mean.
///
/// In mode `dp-features` only the module `features` is replicated, as PyTorch's example
/// does for AlexNet and VGG. Device 0 repeats the rest of a step with the whole batch,
/// which must be recorded, or between two recorded ones.
///
/// Throws std::runtime_error as construct_ddp does, and if there are no `features`.
Trace construct_dp(const Trace& trace, const ConstructedProgram& program);

/// Returns the program of one step of a pipeline: the parts of the network are on
/// different devices, and each micro-batch repeats the median training step of `trace`,
/// stage by stage, in the order of the schedule (engine/plan). Activations go to the
/// next stage's device, their gradients return; the gradients of micro-batches are
/// added, and each device updates its own parameters. `trace` must outlive the result.
///
/// Throws std::runtime_error as construct_ddp does, if the network cannot be cut there
/// (stage_parts.h), or if the schedule has other stages, or more micro-batches than
/// torch.chunk makes of the batch.
Trace construct_pipeline(const Trace& trace, const ConstructedProgram& program);

/// Returns the program of one step of parameter servers that wait for all workers
/// (`--consistency sync`): every worker pulls the weights from each server, does what
/// the one device of `trace` did in its median training step, and pushes its gradients;
/// the last worker to push, here the one with the highest rank, has each server add
/// them and update its keys. The servers' ranges of keys are engine/plan's. `trace`
/// must outlive the result.
///
/// Throws std::runtime_error as construct_ddp does, for workers and servers together,
/// and if there are more servers than keys.
Trace construct_ps(const Trace& trace, const ConstructedProgram& program);

/// Returns the recorded median step alone, or with another batch: what the programs
/// above are compared with. Its times are those of the recording, except for a batch
/// between two recorded ones. `trace` must outlive the result.
///
/// Throws std::runtime_error as construct_ddp does, and for several devices.
Trace construct_single(const Trace& trace, const ConstructedProgram& program = {
                                               .devices = 1, .mode = "single"});

/// Throws std::runtime_error if a program cannot have so many devices.
void require_device_count(int devices);

/// Returns the description of a program, for its trace.
Json constructed_facts(const Trace& trace, const ConstructedProgram& program,
                       int64_t batch);

/// Returns what a constructed program assumes, as one sentence; "" for other traces.
std::string construction(const Trace& trace);

}  // namespace lockstep::tracer
