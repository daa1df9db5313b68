// rejected by: already_complete
// because: also those that were made before
//
// The misconception: a resumed program makes `epochs` epochs, too.

// [solution-train]
  State& state = training.state;
  for (int i = 0; i < epochs; ++i) {
    training.set_epoch(state.epoch);
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
