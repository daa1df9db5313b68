// rejected by: on_rank_0
// because: Ranks are processes
//
// The misconception: what one rank has written, the others can read after a barrier.

// [solution-evaluate]
static double accuracy = 0;
if (group.rank == 0) accuracy = model.evaluate_module();
group.sum(0);  // a barrier
return accuracy;
// [/solution-evaluate]
