// rejected by: runs_forward
// because: .detach() ends backward
//
// The misconception: forward should get a tensor of its own.

// [solution-call_impl]
const CallEvent event(module, CallLevel::call_impl, input);
Tensor given = input.detach();
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
