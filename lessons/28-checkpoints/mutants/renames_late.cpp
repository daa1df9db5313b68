// rejected by: complete_on_return
// because: the others return while rank 0 writes
//
// The misconception: others may rename it after the barrier.

// [solution-save]
  const std::vector<int64_t> generators = group.gather(training.generator);
  if (group.rank == 0) folder.write("checkpoint.part", {training.state, generators});
  group.barrier();
  if (group.rank == 0) folder.rename("checkpoint.part", "checkpoint");
  return;
// [/solution-save]
