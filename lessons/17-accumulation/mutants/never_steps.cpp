// rejected by: one_batch
// because: optimizer.step() is missing
//
// The misconception: the caller steps.

// [solution-step]
int64_t rows = 0;
for (const MicroBatch& part : parts) rows += part.labels.size(0);
optimizer.zero_grad();
for (size_t i = 0; i < parts.size(); ++i) {
  std::unique_ptr<NoSync> alone;
  if (i + 1 < parts.size()) alone = std::make_unique<NoSync>(model);
  const Tensor mean = ops::cross_entropy(model(parts[i].images), parts[i].labels);
  const auto share = static_cast<double>(parts[i].labels.size(0)) / rows;
  ops::scale(mean, share).backward();
}
return;
// [/solution-step]
