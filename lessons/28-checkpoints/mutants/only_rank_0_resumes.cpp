// rejected by: to_each_its_own
// because: nobody hands out what rank 0 has read
//
// The misconception: rank 0 reads, DDP broadcasts the rest.

// [solution-resume]
  if (group.rank != 0) return;
  const Checkpoint saved = folder.read("checkpoint");
  if (saved.generators.size() != static_cast<size_t>(group.size)) {
    throw std::runtime_error("the checkpoint is of another number of ranks");
  }
  training.state = saved.state;
  training.generator = saved.generators[group.rank];
  return;
// [/solution-resume]
