// rejected by: one_writer
// because: also those that do not write
//
// The misconception: only the rank that writes needs the generators.

// [solution-save]
  if (group.rank == 0) {
    const std::vector<int64_t> generators = group.gather(training.generator);
    folder.write("checkpoint.part", {training.state, generators});
    folder.rename("checkpoint.part", "checkpoint");
  }
  group.barrier();
  return;
// [/solution-save]
