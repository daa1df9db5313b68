// rejected by: every_module
// because: every call of a module
//
// The misconception: hooks belong to the model that the loop calls.

// [solution-call_impl]
static thread_local int depth = 0;
const CallEvent event(module, CallLevel::call_impl, input);
if (depth > 0) {
  const CallEvent inner(module, CallLevel::forward, input);
  return module.forward(input);
}
++depth;
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
--depth;
return output;
// [/solution-call_impl]
