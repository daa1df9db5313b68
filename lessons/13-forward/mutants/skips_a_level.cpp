// rejected by: chain
// because: each of the three levels
//
// The misconception: __call__ and _call_impl are one function, so one event is enough.

// [solution-call_impl]
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
  const Tensor other = hook(module, given, output);
  if (other.defined()) output = other;
}
return output;
// [/solution-call_impl]
