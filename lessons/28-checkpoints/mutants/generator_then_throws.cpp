// rejected by: other_number
// because: the generator afterwards
//
// The misconception: a generator more or less does no harm.

// [solution-resume]
  const Checkpoint saved = folder.read("checkpoint");
  training.generator = saved.generators[group.rank % saved.generators.size()];
  if (saved.generators.size() != static_cast<size_t>(group.size)) {
    throw std::runtime_error("the checkpoint is of another number of ranks");
  }
  training.state = saved.state;
  training.generator = saved.generators[group.rank];
  return;
// [/solution-resume]
