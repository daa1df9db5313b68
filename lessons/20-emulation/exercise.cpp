// Lesson 20: emulation. One device has been recorded. How long is a step on several?
#include <algorithm>
#include <cstdint>
#include <vector>

#include "lessons/plugin.h"

using namespace lockstep;

/// What one device did in a step with `batch` samples: microseconds of its kernels.
struct Recorded {
  double batch, forward, loss, backward, optimizer;
};

/// DDP's buckets, in the order in which they are sent. A bucket is full when `ready` of
/// backward's time has passed (0 to 1).
struct Bucket {
  double bytes, ready;
};

/// A network, recorded on one device with two batches.
struct Job {
  Recorded small, large;
  double host_forward;   ///< µs in which the host launches the kernels of forward
  double host_backward;  ///< and those of backward, whatever the batch
  double sample;         ///< bytes of one image
  double parameters;     ///< bytes, as those of the gradients
  double buffers;        ///< bytes of the running statistics
  double messages;       ///< in which one device gets parameters and buffers together,
                         ///< or sends all gradients (groups of at most 10 MiB)
  std::vector<Bucket> buckets;
};

/// The machine to be predicted. A device sends one message at a time, and receives one
/// at a time; the host has a link to each device. A message takes the latency, plus its
/// bytes at the bandwidth: 1 GB/s is 1,000 bytes per µs.
struct Machine {
  double devices;
  double speed;    ///< kernels are this many times as fast as recorded
  double latency;  ///< µs
  double gb_per_s;
};

/// Returns the time of a phase's kernels for `batch` samples, which need not be one of
/// the recorded batches: on the straight line through both recordings. `phase` says
/// which: `&Recorded::forward`, … (`job.small.*phase` reads it).
double time_at(const Job& job, double Recorded::* phase, double batch) {
  // [solution-time]
  const double small = job.small.*phase, large = job.large.*phase;
  return small + (large - small) * (batch - job.small.batch) /
                     (job.large.batch - job.small.batch);
  // [/solution-time]
  lessons::not_written("time_at: a straight line. Does it begin at 0?");
}

/// Returns the time of a step of DataParallel in µs, for `batch` samples on all devices
/// together (a multiple of their number). In order: scatter from the host, replicate,
/// forward, the loss, backward, reduce, and the optimizer on device 0. Outputs are so
/// small that gather and its way back are left out. `loss` and `optimizer` are the same
/// for all batches (take small's); `loss` is so little that `speed` does not change it.
/// No phase begins before the last device has ended the one before it. Kernels cannot
/// run before the host has launched them, and each device has a host thread.
double predict_dp(const Job& job, const Machine& machine, double batch) {
  // [solution-dp]
  const double others = machine.devices - 1, own = batch / machine.devices;
  const auto message = [&](double bytes, double count) {
    return count * machine.latency + bytes / (machine.gb_per_s * 1000);
  };
  const double forward = time_at(job, &Recorded::forward, own) / machine.speed;
  const double backward = time_at(job, &Recorded::backward, own) / machine.speed;
  const double optimizer = job.small.optimizer / machine.speed;
  return message(own * job.sample, 1) +
         others * message(job.parameters + job.buffers, job.messages) +
         std::max(forward, job.host_forward) + job.small.loss +
         std::max(backward, job.host_backward) +
         others * message(job.parameters, job.messages) + optimizer;
  // [/solution-dp]
  lessons::not_written("predict_dp: seven phases, one after the other");
}

/// Returns the time of a step of DDP in µs, for `batch` samples on all devices
/// together. Each device computes its part, with the host's launches as above; nothing
/// is replicated, and the images are there. A bucket is sent when it is full and the
/// one before it has arrived. A ring of N devices takes 2 (N − 1) messages, one after
/// the other, each of 1/N of the bucket. The optimizer begins when backward is over and
/// the last bucket has arrived.
double predict_ddp(const Job& job, const Machine& machine, double batch) {
  // [solution-ddp]
  const double ranks = machine.devices, own = batch / ranks;
  const double forward = time_at(job, &Recorded::forward, own) / machine.speed;
  const double backward = std::max(
      time_at(job, &Recorded::backward, own) / machine.speed, job.host_backward);
  const double begin = std::max(forward, job.host_forward) + job.small.loss;
  double arrived = begin;
  for (const Bucket& bucket : job.buckets) {
    const double full = begin + bucket.ready * backward;
    const double part = bucket.bytes / ranks / (machine.gb_per_s * 1000);
    arrived = std::max(arrived, full) + 2 * (ranks - 1) * (machine.latency + part);
  }
  return std::max(begin + backward, arrived) + job.small.optimizer / machine.speed;
  // [/solution-ddp]
  lessons::not_written("predict_ddp: buckets travel while backward runs");
}

// The check finds your functions through these; do not change them.
extern "C" double lesson_time_at(const Job& job, double Recorded::* phase,
                                 double batch) {
  return time_at(job, phase, batch);
}
extern "C" double lesson_predict_dp(const Job& job, const Machine& machine,
                                    double batch) {
  return predict_dp(job, machine, batch);
}
extern "C" double lesson_predict_ddp(const Job& job, const Machine& machine,
                                     double batch) {
  return predict_ddp(job, machine, batch);
}

LOCKSTEP_LESSON(20) {}
