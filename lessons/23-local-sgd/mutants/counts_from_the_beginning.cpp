// rejected by: when_due
// because: counted from the beginning
//
// The misconception: the period counts from step 0. (That is how PyTorch's
// HierarchicalModelAverager counts.)

// [solution-step]
rank.optimizer_step();
const bool warm = step >= options.warmup_steps;
if (warm && step % options.period == 0) rank.average();
return;
// [/solution-step]
