// rejected by: messages
// because: the host goes on
//
// The misconception: a replica is done when its device has computed.

// [top]
#include "engine/runtime/device_context.h"
// [/top]

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
      runtime::context(inputs[i].device()).synchronize();
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
