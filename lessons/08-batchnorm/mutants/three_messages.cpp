// rejected by: one_message
// because: pack everything into one tensor
//
// The misconception: small messages cost nothing.

// [solution-statistics]
const Tensor sum = ops::mul(mine.mean, mine.count);
const Tensor mean_square = ops::add(mine.var, ops::mul(mine.mean, mine.mean));
const Tensor squares = ops::mul(mean_square, mine.count);
const Tensor count = ops::scale(mine.count, 1);
for (const Tensor& each : {sum, squares, count}) {
  group.all_reduce(each, ReduceOp::sum, label).wait();
}
const Tensor mean = ops::div(sum, count);
return {mean, ops::sub(ops::div(squares, count), ops::mul(mean, mean)), count};
// [/solution-statistics]
