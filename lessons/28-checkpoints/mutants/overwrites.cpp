// rejected by: killed_while_writing
// because: write another file, then rename it
//
// The misconception: writing replaces the old file.

// [solution-save]
  const std::vector<int64_t> generators = group.gather(training.generator);
  if (group.rank == 0) folder.write("checkpoint", {training.state, generators});
  group.barrier();
  return;
// [/solution-save]
