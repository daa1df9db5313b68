// rejected by: same_on_all_ranks
// because: must be the last one
//
// The misconception: one pass of each step averages, whichever it is.

// [solution-step]
int64_t rows = 0;
for (const MicroBatch& part : parts) rows += part.labels.size(0);
optimizer.zero_grad();
for (size_t i = 0; i < parts.size(); ++i) {
  std::unique_ptr<NoSync> alone;
  if (i > 0) alone = std::make_unique<NoSync>(model);
  const Tensor mean = ops::cross_entropy(model(parts[i].images), parts[i].labels);
  const auto share = static_cast<double>(parts[i].labels.size(0)) / rows;
  ops::scale(mean, share).backward();
}
optimizer.step();
return;
// [/solution-step]
