// rejected by: one_batch
// because: count equally here
//
// The misconception: divide by the number of micro-batches. (Right if all are equally
// large.)

// [solution-step]
int64_t rows = 0;
for (const MicroBatch& part : parts) rows += part.labels.size(0);
optimizer.zero_grad();
for (size_t i = 0; i < parts.size(); ++i) {
  std::unique_ptr<NoSync> alone;
  if (i + 1 < parts.size()) alone = std::make_unique<NoSync>(model);
  const Tensor mean = ops::cross_entropy(model(parts[i].images), parts[i].labels);
  ops::scale(mean, 1.0 / static_cast<double>(parts.size())).backward();
}
optimizer.step();
return;
// [/solution-step]
