// The studies of `lockstep experiment`: their options and entry points.
#pragma once

#include "engine/models/resnet.h"
#include "experiments/study.h"

namespace lockstep::experiments {

struct ImageNetStudy {
  StudyOptions common;
  int64_t image_size = 0;  ///< 0: 224, or 32 on CPUs
  int64_t length = 4096;   ///< training images of a generated set
  int64_t divide_batches = 1;
  int64_t steps = 0;  ///< 0: all; on emulated devices kEmulatedSteps

  static constexpr int64_t kEmulatedSteps = 6;
};

struct BatchSizeStudy {
  StudyOptions common;
  std::vector<int64_t> batches{64, 256, 1024};
  double lr = 0.1;  ///< for batches of 256
  int warmup_epochs = 2;
  bool augment = false;
  models::Stem stem = models::Stem::imagenet;
  int64_t length = 5000;  ///< training images of a generated set
};

struct ScalingStudy {
  StudyOptions common;
  int64_t batch = 128;  ///< on each device
  std::vector<int64_t> devices{1, 2, 4};
  int64_t steps = 5;  ///< recorded, after two warm-up steps
  int64_t image_size = 32;
  models::Stem stem = models::Stem::imagenet;
  double compute_scale = 1, link_gb_per_s = 12;  ///< for the emulated clock
};

/// All return the exit code and throw UsageError or std::runtime_error.
int run_imagenet_table(const ImageNetStudy& options);
int run_batch_size(const BatchSizeStudy& options);
int run_scaling(const ScalingStudy& options);

}  // namespace lockstep::experiments
