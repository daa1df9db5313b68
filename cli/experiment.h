// `lockstep experiment`: the seed's studies.
#pragma once

#include "cli/experiment_run.h"

namespace lockstep::cli {

struct ImageNetOptions {
  ExperimentOptions common;
  int64_t image_size = 0;  ///< 0: 224, on CPUs 32
  int64_t length = 4096;   ///< training pictures of a generated set
  int64_t divide_batches = 1, steps = 0;
};

struct BatchSizeOptions {
  ExperimentOptions common;
  std::vector<int64_t> batches{64, 256, 1024};
  double lr = 0.1;  ///< of batches of 256
  int warmup_epochs = 2;
  bool augment = false;
  std::string stem = "imagenet";
  int64_t length = 5000;  ///< training pictures of a generated set
};

/// All return the exit code. Throw UsageError or std::runtime_error.
int run_imagenet_table(const ImageNetOptions& options);
int run_batch_size(const BatchSizeOptions& options);

}  // namespace lockstep::cli
