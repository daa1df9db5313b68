// rejected by: complete_on_return
// because: it reads garbage
//
// The misconception: the file is there when save has returned on rank 0.

// [solution-save]
  const std::vector<int64_t> generators = group.gather(training.generator);
  if (group.rank == 0) {
    folder.write("checkpoint.part", {training.state, generators});
    folder.rename("checkpoint.part", "checkpoint");
  }
  return;
// [/solution-save]
