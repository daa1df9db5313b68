// parallel_apply: one host thread per replica.
// Source: torch/nn/parallel/parallel_apply.py.
#include <exception>
#include <stdexcept>
#include <thread>

#include "engine/autograd/node.h"
#include "engine/parallel/primitives.h"
#include "tracer/format/keys.h"
#include "tracer/record/recorder.h"
#include "tracer/record/traceback.h"

namespace lockstep::parallel {
namespace keys = tracer::keys;
namespace {

/// The result of running a replica.
struct Outcome {
  Tensor output;
  std::exception_ptr error;
  tracer::Traceback traceback;  ///< of `error`
  int64_t last_event = tracer::kNone;
};

[[noreturn]] void rethrow(Outcome& outcome, size_t replica, Device device) {
  tracer::continue_traceback(std::move(outcome.traceback),
                             "the thread of replica " + std::to_string(replica) + " (" +
                                 device.str() + "), started by parallel_apply");
  try {
    std::rethrow_exception(outcome.error);
  } catch (const std::exception& error) {
    throw std::runtime_error("Caught RuntimeError in replica " +
                             std::to_string(replica) + " on device " +
                             std::to_string(device.index) + ": " + error.what());
  }
}

/// Joins the threads of all replicas and records the wait.
void join(std::vector<std::thread>& threads, const std::vector<Outcome>& outcomes) {
  tracer::HostEvent sync("sync", "join replicas");
  sync.arg({keys::why, "join"});
  std::vector<int64_t> last_events;
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    if (outcomes[i].last_event != tracer::kNone) {
      last_events.push_back(outcomes[i].last_event);
    }
  }
  sync.waits_for(last_events);
}

}  // namespace

std::vector<Tensor> parallel_apply(const std::vector<nn::ModulePtr>& replicas,
                                   const std::vector<Tensor>& inputs) {
  if (inputs.size() == 1) return {(*replicas[0])(inputs[0])};

  std::vector<Outcome> outcomes(inputs.size());
  tracer::ThreadContext context = tracer::thread_context();
  context.parent = tracer::innermost_event();
  const bool grad = autograd::grad_enabled();
  const auto run = [&](size_t i) {
    tracer::name_host_thread("replica " + inputs[i].device().str());
    tracer::thread_context() = context;
    autograd::GradMode mode(grad);
    try {
      outcomes[i].output = (*replicas[i])(inputs[i]);
    } catch (...) {
      outcomes[i].error = std::current_exception();
      outcomes[i].traceback = tracer::take_traceback();
    }
    outcomes[i].last_event = tracer::last_closed_event();
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < inputs.size(); ++i) threads.emplace_back(run, i);
  join(threads, outcomes);

  std::vector<Tensor> outputs;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].error) rethrow(outcomes[i], i, inputs[i].device());
    outputs.push_back(std::move(outcomes[i].output));
  }
  return outputs;
}

}  // namespace lockstep::parallel
