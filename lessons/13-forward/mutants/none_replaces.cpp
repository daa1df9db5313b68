// rejected by: order
// because: Python's None
//
// The misconception: every hook returns the tensor to go on with. The undefined tensor
// of a hook that only looks reaches the next one.

// [solution-call_impl]
const CallEvent event(module, CallLevel::call_impl, input);
Tensor given = input;
for (const nn::ForwardPreHook& hook : module.forward_pre_hooks()) {
  given = hook(module, given);
}
Tensor output;
{
  const CallEvent inner(module, CallLevel::forward, given);
  output = module.forward(given);
}
for (const nn::ForwardHook& hook : module.forward_hooks()) {
  output = hook(module, given, output);
}
return output;
// [/solution-call_impl]
