// rejected by: counted_once
// because: a sample that was read twice counts twice
//
// The misconception: every sample that was read counts.

// [solution-evaluate]
  double loss = 0, correct = 0, samples = 0;
  for (const Batch& batch : batches) {
    for (size_t i = 0; i < batch.losses.size(); ++i) {
      loss += batch.losses[i];
      correct += batch.correct[i];
      samples += 1;
    }
  }
  loss = group.sum(loss);
  correct = group.sum(correct);
  samples = group.sum(samples);
  return {loss / samples, correct / samples};
// [/solution-evaluate]
