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
  hogwild,  ///< one of several workers that train one model in host memory
  locked,   ///< the same, with a lock on the model
  ps,       ///< parameter servers: one of several workers, each a rank
  /// Layers are on different devices; micro-batches pass through them as in a pipeline.
  model_parallel,
  /// The features are data-parallel on all devices but the last, which has the rest.
  hybrid,
};

inline const char* name(Mode mode) {
  const char* const names[] = {
      "single",  "dp",     "dp-features", "dp-criterion",   "ddp",   "local-sgd",
      "hogwild", "locked", "ps",          "model-parallel", "hybrid"};
  return names[static_cast<int>(mode)];
}

/// Returns whether ranks train one model in host memory, each at its own pace: they
/// meet only to evaluate.
inline bool shares_memory(Mode mode) {
  return mode == Mode::hogwild || mode == Mode::locked;
}

/// Returns whether each device belongs to a rank: a thread or a process with a model
/// and a share of the data of its own. In the other modes, one host thread drives all
/// devices.
inline bool has_ranks(Mode mode) {
  return mode == Mode::ddp || mode == Mode::local_sgd || mode == Mode::ps ||
         shares_memory(mode);
}

/// Returns whether ranks can be processes. Those of a pipeline share a batch and a
/// model, of which each has some layers; without processes, one thread drives them.
inline bool can_have_ranks(Mode mode) {
  return has_ranks(mode) || mode == Mode::model_parallel;
}

/// Returns whether DataParallel scatters the batch of the one host thread.
inline bool is_data_parallel(Mode mode) {
  return mode == Mode::dp || mode == Mode::dp_features || mode == Mode::dp_criterion;
}

}  // namespace lockstep::train
