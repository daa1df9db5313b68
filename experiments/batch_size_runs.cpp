#include "experiments/batch_size.h"

#include <fmt/format.h>

#include "experiments/imagenet.h"

namespace lockstep::experiments {
namespace {

constexpr double kBatchOfLr = 256;  ///< as in train --scale-lr

BatchSizeRun make(const BatchSizeRuns& o, int64_t batch, Recipe recipe) {
  const bool scaled = recipe != Recipe::constant;
  const auto lr_of = [&o](int64_t size) {
    return o.lr * static_cast<double>(size) / kBatchOfLr;
  };
  BatchSizeRun run;
  run.batch = batch;
  run.recipe = recipe;
  run.lr = lr_of(scaled ? batch : o.batches.front());
  run.name = fmt::format("{}_s_{}", family(o.arch), batch);
  if (scaled) run.name += std::string("_") + name(recipe);
  run.words = {"train"};
  if (!o.data.empty()) run.words.push_back(o.data);
  for (const auto& [flag, value] : std::vector<std::pair<std::string, std::string>>{
           {"-a", o.arch},
           {"--gpu", "0"},
           {"--batch-size", fmt::to_string(batch)},
           {"--epochs", fmt::to_string(o.epochs)},
           {"--schedule", "cosine"},
           {"--lr", fmt::format("{:g}", scaled ? o.lr : run.lr)}}) {
    run.words.insert(run.words.end(), {flag, value});
  }
  if (scaled) run.words.push_back("--scale-lr");
  if (recipe == Recipe::warmed) {
    run.words.insert(run.words.end(),
                     {"--warmup-epochs", fmt::to_string(o.warmup_epochs)});
  }
  run.words.insert(run.words.end(), o.more.begin(), o.more.end());
  return run;
}

}  // namespace

const char* name(Recipe recipe) {
  return recipe == Recipe::constant ? "constant"
         : recipe == Recipe::scaled ? "scaled"
                                    : "warmed";
}

std::vector<BatchSizeRun> batch_size_runs(const BatchSizeRuns& o) {
  std::vector<BatchSizeRun> runs;
  for (const int64_t batch : o.batches) {
    runs.push_back(make(o, batch, Recipe::constant));
    if (batch == o.batches.front()) continue;
    runs.push_back(make(o, batch, Recipe::scaled));
    runs.push_back(make(o, batch, Recipe::warmed));
  }
  return runs;
}

}  // namespace lockstep::experiments
