// rejected by: counted_once
// because: sum after the last batch, on every rank
//
// The misconception: one all-reduce for each batch, as in training.

// [solution-evaluate]
  double loss = 0, correct = 0, samples = 0;
  for (const Batch& batch : batches) {
    double l = 0, c = 0, n = 0;
    for (size_t i = 0; i < batch.losses.size(); ++i) {
      if (batch.padding[i]) continue;
      l += batch.losses[i];
      c += batch.correct[i];
      n += 1;
    }
    loss += group.sum(l);
    correct += group.sum(c);
    samples += group.sum(n);
  }
  return {loss / samples, correct / samples};
// [/solution-evaluate]
