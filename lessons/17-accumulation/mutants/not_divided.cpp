// rejected by: one_batch
// because: gradients add up
//
// The misconception: backward averages over everything by itself.

// [solution-step]
int64_t rows = 0;
for (const MicroBatch& part : parts) rows += part.labels.size(0);
optimizer.zero_grad();
for (size_t i = 0; i < parts.size(); ++i) {
  std::unique_ptr<NoSync> alone;
  if (i + 1 < parts.size()) alone = std::make_unique<NoSync>(model);
  ops::cross_entropy(model(parts[i].images), parts[i].labels).backward();
}
optimizer.step();
return;
// [/solution-step]
