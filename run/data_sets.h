// A run's data sets and loaders, and what is done about bad image files.
#pragma once

#include <memory>
#include <string>

#include "engine/data/loader.h"
#include "run/config.h"
#include "run/rank_place.h"

namespace lockstep::run {

struct DataSets {
  std::string name;   ///< `cifar10`; `generated` also for a generated set in its format
  std::string place;  ///< the folder, or where else the samples come from
  std::shared_ptr<const data::Dataset> train, test;
  std::string classes = "";  ///< image folders: " of 63 classes; …"
};

/// Opens what the options name. Image folders are DIR/train/<class>/* and
/// DIR/val/<class>/*, with the ImageNet example's transforms; labels of both are
/// positions among the classes of train/. Throws UsageError, or std::runtime_error
/// naming what is missing.
DataSets open_data(const RunConfig& config);

/// One rank's batches of the training set, shuffled unless told otherwise.
std::unique_ptr<data::DataLoader> train_loader(const RunConfig& config,
                                               const DataSets& data,
                                               const RankPlace& place);

/// What is evaluated: with ranks, one rank's share and, as `rest`, the remainder that
/// every rank evaluates.
struct TestLoaders {
  std::unique_ptr<data::DataLoader> share, rest;
};
TestLoaders test_loaders(const RunConfig& config, const DataSets& data,
                         const RankPlace& place);

/// How many images this process has skipped so far (`--on-bad-image skip`).
/// Thread-safe.
int64_t skipped_images();

}  // namespace lockstep::run
