// rejected by: careful
// because: that it is asked at all
//
// The misconception: a rank that has something to tell calls the others. They do not
// listen.

// [solution-step]
if (!std::isfinite(loss)) {
  group.max(1);
  return false;
}
model.step(batch);
return true;
// [/solution-step]
