// rejected by: same_bits
// because: count a step before the save
//
// The misconception: the step is counted after it is saved.

// [solution-train]
  State& state = training.state;
  while (state.epoch < epochs) {
    training.set_epoch(state.epoch);
    while (state.step < training.batches) {
      training.step(state.step);
      const bool ends = state.step + 1 == training.batches;
      if ((state.step + 1) % every == 0 && !ends) save(group, folder, training);
      ++state.step;
    }
    ++state.epoch;
    state.step = 0;
    save(group, folder, training);
  }
  return;
// [/solution-train]
