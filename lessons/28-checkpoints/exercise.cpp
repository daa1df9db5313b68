// Lesson 28: checkpoints and metrics across ranks. Who writes, who waits, what has to
// be in the file, and what an evaluation by several ranks adds up.
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lessons/plugin.h"

using namespace lockstep;

/// What a rank does together with the others. Each of the three is a collective: it
/// returns when all ranks have called it. (Do not change this struct.)
struct Group {
  int rank = 0, size = 1;
  std::function<void()> barrier;
  std::function<double(double)> sum;                    ///< of the numbers of all ranks
  std::function<std::vector<int64_t>(int64_t)> gather;  ///< by rank, on all ranks
};

/// What is the same on all ranks between two steps. (Do not change this struct.)
struct State {
  int epoch = 0;  ///< the epoch in progress
  int step = 0;   ///< how many steps of it have been made
  std::vector<double> weights, momentum;
};

/// What is in a checkpoint's file. (Do not change this struct.)
struct Checkpoint {
  State state;
  std::vector<int64_t> generators;  ///< by rank
};

/// A folder that all ranks see. (Do not change this struct.)
struct Folder {
  /// Takes long. Until it returns, the file is incomplete, and read returns garbage.
  std::function<void(const std::string& name, const Checkpoint&)> write;
  std::function<Checkpoint(const std::string& name)> read;
  /// Replaces a file that has the new name, at once: there is always one or the other.
  std::function<void(const std::string& name, const std::string& new_name)> rename;
};

/// This rank's training. (Do not change this struct.)
struct Training {
  State state;
  /// Of the random numbers that this rank draws for dropout: another one on each rank.
  int64_t generator = 0;
  /// As in DistributedSampler. A new program is in epoch 0.
  std::function<void(int epoch)> set_epoch;
  int batches = 0;  ///< of an epoch, on every rank
  /// Trains with batch number `batch` of the epoch's order, from 0. Changes `weights`,
  /// `momentum` and `generator`, and nothing else of the above. A collective.
  std::function<void(int batch)> step;
};

/// Saves a checkpoint as the file `checkpoint`. All ranks call it, and it returns on
/// each of them when the file is complete. Only rank 0 writes. If the program is killed
/// in the middle, the previous `checkpoint` is still there, whole: the new one is
/// written as `checkpoint.part`, and then renamed.
void save(const Group& group, const Folder& folder, const Training& training) {
  // [solution-save]
  const std::vector<int64_t> generators = group.gather(training.generator);
  if (group.rank == 0) {
    folder.write("checkpoint.part", {training.state, generators});
    folder.rename("checkpoint.part", "checkpoint");
  }
  group.barrier();
  return;
  // [/solution-save]
  lessons::not_written("save: what does each rank know, who writes, who waits?");
}

/// Continues from the file `checkpoint`, which is complete. All ranks call it, each in
/// a new program. Throws std::runtime_error, on all ranks, if the checkpoint is of
/// another number of ranks, and changes nothing of `training` then.
void resume(const Group& group, const Folder& folder, Training& training) {
  // [solution-resume]
  const Checkpoint saved = folder.read("checkpoint");
  if (saved.generators.size() != static_cast<size_t>(group.size)) {
    throw std::runtime_error("the checkpoint is of another number of ranks");
  }
  training.state = saved.state;
  training.generator = saved.generators[group.rank];
  return;
  // [/solution-resume]
  lessons::not_written("resume: what has this rank to take from the file?");
}

/// Trains from where `training.state` is until `epochs` epochs are complete, and keeps
/// `state.epoch` and `state.step` up to date. Saves after every step whose number in
/// its epoch, counted from 1, is a multiple of `every`, and at the end of each epoch;
/// only once if it is both. If all epochs are complete already, nothing is left to do.
///
/// A run that is killed and resumed ends with the same bits as one that was not.
void train(const Group& group, const Folder& folder, Training& training, int epochs,
           int every) {
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
    save(group, folder, training);
  }
  return;
  // [/solution-train]
  lessons::not_written("train: in which epoch, from which batch on, and when to save?");
}

/// A batch that this rank has evaluated, sample by sample. (Do not change this struct.)
struct Batch {
  std::vector<double> losses;
  std::vector<int> correct;  ///< 1 or 0
  std::vector<int> padding;  ///< 1 for a sample that another place has read already
};

struct Metrics {
  double loss = 0, accuracy = 0;  ///< accuracy: from 0 to 1
};

/// Returns the mean loss and the accuracy over all samples of all ranks' batches,
/// without padding: the same numbers on all ranks. Batches, and the numbers of them,
/// may differ between ranks, and a rank may have none; all ranks together have at least
/// one sample.
Metrics evaluate(const Group& group, const std::vector<Batch>& batches) {
  // [solution-evaluate]
  double loss = 0, correct = 0, samples = 0;
  for (const Batch& batch : batches) {
    for (size_t i = 0; i < batch.losses.size(); ++i) {
      if (batch.padding[i]) continue;
      loss += batch.losses[i];
      correct += batch.correct[i];
      samples += 1;
    }
  }
  loss = group.sum(loss);
  correct = group.sum(correct);
  samples = group.sum(samples);
  return {loss / samples, correct / samples};
  // [/solution-evaluate]
  lessons::not_written("evaluate: what do ranks add up, and who divides by what?");
}

// The tests find your code through these functions; do not change them.
extern "C" void lesson_save(const Group& group, const Folder& folder,
                            const Training& training) {
  save(group, folder, training);
}
extern "C" void lesson_resume(const Group& group, const Folder& folder,
                              Training& training) {
  resume(group, folder, training);
}
extern "C" void lesson_train(const Group& group, const Folder& folder,
                             Training& training, int epochs, int every) {
  train(group, folder, training, epochs, every);
}
extern "C" void lesson_evaluate(const Group& group, const std::vector<Batch>& batches,
                                double& loss, double& accuracy) {
  const Metrics metrics = evaluate(group, batches);
  loss = metrics.loss;
  accuracy = metrics.accuracy;
}

LOCKSTEP_LESSON(28) {}
