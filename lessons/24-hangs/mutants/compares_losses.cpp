// rejected by: careful
// because: in which NaN gets lost
//
// The misconception: NaN is larger than anything. It compares as neither larger nor
// smaller.

// [solution-step]
if (!std::isfinite(group.max(loss))) return false;
model.step(batch);
return true;
// [/solution-step]
