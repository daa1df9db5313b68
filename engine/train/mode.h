// The ways of sharing the work of training among devices.
#pragma once

namespace lockstep::train {

/// How work is distributed across devices.
enum class Mode {
  single,  ///< one device
  dp,      ///< DataParallel around the whole model
  /// Wraps only `model.features`, as the ImageNet example does for AlexNet and VGG.
  dp_features,
  /// DataParallelModel and DataParallelCriterion: outputs stay on their devices.
  dp_criterion,
  ddp,  ///< DistributedDataParallel: one of several ranks
  /// One of several ranks that train on their own and average their weights from time
  /// to time.
  local_sgd,
  /// Layers are on different devices; micro-batches pass through them as in a pipeline.
  model_parallel,
};

inline const char* name(Mode mode) {
  const char* const names[] = {"single", "dp",        "dp-features",   "dp-criterion",
                               "ddp",    "local-sgd", "model-parallel"};
  return names[static_cast<int>(mode)];
}

/// Returns whether each device belongs to a rank: a thread or a process with a model
/// and a share of the data of its own. In the other modes, one host thread drives all
/// devices.
inline bool has_ranks(Mode mode) {
  return mode == Mode::ddp || mode == Mode::local_sgd;
}

/// Returns whether DataParallel scatters the batch of the one host thread.
inline bool is_data_parallel(Mode mode) {
  return mode == Mode::dp || mode == Mode::dp_features || mode == Mode::dp_criterion;
}

}  // namespace lockstep::train
