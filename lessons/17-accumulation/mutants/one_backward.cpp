// rejected by: one_at_a_time
// because: it frees the activations
//
// The misconception: losses can be added, so one backward pass of their sum is enough.
// The weights are right, and all activations are kept until then.

// [solution-step]
int64_t rows = 0;
for (const MicroBatch& part : parts) rows += part.labels.size(0);
optimizer.zero_grad();
Tensor sum;
for (const MicroBatch& part : parts) {
  const Tensor mean = ops::cross_entropy(model(part.images), part.labels);
  const Tensor own =
      ops::scale(mean, static_cast<double>(part.labels.size(0)) / rows);
  sum = sum.defined() ? ops::add(sum, own) : own;
}
sum.backward();
optimizer.step();
return;
// [/solution-step]
