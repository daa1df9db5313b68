// rejected by: no_batch
// because: shadow_step must make all calls of after_backward
//
// The misconception: the shadow step goes through the parameters for which this rank
// has had a gradient only.

// [solution-shadow]
for (const auto& [name, parameter] : parameters_) {
  if (!computed_.contains(name)) continue;
  const Tensor nothing = ops::full_like(parameter, 0);
  group_.all_reduce(nothing, ReduceOp::sum, label(name)).wait();
}
return;
// [/solution-shadow]
