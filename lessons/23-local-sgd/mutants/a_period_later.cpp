// rejected by: step_then_average
// because: not the H-th
//
// The misconception: the first average comes after a period.

// [solution-step]
rank.optimizer_step();
const int64_t since = step + 1 - options.warmup_steps;
if (since > 0 && since % options.period == 0) rank.average();
return;
// [/solution-step]
