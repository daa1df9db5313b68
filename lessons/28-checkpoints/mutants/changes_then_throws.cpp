// rejected by: other_number
// because: check first, then change
//
// The misconception: an error may leave half of it.

// [solution-resume]
  const Checkpoint saved = folder.read("checkpoint");
  training.state = saved.state;
  if (saved.generators.size() != static_cast<size_t>(group.size)) {
    throw std::runtime_error("the checkpoint is of another number of ranks");
  }
  training.generator = saved.generators[group.rank];
  return;
// [/solution-resume]
