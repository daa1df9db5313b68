// rejected by: other_number
// because: epoch and step afterwards
//
// The misconception: only the weights must not change.

// [solution-resume]
  const Checkpoint saved = folder.read("checkpoint");
  training.state.epoch = saved.state.epoch;
  training.state.step = saved.state.step;
  if (saved.generators.size() != static_cast<size_t>(group.size)) {
    throw std::runtime_error("the checkpoint is of another number of ranks");
  }
  training.state = saved.state;
  training.generator = saved.generators[group.rank];
  return;
// [/solution-resume]
