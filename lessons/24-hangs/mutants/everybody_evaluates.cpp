// rejected by: on_rank_0
// because: the others wait for its result
//
// Nothing hangs, and all ranks do the work of one.

// [solution-evaluate]
return model.evaluate();
// [/solution-evaluate]
