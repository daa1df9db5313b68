// rejected by: events
// because: ends before the hooks
//
// The misconception: an event marks the moment at which it is declared. It lasts until
// the end of the block, and the hooks look as if forward had called them.

// [solution-call_impl]
const CallEvent event(module, CallLevel::call_impl, input);
Tensor given = input;
for (const nn::ForwardPreHook& hook : module.forward_pre_hooks()) {
  const Tensor other = hook(module, given);
  if (other.defined()) given = other;
}
const CallEvent inner(module, CallLevel::forward, given);
Tensor output = module.forward(given);
for (const nn::ForwardHook& hook : module.forward_hooks()) {
  const Tensor other = hook(module, given, output);
  if (other.defined()) output = other;
}
return output;
// [/solution-call_impl]
