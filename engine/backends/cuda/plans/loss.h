// Plans of cross entropy and accuracy. Inputs are converted to plain float32.
#pragma once

#include <stdexcept>

#include "engine/backends/cuda/kernels/loss.h"
#include "engine/backends/cuda/machine.h"

namespace lockstep::cuda {

template <class Machine>
PlanPtr plan_log_softmax(const PlanRequest& r) {
  Steps steps("lockstep:log_softmax");
  const Shape& sizes = r.in[0].sizes;
  const auto rows = static_cast<Index>(sizes[0]),
             classes = static_cast<Index>(sizes[1]);
  const Ref first = as<Machine>(steps, input(r, 0), sizes, Form{});
  if (r.code == OpCode::log_softmax) {
    steps.add([=](const KernelArgs& args) {
      Machine::for_rows(
          rows, LogSoftmax{first.in<float>(args), args.out[0].as<float>(), classes});
    });
  } else {
    steps.add([=](const KernelArgs& args) {
      Machine::for_rows(
          rows, LogSoftmaxBackward{first.in<float>(args), args.in[1].as<float>(),
                                   args.out[0].as<float>(), classes});
    });
  }
  return steps.finish(r);
}

/// Adds a step that computes output 0 = factor · Σ parts / divisor, over all rows.
template <class Machine>
void add_total(Steps& steps, Ref parts, Index rows, float factor, float divisor) {
  const Ref scratch = steps.scratch(Machine::scratch_bytes(rows, 1, sizeof(float)));
  steps.add([=](const KernelArgs& args) {
    Machine::sum_columns(
        rows, 1, Total{parts.in<float>(args), args.out[0].as<float>(), factor, divisor},
        scratch.in<void>(args));
  });
}

template <class Machine>
PlanPtr plan_nll_loss(const PlanRequest& r) {
  Steps steps("lockstep:nll_loss");
  const Shape& sizes = r.in[0].sizes;
  const auto rows = static_cast<Index>(sizes[0]),
             classes = static_cast<Index>(sizes[1]);
  const Ref parts = steps.scratch(rows * sizeof(float));
  steps.add(
      [=, smoothing = static_cast<float>(r.attributes.eps)](const KernelArgs& args) {
        Machine::for_rows(
            rows, NllLoss{args.in[0].as<float>(), args.in[1].as<int64_t>(),
                          parts.in<float>(args), Machine::fault(), classes, smoothing});
      });
  add_total<Machine>(steps, parts, rows, 1, r.attributes.mean ? float(rows) : 1.0f);
  return steps.finish(r);
}

template <class Machine>
PlanPtr plan_nll_loss_backward(const PlanRequest& r) {
  Steps steps("lockstep:nll_loss_backward");
  const Shape& sizes = r.out[0].sizes;
  const auto rows = static_cast<Index>(sizes[0]),
             classes = static_cast<Index>(sizes[1]);
  steps.add([=, smoothing = static_cast<float>(r.attributes.eps),
             mean = r.attributes.mean](const KernelArgs& args) {
    Machine::for_each(rows * classes,
                      NllLossBackward{args.in[0].as<float>(), args.in[1].as<int64_t>(),
                                      args.out[0].as<float>(), Machine::fault(), rows,
                                      classes, smoothing, mean});
  });
  return steps.finish(r);
}

template <class Machine>
PlanPtr plan_top_k(const PlanRequest& r) {
  Steps steps("lockstep:top_k");
  const Shape& sizes = r.in[0].sizes;
  const auto rows = static_cast<Index>(sizes[0]),
             classes = static_cast<Index>(sizes[1]);
  const Ref logits = as<Machine>(steps, input(r, 0), sizes, Form{});
  const Ref parts = steps.scratch(rows * sizeof(float));
  steps.add([=, k = r.attributes.k](const KernelArgs& args) {
    Machine::for_rows(rows, TopK{logits.in<float>(args), args.in[1].as<int64_t>(),
                                 parts.in<float>(args), Machine::fault(), classes, k});
  });
  add_total<Machine>(steps, parts, rows, 100, float(rows));
  return steps.finish(r);
}

template <class Machine>
PlanPtr plan_loss(const PlanRequest& r) {
  switch (r.code) {
    case OpCode::nll_loss:
      return plan_nll_loss<Machine>(r);
    case OpCode::nll_loss_backward:
      return plan_nll_loss_backward<Machine>(r);
    case OpCode::correct_in_top_k:
      return plan_top_k<Machine>(r);
    default:
      return plan_log_softmax<Machine>(r);
  }
}

}  // namespace lockstep::cuda
