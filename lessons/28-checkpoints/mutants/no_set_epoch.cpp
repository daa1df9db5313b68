// rejected by: one_run
// because: set_epoch before the first step of each epoch
//
// The misconception: the sampler knows its epoch.

// [solution-train]
  State& state = training.state;
  while (state.epoch < epochs) {
    while (state.step < training.batches) {
      training.step(state.step);
      ++state.step;
      const bool ends = state.step == training.batches;
      if (state.step % every == 0 && !ends) save(group, folder, training);
    }
    ++state.epoch;
    state.step = 0;
    save(group, folder, training);
  }
  return;
// [/solution-train]
