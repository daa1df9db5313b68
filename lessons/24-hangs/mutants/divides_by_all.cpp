// rejected by: on_rank_0
// because: only one rank has added something
//
// The misconception: what comes of all ranks is always averaged.

// [solution-evaluate]
return group.sum(group.rank == 0 ? model.evaluate_module() : 0) / group.size;
// [/solution-evaluate]
