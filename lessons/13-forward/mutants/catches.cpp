// rejected by: exceptions
// because: is the caller's
//
// The misconception: a hook that fails must not stop the training.

// [solution-call_impl]
const CallEvent event(module, CallLevel::call_impl, input);
Tensor given = input;
for (const nn::ForwardPreHook& hook : module.forward_pre_hooks()) {
  try {
    const Tensor other = hook(module, given);
    if (other.defined()) given = other;
  } catch (...) {
  }
}
Tensor output;
{
  const CallEvent inner(module, CallLevel::forward, given);
  output = module.forward(given);
}
for (const nn::ForwardHook& hook : module.forward_hooks()) {
  const Tensor other = hook(module, given, output);
  if (other.defined()) output = other;
}
return output;
// [/solution-call_impl]
