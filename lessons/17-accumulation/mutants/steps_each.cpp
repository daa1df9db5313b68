// rejected by: one_step
// because: called once, after the loop
//
// The misconception: step after each backward; only the last one uses averaged
// gradients.

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
  optimizer.step();
}
return;
// [/solution-step]
