// rejected by: counted_once
// because: each has only its own samples
//
// The misconception: rank 0's numbers are printed.

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
  return {loss / samples, correct / samples};
// [/solution-evaluate]
