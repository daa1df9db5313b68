// rejected by: on_rank_0
// because: NaN is neither larger nor smaller
//
// The misconception: a maximum passes over NaN, so it stands for "I have none".

// [solution-evaluate]
double accuracy = std::nan("");
if (group.rank == 0) accuracy = model.evaluate_module();
return group.max(accuracy);
// [/solution-evaluate]
