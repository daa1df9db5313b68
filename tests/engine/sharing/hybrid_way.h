// `--mode hybrid` as a way of training, for nets with features and a classifier.
#pragma once

#include "engine/sharing/hybrid_update.h"
#include "engine/train/trainer.h"
#include "tests/engine/sharing/ways.h"

namespace lockstep::test {

/// A model in hybrid mode, with what trains it.
struct Hybrid {
  nn::ModulePtr model;
  std::shared_ptr<sharing::HybridFeatures> features;
  std::unique_ptr<sharing::HybridUpdate> update;

  explicit Hybrid(const Problem& problem)
      : model(problem.model(reference(0))),
        features(train::make_hybrid(*model, devices(problem.devices))),
        update(std::make_unique<sharing::HybridUpdate>(features, "features.",
                                                       problem.optimizer)) {
    model->assign_paths("");
  }
};

/// Images stay on the host, labels go to the classifier.
inline Batch for_hybrid(const Hybrid& hybrid, Batch batch) {
  batch.labels = on(hybrid.features->classifier(), batch.labels);
  return batch;
}

/// The features on `problem.devices` − 1 devices, the classifier on the last. The net
/// must be a models::FeatureModel, such as make_small_vgg's.
inline Outcome by_hybrid(const Problem& problem) {
  ops::manual_seed(1);
  const Hybrid hybrid(problem);
  return train(problem, hybrid.model, hybrid.model,
               {.accuracy = false, .hybrid = hybrid.update.get()},
               [&](size_t i) { return for_hybrid(hybrid, problem.batch(i)); });
}

/// DataParallel around the features, on `count` devices.
inline Outcome by_dp_features(const Problem& problem, int count) {
  ops::manual_seed(1);
  const nn::ModulePtr model = problem.model(reference(0));
  train::feature_wrapper()(*model, devices(count));
  return train(problem, model, model, {.accuracy = false}, [&](size_t i) {
    Batch batch = problem.batch(i);
    batch.labels = on(reference(0), batch.labels);
    return batch;
  });
}

}  // namespace lockstep::test
