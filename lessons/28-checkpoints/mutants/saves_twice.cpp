// rejected by: one_run
// because: once if it is both
//
// The misconception: a save more does no harm.

// [solution-train]
  State& state = training.state;
  while (state.epoch < epochs) {
    training.set_epoch(state.epoch);
    while (state.step < training.batches) {
      training.step(state.step);
      ++state.step;
      if (state.step % every == 0) save(group, folder, training);
    }
    ++state.epoch;
    state.step = 0;
    save(group, folder, training);
  }
  return;
// [/solution-train]
