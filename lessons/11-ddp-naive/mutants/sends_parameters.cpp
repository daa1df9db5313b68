// rejected by: no_batch
// because: the parameter itself was handed to all_reduce
//
// The misconception: in place of zeros the parameter itself is handed to all_reduce,
// which overwrites it with the sum.

// [solution-shadow]
for (const auto& [name, parameter] : parameters_) {
  const Tensor nothing = ops::contiguous(parameter.detach());
  group_.all_reduce(nothing, ReduceOp::sum, label(name)).wait();
}
return;
// [/solution-shadow]
