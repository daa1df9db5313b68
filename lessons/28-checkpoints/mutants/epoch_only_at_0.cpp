// rejected by: same_bits
// because: set_epoch also in the middle of an epoch
//
// The misconception: set_epoch is for new epochs.

// [solution-train]
  State& state = training.state;
  while (state.epoch < epochs) {
    if (state.step == 0) training.set_epoch(state.epoch);
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
