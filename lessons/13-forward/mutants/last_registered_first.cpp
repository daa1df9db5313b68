// rejected by: order
// because: in the order in which they were registered
//
// The misconception: hooks are unwound like destructors, the last one first.

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
const auto& hooks = module.forward_hooks();
for (auto hook = hooks.rbegin(); hook != hooks.rend(); ++hook) {
  const Tensor other = (*hook)(module, given, output);
  if (other.defined()) output = other;
}
return output;
// [/solution-call_impl]
