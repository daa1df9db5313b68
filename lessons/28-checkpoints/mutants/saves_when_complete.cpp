// rejected by: already_complete
// because: belongs to a step or to the end of an epoch
//
// The misconception: train ends with a save, whatever it did.

// [solution-train]
  State& state = training.state;
  while (state.epoch < epochs) {
    training.set_epoch(state.epoch);
    while (state.step < training.batches) {
      training.step(state.step);
      ++state.step;
      const bool ends = state.step == training.batches;
      if (state.step % every == 0 && !ends) save(group, folder, training);
    }
    ++state.epoch;
    state.step = 0;
    if (state.epoch < epochs) save(group, folder, training);
  }
  save(group, folder, training);
  return;
// [/solution-train]
