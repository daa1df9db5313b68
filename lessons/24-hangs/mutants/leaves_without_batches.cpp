// rejected by: uneven
// because: has to be asked, too
//
// The misconception: a rank without batches has nothing to say.

// [solution-epoch]
if (batches.empty()) return;
const auto steps = static_cast<size_t>(group.min(static_cast<double>(batches.size())));
for (size_t i = 0; i < steps; ++i) model.step(batches[i]);
return;
// [/solution-epoch]
