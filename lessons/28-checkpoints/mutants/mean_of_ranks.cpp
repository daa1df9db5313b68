// rejected by: counted_once
// because: the mean of the ranks' means
//
// The misconception: the mean of the ranks' accuracies is the accuracy.

// [solution-evaluate]
  double loss = 0, correct = 0, samples = 0;
  for (const Batch& batch : batches) {
    for (size_t i = 0; i < batch.losses.size(); ++i) {
      if (batch.padding[i]) continue;
      loss += batch.losses[i];
      correct += batch.correct[i];
      samples += 1;
    }
  }
  if (samples == 0) samples = 1;
  return {group.sum(loss / samples) / group.size, group.sum(correct / samples) / group.size};
// [/solution-evaluate]
