// rejected by: careful
// because: neither NaN nor infinity
//
// The misconception: NaN is the only number that spoils a mean.

// [solution-step]
if (group.max(std::isnan(loss) ? 1 : 0) > 0) return false;
model.step(batch);
return true;
// [/solution-step]
