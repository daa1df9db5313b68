// Small and large batches at equal epochs: which runs that takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::experiments {

/// How the learning rate follows the batch.
enum class Recipe {
  constant,  ///< the smallest batch's rate for all
  scaled,    ///< the linear scaling rule: k times the batch, k times the rate
  warmed,    ///< that, with a linear warm-up
};
const char* name(Recipe recipe);

struct BatchSizeRuns {
  std::string arch = "resnet18";
  std::vector<int64_t> batches{64, 256, 1024};  ///< ascending
  double lr = 0.1;                              ///< for a batch of 256
  int epochs = 10, warmup_epochs = 2;
  std::string data;               ///< CIFAR-10's folder, or empty
  std::vector<std::string> more;  ///< further words of all runs
};

/// One of them. The smallest batch has one run only: its recipes are the same.
struct BatchSizeRun {
  std::string name;  ///< resnet_s_1024_scaled
  int64_t batch = 0;
  Recipe recipe = Recipe::constant;
  double lr = 0;                   ///< of the batch, after scaling
  std::vector<std::string> words;  ///< after `lockstep`: train …
};

/// All runs: one device, equal epochs, a cosine schedule.
std::vector<BatchSizeRun> batch_size_runs(const BatchSizeRuns& options);

}  // namespace lockstep::experiments
