// rejected by: to_each_its_own
// because: this is rank 0's
//
// The misconception: all ranks resume with the generator of rank 0.

// [solution-resume]
  const Checkpoint saved = folder.read("checkpoint");
  if (saved.generators.size() != static_cast<size_t>(group.size)) {
    throw std::runtime_error("the checkpoint is of another number of ranks");
  }
  training.state = saved.state;
  training.generator = saved.generators[0];
  return;
// [/solution-resume]
