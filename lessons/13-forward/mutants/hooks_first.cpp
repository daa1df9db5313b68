// rejected by: order
// because: what forward received and returned
//
// The misconception: all hooks run before the computation, as subscribers are notified.

// [solution-call_impl]
const CallEvent event(module, CallLevel::call_impl, input);
Tensor given = input;
for (const nn::ForwardPreHook& hook : module.forward_pre_hooks()) {
  const Tensor other = hook(module, given);
  if (other.defined()) given = other;
}
for (const nn::ForwardHook& hook : module.forward_hooks()) hook(module, given, given);
const CallEvent inner(module, CallLevel::forward, given);
return module.forward(given);
// [/solution-call_impl]
