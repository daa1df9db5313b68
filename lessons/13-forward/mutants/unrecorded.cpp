// rejected by: chain
// because: nobody can see who called forward
//
// The misconception: the trace records calls by itself. All values are right.

// [solution-call_impl]
Tensor given = input;
for (const nn::ForwardPreHook& hook : module.forward_pre_hooks()) {
  const Tensor other = hook(module, given);
  if (other.defined()) given = other;
}
Tensor output = module.forward(given);
for (const nn::ForwardHook& hook : module.forward_hooks()) {
  const Tensor other = hook(module, given, output);
  if (other.defined()) output = other;
}
return output;
// [/solution-call_impl]
// [solution-call]
return call_impl(module, input);
// [/solution-call]
