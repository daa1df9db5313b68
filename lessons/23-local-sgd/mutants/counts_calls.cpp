// rejected by: by_number
// because: A counter of your own
//
// The mistake of PyTorch's first PostLocalSGDOptimizer (pytorch#74737): each call
// counts as a step.

// [solution-step]
static int64_t calls = 0, before = -1;
if (step < before || step == 0) calls = 0;
before = step;
const int64_t since = calls++ - options.warmup_steps;
rank.optimizer_step();
if (since >= 0 && since % options.period == 0) rank.average();
return;
// [/solution-step]
