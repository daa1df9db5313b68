// `-a sparse`: logistic regression on sparse data, alone and by several workers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/data/safetensors.h"
#include "run/data_sets.h"
#include "run/environment.h"
#include "run/train.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;
using train::Mode;

RunConfig sparse_config(Mode mode, int workers) {
  RunConfig config;
  config.mode = mode;
  config.model.arch = "sparse";
  config.device.type = DeviceType::reference;
  config.device.dtype = DType::f64;
  config.device.count = workers;
  config.data.features = 64;
  config.data.nonzeros = 4;
  config.data.length = 32;
  config.data.workers = 0;
  config.recipe.batch_size = 2L * workers;
  config.recipe.epochs = 2;
  config.recipe.seed = 1;
  config.output.quiet = true;
  return config;
}

struct SparseResult {
  std::vector<double> weights;
  nlohmann::json summary;
};

SparseResult sparse_run(RunConfig config) {
  const fs::path stem =
      fs::temp_directory_path() / (std::to_string(::getpid()) + "-sparse");
  config.output.save = stem.string() + ".safetensors";
  config.output.summary = stem.string() + ".json";
  EXPECT_EQ(run_training(config), 0);
  SparseResult result;
  for (const auto& entry : data::read_safetensors(config.output.save)) {
    EXPECT_EQ(entry.name, "weight");
    const auto* values = reinterpret_cast<const double*>(entry.data.data());
    result.weights.assign(values, values + entry.data.size() / sizeof(double));
  }
  result.summary = nlohmann::json::parse(std::ifstream(config.output.summary));
  fs::remove(config.output.save);
  fs::remove(config.output.summary);
  return result;
}

/// The same problem without the engine: SGD on the samples in their order.
std::vector<double> by_hand(const RunConfig& config, double rate) {
  const DataSets data = open_data(config);
  const auto features = static_cast<size_t>(data.train->sample_shape()[0]);
  const auto batch = static_cast<size_t>(config.recipe.batch_size);
  std::vector<double> w(2 * features, 0);
  std::vector<float> x(features);
  for (int epoch = 0; epoch < config.recipe.epochs; ++epoch) {
    for (int64_t first = 0; first < data.train->size(); first += int64_t(batch)) {
      std::vector<double> gradient(w.size(), 0);
      for (int64_t i = first; i < first + int64_t(batch); ++i) {
        data::Draws draws(0, 0, i);
        const int64_t label = data.train->get(i, draws, x);
        double z = 0;  // of class 1 less that of class 0
        for (size_t j = 0; j < features; ++j) z += (w[features + j] - w[j]) * x[j];
        const double error = 1 / (1 + std::exp(-z)) - double(label);
        for (size_t j = 0; j < features; ++j) {
          gradient[features + j] += error * x[j] / double(batch);
          gradient[j] -= error * x[j] / double(batch);
        }
      }
      for (size_t j = 0; j < w.size(); ++j) w[j] -= rate * gradient[j];
    }
  }
  return w;
}

TEST(Sparse, IsLogisticRegressionByPlainSgd) {
  RunConfig config = sparse_config(Mode::single, 1);
  config.data.no_shuffle = true;
  const auto weights = sparse_run(config).weights;
  const auto expected = by_hand(config, 1);  // the default rate
  ASSERT_EQ(weights.size(), expected.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(weights[i], expected[i], 1e-9);
  }
}

TEST(Sparse, OneWorkerIsBitEqualToPlainSgd) {
  const auto plain = sparse_run(sparse_config(Mode::single, 1)).weights;
  for (const Mode mode : {Mode::hogwild, Mode::locked, Mode::ps}) {
    RunConfig config = sparse_config(mode, 1);
    config.ps.consistency = sharing::Consistency::async;
    EXPECT_EQ(sparse_run(config).weights, plain) << train::name(mode);
  }
}

/// A batch of 2 samples with 4 elements each changes at most 2 · 4 weights per class.
TEST(Sparse, AnUpdateChangesOnlyTheWeightsOfItsSamples) {
  const auto shared_model = [](int64_t nonzeros) {
    RunConfig config = sparse_config(Mode::hogwild, 1);
    config.data.nonzeros = nonzeros;
    return sparse_run(config).summary["shared_model"];
  };
  const auto sparse = shared_model(4), dense = shared_model(64);
  EXPECT_EQ(sparse["updates"], 2 * 32 / 2);
  EXPECT_EQ(sparse["elements"], 2 * 64);
  EXPECT_LE(sparse["mean_changed"], 16);
  EXPECT_GT(sparse["mean_changed"], 13);
  EXPECT_EQ(sparse["mean_conflicts"], 0) << "there is nobody else";
  EXPECT_GT(dense["mean_changed"], 120);
}

/// The mean loss of the training set.
double loss_of(const std::vector<double>& w, const RunConfig& config) {
  const DataSets data = open_data(config);
  const size_t features = w.size() / 2;
  std::vector<float> x(features);
  double sum = 0;
  for (int64_t i = 0; i < data.train->size(); ++i) {
    data::Draws draws(0, 0, i);
    const int64_t label = data.train->get(i, draws, x);
    double z = 0;
    for (size_t j = 0; j < features; ++j) z += (w[features + j] - w[j]) * x[j];
    sum += std::log1p(std::exp(label == 1 ? -z : z));
  }
  return sum / double(data.train->size());
}

TEST(Sparse, SeveralWorkersConvergeLikeOne) {
  const auto run = [](int workers, sharing::UpdateBy rule) {
    RunConfig config = sparse_config(Mode::hogwild, workers);
    config.data.features = 32;
    config.data.nonzeros = 2;
    config.data.length = 256;
    config.recipe.batch_size = 8L * workers;
    config.shared.update = rule;
    const SparseResult result = sparse_run(config);
    EXPECT_EQ(result.summary["shared_model"]["updates"], 2 * 256 / 8);
    return loss_of(result.weights, config);
  };
  const double alone = run(1, sharing::UpdateBy::store);
  EXPECT_LT(alone, std::log(2) - 0.1) << "at first it is log 2";
  EXPECT_NEAR(run(4, sharing::UpdateBy::store), alone, 0.1);
  EXPECT_NEAR(run(4, sharing::UpdateBy::fetch_add), alone, 0.1);
}

std::string why_not_sparse(const std::function<void(RunConfig&)>& change) {
  RunConfig config = sparse_config(Mode::hogwild, 2);
  change(config);
  try {
    run_training(config);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Sparse, SaysWhatIsImpossible) {
  const std::pair<const char*, std::function<void(RunConfig&)>> cases[] = {
      {"--momentum changes weights whose gradient is 0",
       [](RunConfig& c) { c.given = {"--momentum"}; }},
      {"--weight-decay changes weights",
       [](RunConfig& c) { c.given = {"--weight-decay"}; }},
      {"--optimizer changes weights",
       [](RunConfig& c) { c.recipe.optimizer = OptimizerKind::adam; }},
      {"--nonzeros 65: a sample has only 64 features",
       [](RunConfig& c) { c.data.nonzeros = 65; }},
      {"--classes has no effect on sparse samples",
       [](RunConfig& c) { c.data.classes = 3; }},
      {"-a sparse generates its samples", [](RunConfig& c) { c.data.dir = "/data"; }},
      {"-a sparse requires --dataset sparse",
       [](RunConfig& c) { c.data.kind = DataKind::generated; }},
      {"--dataset sparse requires -a sparse",
       [](RunConfig& c) {
         c.model.arch = "resnet18";
         c.data.kind = DataKind::sparse;
       }},
      {"--nonzeros has no effect on -a resnet18",
       [](RunConfig& c) {
         c.model.arch = "resnet18";
         c.given = {"--nonzeros"};
       }},
      {"-a sparse has a single layer",
       [](RunConfig& c) { c.mode = Mode::model_parallel; }}};
  for (const auto& [message, change] : cases) {
    EXPECT_NE(why_not_sparse(change).find(message), std::string::npos)
        << message << " is not in: " << why_not_sparse(change);
  }
}

}  // namespace
}  // namespace lockstep::run
