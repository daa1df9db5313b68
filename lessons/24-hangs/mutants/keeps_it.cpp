// rejected by: on_rank_0
// because: that is the next hang
//
// The misconception: the others do not need the result. Rank 0 stops, they go on.

// [solution-evaluate]
return group.rank == 0 ? model.evaluate_module() : 0;
// [/solution-evaluate]
