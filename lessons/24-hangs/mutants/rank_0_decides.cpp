// rejected by: careful
// because: not only rank 0
//
// The misconception (WeatherGenerator#2724): the decision of rank 0 is that of all. The
// loss of another rank gets into the mean.

// [solution-step]
const bool bad = group.rank == 0 && !std::isfinite(loss);
if (group.sum(bad ? 1 : 0) > 0) return false;
model.step(batch);
return true;
// [/solution-step]
