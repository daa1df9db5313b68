// rejected by: already_complete
// because: how many there are in total
//
// The misconception: there is always an epoch to train.

// [solution-train]
  State& state = training.state;
  do {
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
  } while (state.epoch < epochs);
  return;
// [/solution-train]
