// rejected by: on_rank_0
// because: broadcasts its buffers
//
// The misconception (pytorch#54059): an evaluation needs nobody else.

// [solution-evaluate]
return group.sum(group.rank == 0 ? model.evaluate() : 0);
// [/solution-evaluate]
