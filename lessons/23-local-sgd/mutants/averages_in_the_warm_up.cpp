// rejected by: when_due
// because: in the warm-up no average is due
//
// The misconception: a remainder of 0 is enough. In C++, -4 % 4 is 0.

// [solution-step]
rank.optimizer_step();
if ((step - options.warmup_steps) % options.period == 0) rank.average();
return;
// [/solution-step]
