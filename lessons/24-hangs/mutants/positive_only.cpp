// rejected by: careful
// because: also large, negative ones
//
// The misconception: a loss is a positive number, and any other is a fault.

// [solution-step]
const bool good = std::isfinite(loss) && loss >= 0;
if (group.max(good ? 0 : 1) > 0) return false;
model.step(batch);
return true;
// [/solution-step]
