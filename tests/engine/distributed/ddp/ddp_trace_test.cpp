// The trace of DistributedDataParallel: each bucket names the gradients it waits for,
// starts before backward ends, and takes 2(N−1) messages.
// sanitize: thread
#include <algorithm>
#include <filesystem>
#include <map>

#include "tests/engine/distributed/nets.h"
#include "tracer/format/args.h"
#include "tracer/record/collect.h"

namespace lockstep {
namespace {

using distributed::DdpOptions;
using distributed::DistributedDataParallel;
using test::Batch;
using test::Rank;
using test::Wire;
using tracer::Event;
using Events = std::vector<Event>;

constexpr int kTracedSteps = 2;

/// Records two steps of the deep net with several buckets. Step 1 uses rebuilt buckets.
Events record(const test::World& world) {
  DdpOptions options;
  options.reducer.bucket_cap = 40;
  options.reducer.rule = plan::BucketRule::torch_1_11;
  tracer::start_recording();
  test::on_ranks(world, [&](Rank& rank) {
    tracer::set_step(tracer::kNone);
    const nn::ModulePtr model = test::in_double(test::make_deep_net);
    model->to(rank.device);
    DistributedDataParallel ddp(model, rank.group, options);
    const Batch mine = Batch::golden(12, {5}, 3).share(rank).on(rank.device);
    for (int step = 0; step < kTracedSteps; ++step) {
      tracer::set_step(step);
      for (const Tensor& parameter : model->parameters()) parameter.set_grad({});
      ops::cross_entropy(ddp(mine.images), mine.labels).backward();
    }
  });
  tracer::stop_recording();
  return tracer::collect();
}

/// The all-reduces of a rank's buckets in a step, in order of launch.
std::vector<const Event*> buckets(const Events& events, int rank, int step) {
  std::vector<const Event*> found;
  for (const Event& event : events) {
    if (event.is("collective") && event.args.contains("bucket") &&
        event.pid / 100 == rank && event.step == step) {
      found.push_back(&event);
    }
  }
  std::sort(found.begin(), found.end(), [](const Event* a, const Event* b) {
    return a->args["seq"] < b->args["seq"];
  });
  return found;
}

/// Maps each parameter to the kernel that computed its gradient.
std::map<std::string, int64_t> ready(const Events& events, int rank, int step) {
  std::map<std::string, int64_t> found;
  for (const Event& event : events) {
    if (event.name != "grad_ready" || event.pid / 100 != rank || event.step != step) {
      continue;
    }
    EXPECT_TRUE(event.args.contains("by")) << event.args.json().dump();
    found[tracer::string_arg(event.args, "param")] =
        tracer::int_arg(event.args, "by", tracer::kNone);
  }
  return found;
}

TEST(DdpTrace, EachBucketWaitsForItsGradientsByName) {
  const Events events = record({3});
  for (int rank = 0; rank < 3; ++rank) {
    for (int step = 0; step < kTracedSteps; ++step) {
      const auto by = ready(events, rank, step);
      EXPECT_EQ(by.size(), 10u);
      size_t params = 0;
      for (const Event* bucket : buckets(events, rank, step)) {
        for (const std::string name : bucket->args["params"]) {
          ++params;
          ASSERT_TRUE(by.contains(name)) << name;
          EXPECT_EQ(std::count(bucket->deps.begin(), bucket->deps.end(), by.at(name)),
                    1)
              << "rank " << rank << ", step " << step << ": " << bucket->args["tensor"]
              << " does not wait for the gradient of " << name;
        }
      }
      EXPECT_EQ(params, 10u);
    }
  }
}

TEST(DdpTrace, BucketsLeaveInOrderAndBeforeBackwardIsOver) {
  const Events events = record({2});
  for (int rank = 0; rank < 2; ++rank) {
    for (int step = 0; step < kTracedSteps; ++step) {
      const auto launched = buckets(events, rank, step);
      ASSERT_GE(launched.size(), 2u);
      for (size_t i = 0; i < launched.size(); ++i) {
        EXPECT_EQ(launched[i]->args["bucket"], i);
      }
      // Kernels are numbered in the order in which the autograd thread enqueues them.
      int64_t last_gradient = 0;
      for (const auto& [name, kernel] : ready(events, rank, step)) {
        last_gradient = std::max(last_gradient, kernel);
      }
      const auto& deps = launched[0]->deps;
      EXPECT_LT(*std::max_element(deps.begin(), deps.end()), last_gradient)
          << "rank " << rank << ", step " << step << ": bucket 0 waits for all";
    }
  }
}

/// The file that the first event of this category and name names; "" if none.
std::string source_of(const Events& events, const char* cat, const char* name) {
  for (const Event& event : events) {
    if (event.is(cat) && event.name == name) {
      return tracer::string_arg(event.args, "file");
    }
  }
  return "";
}

TEST(DdpTrace, EachOperationAndPhaseNamesItsSource) {
  const Events events = record({2});
  size_t named = 0;
  for (const Event& event : events) {
    if (!event.is("op") && !event.is("phase") && !event.is("call")) continue;
    const std::string file = tracer::string_arg(event.args, "file");
    ASSERT_TRUE(
        std::filesystem::exists(std::filesystem::path(LOCKSTEP_SOURCE_DIR) / file) &&
        !file.empty())
        << event.cat << " " << event.name << " names " << file;
    EXPECT_GT(tracer::int_arg(event.args, "line", 0), 0) << event.name;
    ++named;
  }
  EXPECT_GT(named, 100u);
  const std::string reducer = "engine/distributed/ddp/reducer.cpp";
  EXPECT_EQ(source_of(events, "phase", "all_reduce"), reducer);
  EXPECT_EQ(source_of(events, "op", "c10d::allreduce_"), reducer);
  EXPECT_EQ(source_of(events, "op", "AddmmBackward0"), "engine/ops/linear.cpp");
  EXPECT_EQ(source_of(events, "op", "AccumulateGrad"), "engine/autograd/node.cpp");
}

class DdpMessages : public testing::TestWithParam<std::tuple<Wire, int>> {};

INSTANTIATE_TEST_SUITE_P(Wires, DdpMessages,
                         testing::Combine(testing::Values(Wire::local, Wire::tcp),
                                          testing::Values(2, 3, 4)),
                         [](const auto& info) {
                           return test::name(std::get<0>(info.param)) +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST_P(DdpMessages, OfABucketAreTwiceTheOtherRanks) {
  const auto [wire, size] = GetParam();
  const Events events = record({size, wire});
  // A message is one event between threads and two events between processes.
  const std::string sent = wire == Wire::local ? "copy" : "send";
  const std::string received = wire == Wire::local ? "copy" : "recv";
  int compared = 0;
  for (const Event* bucket : buckets(events, 0, kTracedSteps - 1)) {
    std::vector<int> in(size), out(size);
    std::vector<int64_t> bytes(size);
    for (const Event& event : events) {
      if (!event.args.contains("ring_step")) continue;
      if (event.args["seq"] != bucket->args["seq"]) continue;
      if (event.cat == received) ++in.at(event.args["dst"]);
      if (event.cat != sent) continue;
      ++out.at(event.args["src"]);
      bytes.at(event.args["src"]) += int64_t(event.args["bytes"]);
    }
    EXPECT_EQ(in, std::vector<int>(size, 2 * (size - 1)));
    EXPECT_EQ(out, in);
    const int64_t whole = bucket->args["bytes"];
    int64_t all = 0;
    for (int64_t mine : bytes) {
      EXPECT_NEAR(mine, 2.0 * (size - 1) / size * whole, 8);
      all += mine;
    }
    EXPECT_EQ(all, 2 * (size - 1) * whole);
    ++compared;
  }
  EXPECT_GE(compared, 2);
}

}  // namespace
}  // namespace lockstep
