// rejected by: events
// because: without a
//
// The misconception (a slip): an object needs no name. It ends at once, before forward
// begins.

// [solution-call_impl]
const CallEvent event(module, CallLevel::call_impl, input);
Tensor given = input;
for (const nn::ForwardPreHook& hook : module.forward_pre_hooks()) {
  const Tensor other = hook(module, given);
  if (other.defined()) given = other;
}
CallEvent(module, CallLevel::forward, given);
Tensor output = module.forward(given);
for (const nn::ForwardHook& hook : module.forward_hooks()) {
  const Tensor other = hook(module, given, output);
  if (other.defined()) output = other;
}
return output;
// [/solution-call_impl]
