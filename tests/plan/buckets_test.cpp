// Which gradients are reduced together: compares with PyTorch's bucket assignment and
// with real DistributedDataParallel modules.
#include "engine/plan/buckets.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

namespace lockstep::plan {
namespace {

using Bytes = std::vector<int64_t>;
using Order = std::vector<size_t>;
using Buckets = std::vector<Bucket>;
using Items = std::vector<BucketItem>;

constexpr int64_t kMiB = 1024 * 1024;

const nlohmann::json& golden() {
  static const auto file = [] {
    std::ifstream in(LOCKSTEP_SOURCE_DIR "/tests/golden/torch/ddp_buckets.json");
    return nlohmann::json::parse(in);
  }();
  return file;
}

/// The float32 parameters of a net, in registration order.
Items parameters(const std::string& net) {
  Items items;
  for (const int64_t numel : golden()["nets"].at(net).at("numel").get<Bytes>()) {
    items.push_back({numel * 4});
  }
  return items;
}

Order ready_order(const std::string& net) {
  return golden()["nets"].at(net).at("ready").get<Order>();
}

Order reversed(size_t count) {
  Order order(count);
  std::iota(order.rbegin(), order.rend(), size_t{0});
  return order;
}

Bytes bucket_bytes(const Buckets& buckets, const Items& items) {
  Bytes sums;
  for (const Bucket& bucket : buckets) {
    sums.push_back(0);
    for (const size_t i : bucket) sums.back() += items[i].bytes;
  }
  return sums;
}

Order lengths(const Buckets& buckets) {
  Order counts;
  for (const Bucket& bucket : buckets) counts.push_back(bucket.size());
  return counts;
}

Items items_of(const nlohmann::json& drawn) {
  const auto bytes = drawn.at("bytes").get<Bytes>();
  const auto keys = drawn.at("keys").get<std::vector<int>>();
  Items items;
  for (size_t i = 0; i < bytes.size(); ++i) items.push_back({bytes[i], keys[i]});
  return items;
}

TEST(Buckets, AssignmentEqualsTorch) {
  EXPECT_EQ(golden()["first_bucket_bytes"], kFirstBucketBytes);
  EXPECT_GE(golden()["assigned"].size(), 30u);
  for (const auto& drawn : golden()["assigned"]) {
    const auto limits = drawn.at("limits").get<Bytes>();
    EXPECT_EQ(assign_buckets(items_of(drawn), limits), drawn["buckets"].get<Buckets>())
        << drawn;
  }
}

TEST(Buckets, AssignmentInReadyOrderEqualsTorch) {
  EXPECT_GE(golden()["rebuilt"].size(), 20u);
  for (const auto& drawn : golden()["rebuilt"]) {
    const auto order = drawn.at("order").get<Order>();
    const int64_t cap = drawn.at("limits").at(1);
    EXPECT_EQ(rebuilt_buckets(items_of(drawn), order, cap),
              drawn["buckets"].get<Buckets>())
        << drawn;
  }
}

// Compares the order within a bucket, too: it determines offsets in the flat buffer.
TEST(Buckets, EqualThoseOfDistributedDataParallel) {
  EXPECT_EQ(golden()["nets"].size(), 8u);
  for (const auto& [net, table] : golden()["nets"].items()) {
    const Items items = parameters(net);
    for (const auto& [unused, cap, first, later] :
         table.at("ddp")
             .get<std::vector<std::tuple<bool, int64_t, Buckets, Buckets>>>()) {
      SCOPED_TRACE(net + ", cap " + std::to_string(cap) + (unused ? ", unused" : ""));
      const auto ours = first_buckets(items, BucketRule::current, unused, cap);
      EXPECT_EQ(ours, first);
      EXPECT_EQ(rebuilds(unused) ? rebuilt_buckets(items, ready_order(net), cap) : ours,
                later);
    }
  }
}

// PyTorch up to 1.11 always behaves like later versions with find_unused_parameters.
TEST(Buckets, TheOldFirstStepIsTheGuess) {
  for (const auto& [net, table] : golden()["nets"].items()) {
    const auto guess = table.at("ddp").at(1);
    ASSERT_EQ(guess.at(0), true);
    for (const bool unused : {false, true}) {
      EXPECT_EQ(first_buckets(parameters(net), BucketRule::torch_1_11, unused),
                guess.at(2).get<Buckets>());
    }
  }
  const Items resnet18 = parameters("resnet18");
  EXPECT_EQ(
      bucket_bytes(first_buckets(resnet18, BucketRule::torch_1_11, false), resnet18),
      (Bytes{11497376, 33744896, 1515776}));
}

TEST(Buckets, TheFirstStepHasOneBucketPerKey) {
  const Items resnet18 = parameters("resnet18");
  const auto buckets = first_buckets(resnet18, BucketRule::current, false);
  EXPECT_EQ(bucket_bytes(buckets, resnet18), Bytes{46758048});
  EXPECT_EQ(first_buckets({{8, 1}, {8, 0}, {8, 1}}, BucketRule::current, false),
            (Buckets{{1}, {0, 2}}));
}

// A manually derived table that assumes that gradients become ready in exactly the
// reverse order of registration.
TEST(Buckets, SteadyTableOfTheResearchNotes) {
  const auto steady = [](const std::string& net, int64_t cap = kBucketCap) {
    const Items items = parameters(net);
    return bucket_bytes(rebuilt_buckets(items, reversed(items.size()), cap), items);
  };
  EXPECT_EQ(steady("resnet18"), (Bytes{2052000, 28852224, 15853824}));
  EXPECT_EQ(steady("resnet18", 35 * kMiB), (Bytes{2052000, 38297600, 6408448}));
  EXPECT_EQ(steady("resnet18_cifar"), (Bytes{9461800, 26494976, 8739072}));
  EXPECT_EQ(steady("resnet34"),
            (Bytes{2052000, 28323840, 26494976, 26700800, 3619072}));
  EXPECT_EQ(steady("resnet34_cifar"), (Bytes{9461800, 28323840, 26499072, 20843776}));
  EXPECT_EQ(steady("resnet50"),
            (Bytes{8196000, 31502336, 26255360, 26550272, 9724160}));
  EXPECT_EQ(steady("resnet50_cifar"),
            (Bytes{4292648, 27291648, 26255360, 26550272, 9693440}));
  EXPECT_EQ(steady("vgg16"),
            (Bytes{16388000, 67125248, 411058176, 28317696, 28319744, 2221312}));
  EXPECT_EQ(steady("vgg16_bn_one_fc"), (Bytes{9463848, 28329984, 21119232}));
}

// In practice, the gradient of a convolution's or BatchNorm's weight is ready before
// its bias's; only in a linear layer it is not. This matters if a bucket ends between
// the two, as in the VGGs.
TEST(Buckets, SteadyBucketsInTheOrderThatTorchObserves) {
  const auto steady = [](const std::string& net) {
    const Items items = parameters(net);
    return bucket_bytes(rebuilt_buckets(items, ready_order(net)), items);
  };
  EXPECT_EQ(lengths(rebuilt_buckets(parameters("resnet18"), ready_order("resnet18"))),
            (Order{2, 12, 48}));
  EXPECT_EQ(steady("resnet18"), (Bytes{2052000, 28852224, 15853824}));
  EXPECT_EQ(steady("vgg16"),
            (Bytes{16388000, 67125248, 411058176, 28315648, 28320768, 2222336}));
  EXPECT_EQ(steady("vgg16_bn_one_fc"), (Bytes{9461800, 28329984, 21121280}));
}

TEST(Buckets, CloseAtTheLimit) {
  EXPECT_EQ(assign_buckets({{5}, {5}, {1}}, {10}), (Buckets{{0, 1}, {2}}));
  EXPECT_EQ(assign_buckets({{5}, {4}, {9}}, {10}), (Buckets{{0, 1, 2}}));
  EXPECT_EQ(assign_buckets({{1}, {3}, {3}, {3}}, {1, 6}), (Buckets{{0}, {1, 2}, {3}}));
}

TEST(Buckets, EachKeyHasItsOwnPositionInTheLimits) {
  EXPECT_EQ(assign_buckets({{1, 0}, {3, 0}, {1, 1}, {3, 0}, {3, 1}}, {1, 6}),
            (Buckets{{0}, {1, 3}, {2}, {4}}));
}

TEST(Buckets, NothingGivesNothing) {
  EXPECT_TRUE(assign_buckets({}, {10}).empty());
  EXPECT_TRUE(first_buckets({}, BucketRule::current, false).empty());
  EXPECT_TRUE(rebuilt_buckets({}, {}).empty());
}

}  // namespace
}  // namespace lockstep::plan
