// The learner's reducer of lesson 12, called directly.
#pragma once

#include <memory>
#include <vector>

#include "engine/distributed/ddp/gradient_sync.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/noted.h"
#include "lessons/machine/ranks.h"
#include "lessons/plugin.h"

namespace lockstep::lessons {

/// Bytes of the parameters p0 to p5. With a cap of 64 bytes they must be divided into
/// {p5, p4}, {p3}, {p2, p1} and {p0}.
inline const std::vector<int64_t> kBytes{32, 48, 16, 72, 24, 40};
/// The learner's reducer, called directly. Element i of p's gradient is (rank + 1) ·
/// (10 p + i + 1).
struct ByHand {
  ByHand(distributed::ProcessGroup& group, Device device,
         const std::vector<int64_t>& bytes = kBytes, int64_t cap = 64)
      : device(device), rank(group.rank()) {
    for (size_t p = 0; p < bytes.size(); ++p) {
      const Tensor values = counting({bytes[p] / 8}, 10.0 * static_cast<double>(p) + 1);
      const Tensor parameter = ops::copy_to(values, device, {"h2d", "p"});
      parameters.push_back({fmt::format("p{}", p), parameter});
    }
    distributed::ReducerOptions options;
    options.bucket_cap = cap;
    sync = distributed::make_gradient_sync(parameters, group, options);
  }
  void begin() {
    for (const auto& [name, parameter] : parameters) parameter.set_grad({});
    sync->before_forward();
    sync->before_backward(parameters[0].value);
  }
  void ready(size_t p) {
    const Tensor& parameter = parameters[p].value;
    parameter.set_grad(ops::scale(parameter.detach(), rank + 1));
    sync->gradient_ready(p);
  }
  void step(const std::vector<size_t>& order, HeadStart* head = nullptr) {
    if (head != nullptr && rank > 0) head->wait_for_rank_0(steps);
    begin();
    for (size_t p : order) ready(p);
    sync->after_backward();
    if (head != nullptr && rank == 0) head->rank_0_is_ahead();
    runtime::context(device).synchronize();
    ++steps;
  }
  std::vector<double> gradient(size_t p) const {
    const Tensor grad = parameters[p].value.grad();
    return grad.defined() ? values(grad) : std::vector<double>{};
  }

  Device device;
  int rank, steps = 0;
  distributed::Parameters parameters;
  std::unique_ptr<distributed::GradientSync> sync;
};

/// Runs a step whose after_backward may not have been written yet. Rethrows what the
/// code throws, unless it had already launched buckets.
inline void step_as_far_as_written(ByHand& by_hand, const Noted& calls,
                                   const std::vector<size_t>& order) {
  try {
    by_hand.step(order);
  } catch (const NotWritten&) {  // after_backward comes later
    runtime::context(by_hand.device).synchronize();
    if (calls.buckets.empty()) throw;
  } catch (const std::runtime_error&) {  // the Work of a bucket that was never launched
    if (!calls.buckets.empty()) throw;
  }
}

}  // namespace lockstep::lessons
