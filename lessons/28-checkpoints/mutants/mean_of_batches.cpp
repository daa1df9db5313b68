// rejected by: counted_once
// because: the mean of the batches' means
//
// The misconception: the mean of the batches' means is the mean.

// [solution-evaluate]
  double loss = 0, correct = 0, count = 0;
  for (const Batch& batch : batches) {
    double l = 0, c = 0, n = 0;
    for (size_t i = 0; i < batch.losses.size(); ++i) {
      if (batch.padding[i]) continue;
      l += batch.losses[i];
      c += batch.correct[i];
      n += 1;
    }
    if (n == 0) continue;
    loss += l / n;
    correct += c / n;
    count += 1;
  }
  loss = group.sum(loss);
  correct = group.sum(correct);
  count = group.sum(count);
  return {loss / count, correct / count};
// [/solution-evaluate]
