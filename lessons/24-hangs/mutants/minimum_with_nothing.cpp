// rejected by: on_rank_0
// because: a minimum is that of the ranks
//
// The misconception: any of the three collectives passes rank 0's number on.

// [solution-evaluate]
double accuracy = 0;
if (group.rank == 0) accuracy = model.evaluate_module();
return group.min(accuracy);
// [/solution-evaluate]
