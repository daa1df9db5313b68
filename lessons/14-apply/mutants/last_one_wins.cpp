// rejected by: exceptions
// because: which thread was faster
//
// The misconception: one variable for the exception is enough.

// [solution-apply]
if (inputs.size() == 1) return {(*replicas[0])(inputs[0])};
std::vector<Tensor> outputs(inputs.size());
std::exception_ptr last;
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
      last = std::current_exception();
    }
  });
}
for (std::thread& thread : threads) thread.join();
if (last) std::rethrow_exception(last);
return outputs;
// [/solution-apply]
