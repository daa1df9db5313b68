// rejected by: other_number
// because: it would train, and not be the same run
//
// The misconception: another number of ranks is no problem.

// [solution-resume]
  const Checkpoint saved = folder.read("checkpoint");
  training.state = saved.state;
  training.generator = saved.generators[group.rank % saved.generators.size()];
  return;
// [/solution-resume]
