// rejected by: on_rank_0
// because: A float is too short
//
// The mistake: PyTorch's tensors are float32, so this is, too. It is no longer the
// number that rank 0 has measured.

// [solution-evaluate]
return static_cast<float>(group.sum(group.rank == 0 ? model.evaluate_module() : 0));
// [/solution-evaluate]
