// Small and large batches for equal numbers of epochs: the runs of the study.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::experiments {

/// How the learning rate depends on the batch size.
enum class Recipe {
  constant,  ///< the smallest batch's rate for all batches
  scaled,    ///< the linear scaling rule: k times the batch, k times the rate
  warmed,    ///< the same with a linear warm-up
};
const char* name(Recipe recipe);

struct BatchSizeRuns {
  std::string arch = "resnet18";
  std::vector<int64_t> batches{64, 256, 1024};  ///< ascending
  double lr = 0.1;                              ///< for a batch of 256
  int epochs = 10, warmup_epochs = 2;
  std::string data;               ///< CIFAR-10's folder, or empty
  std::vector<std::string> more;  ///< additional arguments for all runs
};

/// One run. The smallest batch has only one: its recipes are identical.
struct BatchSizeRun {
  std::string name;  ///< resnet_s_1024_scaled
  int64_t batch = 0;
  Recipe recipe = Recipe::constant;
  double lr = 0;                   ///< for this batch, after scaling
  std::vector<std::string> words;  ///< arguments after `lockstep`: train …
};

/// Returns all runs: one device, equal numbers of epochs, a cosine schedule.
std::vector<BatchSizeRun> batch_size_runs(const BatchSizeRuns& options);

}  // namespace lockstep::experiments
