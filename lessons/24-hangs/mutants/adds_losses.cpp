// rejected by: careful
// because: A sum of large ones
//
// The misconception: a sum is finite if all its terms are.

// [solution-step]
if (!std::isfinite(group.sum(loss))) return false;
model.step(batch);
return true;
// [/solution-step]
