// rejected by: on_rank_0
// because: Every rank has to
//
// The misconception: only the rank that has a result takes part in sending it.

// [solution-evaluate]
if (group.rank == 0) return group.sum(model.evaluate_module());
return 0;
// [/solution-evaluate]
