// rejected by: step_then_average
// because: makes its own step first
//
// The misconception: averaging comes where DDP averages, before the step. The ranks
// then go on with different weights.

// [solution-step]
const int64_t since = step - options.warmup_steps;
if (since >= 0 && since % options.period == 0) rank.average();
rank.optimizer_step();
return;
// [/solution-step]
