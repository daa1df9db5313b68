// rejected by: pre_hook_replaces
// because: for the next pre-hook
//
// The misconception: every pre-hook sees the caller's input; the last one wins.

// [solution-call_impl]
const CallEvent event(module, CallLevel::call_impl, input);
Tensor given = input;
for (const nn::ForwardPreHook& hook : module.forward_pre_hooks()) {
  const Tensor other = hook(module, input);
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
