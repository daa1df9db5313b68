// rejected by: everything_in_it
// because: gather them from all ranks
//
// The misconception: one generator is in the file: rank 0's.

// [solution-save]
  if (group.rank == 0) {
    folder.write("checkpoint.part", {training.state, std::vector<int64_t>(group.size, training.generator)});
    folder.rename("checkpoint.part", "checkpoint");
  }
  group.barrier();
  return;
// [/solution-save]
