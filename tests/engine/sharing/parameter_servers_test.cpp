// Parameter servers with tensors: ps-lite's oracle, and the same updates as one
// optimizer makes, however the keys are divided.
// sanitize: address thread
#include "engine/sharing/parameter_servers.h"

#include <gtest/gtest.h>

#include <thread>

#include "engine/ops/copy.h"
#include "engine/runtime/device_context.h"
#include "tests/engine/values.h"

namespace lockstep::sharing {
namespace {

constexpr DeviceType kType = DeviceType::reference;

/// Three parameters with 6 + 1 + 5 = 12 keys, on the worker's device.
Parameters make_parameters(int worker) {
  Parameters parameters;
  for (const auto& [name, sizes] :
       {std::pair{"a", Shape{2, 3}}, {"b", Shape{1}}, {"c", Shape{5}}}) {
    parameters.push_back({name, Tensor::empty(sizes, {kType, worker}, DType::f64)});
  }
  return parameters;
}

Tensor flat(const std::vector<double>& values, int worker) {
  return test::on({kType, worker},
                  Tensor::from(values, {int64_t(values.size())}, DType::f64));
}

std::vector<double> ramp(double factor) {
  std::vector<double> values;
  for (int i = 0; i < 12; ++i) values.push_back(factor * (i + 1));
  return values;
}

std::vector<Device> devices(int servers, int after) {
  std::vector<Device> all;
  for (int k = 0; k < servers; ++k) all.push_back({kType, after + k});
  return all;
}

std::vector<double> pulled(ParameterServers& servers, int worker) {
  const Tensor into = flat(ramp(0), worker);
  servers.pull(worker, into);
  return test::values_of(into);
}

/// ps-lite's tests/test_kv_app.cc: the same values are pushed r times; what is pulled
/// is their sum. A server whose optimizer adds: SGD with learning rate -1.
TEST(Servers, AddWhatIsPushed) {
  for (const int count : {1, 2, 5, 12}) {
    ParameterServers servers(devices(count, 1), 1, {Consistency::async});
    servers.begin(make_parameters(0), flat(ramp(0), 0), optim::SgdOptions{-1, 0, 0},
                  {});
    constexpr int kTimes = 7;
    for (int i = 0; i < kTimes; ++i) servers.push(0, flat(ramp(0.5), 0), -1);
    EXPECT_EQ(pulled(servers, 0), ramp(0.5 * kTimes)) << count;
    for (int i = 0; i < kTimes; ++i) {
      servers.push(0, flat(ramp(0.5), 0), -1);
      pulled(servers, 0);
    }
    EXPECT_EQ(pulled(servers, 0), ramp(0.5 * 2 * kTimes)) << count;
  }
}

TEST(Servers, MustNotBeMoreThanKeys) {
  ParameterServers servers(devices(13, 1), 1, {});
  EXPECT_THROW(
      servers.begin(make_parameters(0), flat(ramp(0), 0), optim::SgdOptions{}, {}),
      std::runtime_error);
}

/// Two workers, each a thread; the mean of both gradients is one update.
TEST(Servers, SyncTakesTheMeanOfThreads) {
  ParameterServers servers(devices(3, 2), 2, {Consistency::sync});
  std::vector<std::thread> workers;
  std::vector<std::vector<double>> seen(2);
  for (int w = 0; w < 2; ++w) {
    workers.emplace_back([&, w] {
      servers.begin(make_parameters(w), flat(ramp(1), w), optim::SgdOptions{0.5, 0, 0},
                    {});
      for (int step = 0; step < 3; ++step) {
        pulled(servers, w);
        servers.push(w, flat(ramp(w == 0 ? 1 : 3), w), 0.5);
      }
      seen[w] = pulled(servers, w);
      servers.leave(w);
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(seen[0], ramp(1 - 3 * 0.5 * 2));
  EXPECT_EQ(seen[1], seen[0]);
}

/// Momentum and Adam's count are divided among servers, and joined again.
TEST(Servers, KeepTheStateOfTheOptimizer) {
  const auto run = [](int servers, int first, int last, const Tensor& weights,
                      const Parameters& state) {
    ParameterServers all(devices(servers, 1), 1, {Consistency::async});
    all.begin(make_parameters(0), weights, optim::AdamOptions{0.1}, state);
    for (int i = first; i < last; ++i) all.push(0, flat(ramp(i + 1), 0), 0.1);
    return std::pair(pulled(all, 0), all.state());
  };
  const auto [whole, state] = run(1, 0, 4, flat(ramp(1), 0), {});
  ASSERT_EQ(state.size(), 9u);  // three parts of three parameters
  const auto [half, saved] = run(5, 0, 2, flat(ramp(1), 0), {});
  const auto [resumed, end] = run(3, 2, 4, flat(half, 0), saved);
  EXPECT_EQ(resumed, whole);
  for (size_t i = 0; i < state.size(); ++i) {
    EXPECT_EQ(end[i].name, state[i].name);
    EXPECT_EQ(end[i].value.sizes(), state[i].value.sizes());
    if (end[i].value.dtype() != DType::f64) {
      EXPECT_EQ(*end[i].value.data<int64_t>(), 4);
      continue;
    }
    EXPECT_EQ(test::values_of(end[i].value), test::values_of(state[i].value));
  }
}

TEST(Servers, AFailedWorkerEndsTheWaitingOfThreads) {
  ParameterServers servers(devices(1, 2), 2, {Consistency::sync});
  servers.begin(make_parameters(0), flat(ramp(1), 0), optim::SgdOptions{}, {});
  std::string said;
  std::thread worker([&] {
    try {
      for (;;) {
        pulled(servers, 0);
        servers.push(0, flat(ramp(1), 0), 0.1);
      }
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
  });
  servers.abort("rank 1 failed: of itself");
  worker.join();
  EXPECT_EQ(said, "rank 1 failed: of itself");
}

}  // namespace
}  // namespace lockstep::sharing
