// rejected by: input_of_hooks
// because: not the caller's
//
// The misconception: a forward hook sees what the caller passed in.

// [solution-call_impl]
const CallEvent event(module, CallLevel::call_impl, input);
Tensor given = input;
for (const nn::ForwardPreHook& hook : module.forward_pre_hooks()) {
  const Tensor other = hook(module, given);
  if (other.defined()) given = other;
}
Tensor output;
{
  const CallEvent inner(module, CallLevel::forward, given);
  output = module.forward(given);
}
for (const nn::ForwardHook& hook : module.forward_hooks()) {
  const Tensor other = hook(module, input, output);
  if (other.defined()) output = other;
}
return output;
// [/solution-call_impl]
