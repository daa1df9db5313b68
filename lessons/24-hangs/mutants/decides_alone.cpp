// rejected by: careful
// because: decided by its own loss
//
// The misconception: a bad batch is left out with `continue`.

// [solution-step]
(void)group;
if (!std::isfinite(loss)) return false;
model.step(batch);
return true;
// [/solution-step]
