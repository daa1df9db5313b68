// rejected by: hook_replaces
// because: the output from then on
//
// The misconception: pre-hooks prepare the input, but forward has the last word.

// [solution-call_impl]
const CallEvent event(module, CallLevel::call_impl, input);
Tensor given = input;
for (const nn::ForwardPreHook& hook : module.forward_pre_hooks()) {
  const Tensor other = hook(module, given);
  if (other.defined()) given = other;
}
const Tensor output = [&] {
  const CallEvent inner(module, CallLevel::forward, given);
  return module.forward(given);
}();
for (const nn::ForwardHook& hook : module.forward_hooks()) {
  hook(module, given, output);
}
return output;
// [/solution-call_impl]
