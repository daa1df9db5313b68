// rejected by: careful
// because: One such loss is enough
//
// The misconception: the ranks vote.

// [solution-step]
if (group.min(std::isfinite(loss) ? 0 : 1) > 0) return false;
model.step(batch);
return true;
// [/solution-step]
