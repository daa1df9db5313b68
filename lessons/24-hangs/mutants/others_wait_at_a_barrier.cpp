// rejected by: on_rank_0
// because: broadcasts its buffers
//
// The misconception (pytorch#54059): at a barrier the others wait until rank 0 is done.
// They do, but rank 0 waits for them.

// [solution-evaluate]
double accuracy = 0;
if (group.rank == 0) accuracy = model.evaluate();
group.sum(0);  // a barrier
return group.sum(accuracy);
// [/solution-evaluate]
