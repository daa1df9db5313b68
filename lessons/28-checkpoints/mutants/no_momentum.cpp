// rejected by: everything_in_it
// because: without it the next steps are shorter ones
//
// The misconception: the optimizer starts again.

// [solution-save]
  const std::vector<int64_t> generators = group.gather(training.generator);
  if (group.rank == 0) {
    Checkpoint made{training.state, generators};
    made.state.momentum.assign(made.state.momentum.size(), 0);
    folder.write("checkpoint.part", made);
    folder.rename("checkpoint.part", "checkpoint");
  }
  group.barrier();
  return;
// [/solution-save]
