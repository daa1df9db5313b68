// rejected by: pre_hook_replaces
// because: is the input from then on
//
// The misconception: hooks only watch; what they return is ignored.

// [solution-call_impl]
const CallEvent event(module, CallLevel::call_impl, input);
for (const nn::ForwardPreHook& hook : module.forward_pre_hooks()) hook(module, input);
Tensor output;
{
  const CallEvent inner(module, CallLevel::forward, input);
  output = module.forward(input);
}
for (const nn::ForwardHook& hook : module.forward_hooks()) {
  hook(module, input, output);
}
return output;
// [/solution-call_impl]
