// rejected by: one_batch
// because: among integers
//
// The misconception (a slip): 3 / 10 is 0.3.

// [solution-step]
int64_t rows = 0;
for (const MicroBatch& part : parts) rows += part.labels.size(0);
optimizer.zero_grad();
for (size_t i = 0; i < parts.size(); ++i) {
  std::unique_ptr<NoSync> alone;
  if (i + 1 < parts.size()) alone = std::make_unique<NoSync>(model);
  const Tensor mean = ops::cross_entropy(model(parts[i].images), parts[i].labels);
  const auto share = parts[i].labels.size(0) / rows;
  ops::scale(mean, share).backward();
}
optimizer.step();
return;
// [/solution-step]
