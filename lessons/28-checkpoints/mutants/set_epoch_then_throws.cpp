// rejected by: other_number
// because: the sampler's epoch afterwards
//
// The misconception: the sampler is not part of the training's state.

// [solution-resume]
  const Checkpoint saved = folder.read("checkpoint");
  training.set_epoch(saved.state.epoch);
  if (saved.generators.size() != static_cast<size_t>(group.size)) {
    throw std::runtime_error("the checkpoint is of another number of ranks");
  }
  training.state = saved.state;
  training.generator = saved.generators[group.rank];
  return;
// [/solution-resume]
