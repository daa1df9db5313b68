// rejected by: exceptions
// because: join all threads first
//
// The misconception: when one replica has failed, the others do not matter any more.

// [solution-apply]
if (inputs.size() == 1) return {(*replicas[0])(inputs[0])};
static std::vector<Tensor> outputs;
outputs.assign(inputs.size(), {});
static std::vector<std::exception_ptr> errors;
errors.assign(inputs.size(), nullptr);
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
for (size_t i = threads.size(); i-- > 0;) {
  if (i > 0) {
    threads[i].join();
  } else if (errors[1]) {
    threads[i].detach();
  } else {
    threads[i].join();
  }
}
for (const std::exception_ptr& error : errors) {
  if (error) std::rethrow_exception(error);
}
return outputs;
// [/solution-apply]
