// The data sets and loaders of a run, and the handling of bad image files.
#pragma once

#include <memory>
#include <string>

#include "engine/data/loader.h"
#include "run/config.h"
#include "run/rank_place.h"

namespace lockstep::run {

struct DataSets {
  std::string name;   ///< `cifar10`, …; `generated` for generated data of any format
  std::string place;  ///< the folder or other source of the samples
  std::shared_ptr<const data::Dataset> train, test;
  std::string classes = "";   ///< for image folders: " of 63 classes; …"
  std::string left_out = "";  ///< for image folders: "12 files (10 .bmp, 2 .webp): …"
  std::string hidden_classes = "";  ///< … whose names begin with a dot
};

/// Opens the data sets named by the options. Image folders are DIR/train/<class>/* and
/// DIR/val/<class>/*, with the ImageNet example's transforms; the labels of both are
/// indices into the classes of train/. Throws UsageError, or std::runtime_error naming
/// what is missing.
DataSets open_data(const RunConfig& config);

/// Throws UsageError if the model and the data set do not belong together: `toy` and
/// `random`, `sparse` and `sparse`; all others are interchangeable.
void require_fitting_data(const RunConfig& config, const DataSets& data);

/// Returns one rank's batches of the training set, shuffled unless disabled; the ranks
/// of a pipeline have the same. With
/// `--partition all`, the rank has an order of its own of the whole set.
std::unique_ptr<data::DataLoader> train_loader(const RunConfig& config,
                                               const DataSets& data,
                                               const RankPlace& place);

/// Returns how many images all ranks together train on in an epoch, without padding.
int64_t images_per_epoch(const RunConfig& config, const DataSets& data,
                         const RankPlace& place);

/// The evaluation data: with several ranks, the share of one rank and, as `rest`, the
/// remainder that every rank evaluates.
struct TestLoaders {
  std::unique_ptr<data::DataLoader> share, rest;
};
TestLoaders test_loaders(const RunConfig& config, const DataSets& data,
                         const RankPlace& place);

/// Returns the number of images that this process has skipped (`--on-bad-image skip`).
/// Thread-safe.
int64_t skipped_images();

}  // namespace lockstep::run
