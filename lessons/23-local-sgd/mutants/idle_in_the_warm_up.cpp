// rejected by: step_then_average
// because: the optimizer makes its steps all the same
//
// The misconception: in the warm-up nothing is done, not even a step of one's own.

// [solution-step]
if (step < options.warmup_steps) return;
rank.optimizer_step();
if ((step - options.warmup_steps) % options.period == 0) rank.average();
return;
// [/solution-step]
