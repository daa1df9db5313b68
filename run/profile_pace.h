// The speed of emulated devices, from a hardware profile.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/runtime/pace.h"
#include "tracer/emulate/hardware/hardware.h"

namespace lockstep::run {

/// Divides the measured time of a phase among its kernels.
///
/// A kernel's *estimate* is the larger of its operations at the device's highest rate
/// and its bytes at the bandwidth of its memory. The kernels of the forward pass share
/// the measured time of the forward pass in proportion to their estimates, and those of
/// backward pass and optimizer that of both. Other kernels (the loss, copies within the
/// device, sums of gradients) take their estimate. What the estimates of a phase add up
/// to must be counted first, in a step of one device with the same batch.
///
/// A copy takes the latency and the bandwidth of its path; copies over the same link
/// take turns, in the order in which they could begin.
class ProfilePace : public runtime::Pace {
 public:
  using SleepUntil = std::function<void(int64_t)>;

  /// `table` must belong to the hardware's device times. Without `sleep_until`, the
  /// clock is the real one. Throws std::runtime_error if there are not so many devices.
  ProfilePace(std::shared_ptr<const tracer::Hardware> hardware,
              const tracer::PhaseTable& table, int devices,
              SleepUntil sleep_until = {});

  /// Between these two calls, kernels take no time, and their estimates are counted as
  /// those of a step with that batch. Throws std::runtime_error if the batch's times
  /// are unknown.
  void begin_counting(int64_t batch);
  void end_counting();

  int64_t kernel(const runtime::KernelWork& work) override;
  runtime::Span copy(Device from, Device to, int64_t bytes, int64_t ready) override;
  void sleep_until(int64_t time) override { sleep_until_(time); }

 private:
  enum Part { forward, backward, other };
  static Part part_of(const char* phase);
  double estimate(const runtime::KernelWork& work) const;
  double factor(Part part, int64_t batch) const;

  /// What a device is doing.
  struct State {
    int64_t batch = 0;  ///< of its last convolution or linear layer; 0: none yet
    double rest = 0;    ///< ns that rounding has left out; may be negative
  };

  const std::shared_ptr<const tracer::Hardware> hardware_;
  const tracer::PhaseTable& table_;
  const SleepUntil sleep_until_;
  std::mutex mutex_;
  tracer::Topology topology_;
  std::vector<double> free_at_;  ///< by segment of the topology (ns)
  std::map<Device, State> states_;
  int64_t counting_ = 0;  ///< the batch; 0: not counting
  std::array<double, 2> counted_{};
  /// By batch: measured time divided by the sum of the estimates.
  std::map<int64_t, std::array<double, 2>> factors_;
};

}  // namespace lockstep::run
