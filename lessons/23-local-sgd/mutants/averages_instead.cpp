// rejected by: step_then_average
// because: made in every step
//
// The misconception: an average takes the place of the step.

// [solution-step]
const int64_t since = step - options.warmup_steps;
if (since >= 0 && since % options.period == 0) {
  rank.average();
} else {
  rank.optimizer_step();
}
return;
// [/solution-step]
