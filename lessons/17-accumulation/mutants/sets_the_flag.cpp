// rejected by: inside_another
// because: leaves `sync` alone
//
// The misconception: train_step decides for its caller, too.

// [solution-step]
int64_t rows = 0;
for (const MicroBatch& part : parts) rows += part.labels.size(0);
optimizer.zero_grad();
for (size_t i = 0; i < parts.size(); ++i) {
  model.sync = i + 1 == parts.size();
  const Tensor mean = ops::cross_entropy(model(parts[i].images), parts[i].labels);
  const auto share = static_cast<double>(parts[i].labels.size(0)) / rows;
  ops::scale(mean, share).backward();
}
optimizer.step();
return;
// [/solution-step]
