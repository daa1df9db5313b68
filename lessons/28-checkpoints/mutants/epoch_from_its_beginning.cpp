// rejected by: same_bits
// because: are made again
//
// The misconception: a resumed epoch begins again.

// [solution-train]
  State& state = training.state;
  while (state.epoch < epochs) {
    training.set_epoch(state.epoch);
    state.step = 0;
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
