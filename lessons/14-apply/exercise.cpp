// Lesson 14: parallel_apply and gather. Run the replicas, and join what they return.
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "engine/autograd/node.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/parallel/primitives.h"
#include "lessons/plugin.h"
#include "tracer/record/recorder.h"

using namespace lockstep;

/// Given. Call it first in a replica's thread. `starter` is a copy of
/// `tracer::thread_context()` of the thread that starts it. From then on the trace
/// shows the thread's calls in a row of their own, as called by that thread.
void appear_in_trace(const tracer::ThreadContext& starter, Device device) {
  tracer::name_host_thread("replica " + device.str());
  tracer::thread_context() = starter;
}

/// Returns what `(*replicas[i])(inputs[i])` returns, for each i, in this order. Each
/// replica runs in a thread of its own, all of them at the same time; a single one runs
/// in the caller's thread. There are as many replicas as inputs.
///
/// Whether operations are recorded on the tape is a property of a thread, and a new one
/// records them: `autograd::grad_enabled()` asks, and `autograd::GradMode
/// mode(enabled);` sets it until the end of the block.
///
/// An exception must not leave its thread, or the program ends.
/// `std::current_exception()` in a `catch (...)` keeps it, as a `std::exception_ptr`
/// (null if there is none). When *all* threads have ended, the one of the replica with
/// the lowest number is thrown here, with `std::rethrow_exception`.
std::vector<Tensor> parallel_apply(const std::vector<nn::ModulePtr>& replicas,
                                   const std::vector<Tensor>& inputs) {
  // [solution-apply]
  if (inputs.size() == 1) return {(*replicas[0])(inputs[0])};
  std::vector<Tensor> outputs(inputs.size());
  std::vector<std::exception_ptr> errors(inputs.size());
  const tracer::ThreadContext starter = tracer::thread_context();
  const bool enabled = autograd::grad_enabled();
  std::vector<std::thread> threads;
  for (size_t i = 0; i < inputs.size(); ++i) {
    threads.emplace_back([&, i] {
      appear_in_trace(starter, inputs[i].device());
      const autograd::GradMode mode(enabled);
      try {
        outputs[i] = (*replicas[i])(inputs[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return outputs;
  // [/solution-apply]
  lessons::not_written("parallel_apply: one thread per replica");
}

/// Returns the outputs (each n×…, with its own n) below each other, on device `to`.
/// `Tensor::empty({sizes, outputs[0].dtype(), nullptr}, to)` allocates;
/// `joined.narrowed(first, count)` is a view of some rows; and
/// `ops::copy_into(tensor, view, {"gather", "output"})` sends a tensor into it, from
/// any device. Copies are not on the tape, so they get `output.detach()`.
///
/// The tape: `autograd::set_history("GatherBackward", outputs, {joined},
/// tracer::innermost_event(), formula)` says how gradients get from `joined` back to
/// the outputs. `formula` receives a list with one tensor, the gradient of `joined`,
/// and returns the gradient of each output, on that output's device
/// (`ops::copy_to(tensor, device, {"grad_scatter", "output"})`). It runs later: capture
/// what it needs by value, devices and numbers rather than tensors. Begin with
/// `ops::contiguous(grads[0])`.
Tensor gather(const std::vector<Tensor>& outputs, Device to) {
  // [solution-gather]
  std::vector<int64_t> rows;
  parallel::Devices devices;
  int64_t total = 0;
  for (const Tensor& output : outputs) {
    rows.push_back(output.size(0));
    devices.push_back(output.device());
    total += output.size(0);
  }
  Shape sizes = outputs[0].sizes();
  sizes[0] = total;
  const Tensor joined = Tensor::empty({sizes, outputs[0].dtype(), nullptr}, to);
  int64_t first = 0;
  for (const Tensor& output : outputs) {
    ops::copy_into(output.detach(), joined.narrowed(first, output.size(0)),
                   {"gather", "output"});
    first += output.size(0);
  }
  autograd::set_history(
      "GatherBackward", outputs, {joined}, tracer::innermost_event(),
      [=](Tensors grads) {
        const Tensor grad = ops::contiguous(grads[0]);
        Tensors pieces;
        int64_t first = 0;
        for (size_t i = 0; i < rows.size(); ++i) {
          pieces.push_back(ops::copy_to(grad.narrowed(first, rows[i]), devices[i],
                                        {"grad_scatter", "output"}));
          first += rows[i];
        }
        return pieces;
      });
  return joined;
  // [/solution-gather]
  lessons::not_written("gather: all rows on one device, and their gradients back");
}

LOCKSTEP_LESSON(14) {
  parallel::primitives().parallel_apply.plug(parallel_apply);
  parallel::primitives().gather.plug(gather);
}
