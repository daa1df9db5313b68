// rejected by: other_number
// because: std::runtime_error was expected
//
// The misconception: any exception will do.

// [solution-resume]
  const Checkpoint saved = folder.read("checkpoint");
  if (saved.generators.size() != static_cast<size_t>(group.size)) {
    throw std::invalid_argument("the checkpoint is of another number of ranks");
  }
  training.state = saved.state;
  training.generator = saved.generators[group.rank];
  return;
// [/solution-resume]
