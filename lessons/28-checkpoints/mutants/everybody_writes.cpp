// rejected by: one_writer
// because: they write into each other's
//
// The misconception: every rank saves its checkpoint.

// [solution-save]
  const std::vector<int64_t> generators = group.gather(training.generator);
  folder.write("checkpoint.part", {training.state, generators});
  folder.rename("checkpoint.part", "checkpoint");
  group.barrier();
  return;
// [/solution-save]
