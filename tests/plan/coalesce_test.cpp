// Which tensors are coalesced: PyTorch's two rules on the parameters of real nets.
#include "engine/plan/coalesce.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace lockstep::plan {
namespace {

using Bytes = std::vector<int64_t>;

const nlohmann::json& coalesced_by_torch() {
  static const auto file = [] {
    std::ifstream in(LOCKSTEP_SOURCE_DIR "/tests/golden/torch/chunks.json");
    return nlohmann::json::parse(in);
  }();
  return file;
}

Bytes bytes_of(const std::string& net) {
  return coalesced_by_torch()["groups"].at(net).at("bytes_of_tensors").get<Bytes>();
}

Bytes group_bytes(const std::vector<Group>& groups, const Bytes& bytes) {
  Bytes sums;
  for (const Group& group : groups) {
    sums.push_back(0);
    for (const size_t i : group) sums.back() += bytes[i];
  }
  return sums;
}

Bytes broadcast(const std::string& net) {
  return group_bytes(coalesce_broadcast(bytes_of(net)), bytes_of(net));
}
Bytes reduce(const std::string& net) {
  return group_bytes(coalesce_reduce(bytes_of(net)), bytes_of(net));
}

/// Each tensor occurs once and in order, so that the receiver can split by position.
void expect_partition(const std::vector<Group>& groups, size_t tensors) {
  size_t next = 0;
  for (const Group& group : groups) {
    EXPECT_FALSE(group.empty());
    for (const size_t i : group) EXPECT_EQ(i, next++);
  }
  EXPECT_EQ(next, tensors);
}

Bytes sizes_of(const std::vector<Group>& groups) {
  Bytes counts;
  for (const Group& group : groups) counts.push_back(group.size());
  return counts;
}

TEST(Coalesce, EqualsTorchOnEveryNet) {
  EXPECT_EQ(coalesced_by_torch()["limit"], kCoalesceLimit);
  EXPECT_GE(coalesced_by_torch()["groups"].size(), 11u);
  for (const auto& [net, table] : coalesced_by_torch()["groups"].items()) {
    SCOPED_TRACE(net);
    const Bytes bytes = bytes_of(net);
    const auto out = coalesce_broadcast(bytes), back = coalesce_reduce(bytes);
    EXPECT_EQ(group_bytes(out, bytes), table["broadcast"].get<Bytes>());
    EXPECT_EQ(sizes_of(out), table["broadcast_tensors"].get<Bytes>());
    EXPECT_EQ(group_bytes(back, bytes), table["reduce"].get<Bytes>());
    EXPECT_EQ(sizes_of(back), table["reduce_tensors"].get<Bytes>());
    expect_partition(out, bytes.size());
    expect_partition(back, bytes.size());
  }
}

// Tables derived manually from PyTorch's source.
TEST(Coalesce, BroadcastTablesOfTheResearchNotes) {
  EXPECT_EQ(broadcast("resnet18"), (Bytes{11129088, 14161920, 19410944, 2056096}));
  EXPECT_EQ(broadcast("resnet18_cifar"), (Bytes{11098368, 14161920, 19410944, 24616}));
  EXPECT_EQ(broadcast("resnet34"),
            (Bytes{11427072, 11806720, 14166016, 19410944, 18882560, 11493376, 4000}));
  EXPECT_EQ(broadcast("resnet50"),
            (Bytes{11821312, 12355584, 12093440, 13639680, 12615680, 13639680, 13651968,
                   12406784, 4000}));
  EXPECT_EQ(broadcast("vgg16"),
            (Bytes{11660544, 18878464, 18878464, 420483072, 67125248, 16400384, 4000}));
  EXPECT_EQ(broadcast("vgg16_features"),
            (Bytes{11660544, 18878464, 18878464, 9441280}));
}

TEST(Coalesce, ReduceTablesOfTheResearchNotes) {
  EXPECT_EQ(reduce("resnet18"),
            (Bytes{8769792, 7084032, 9969664, 9441280, 9441280, 2052000}));
  EXPECT_EQ(reduce("resnet18_cifar"),
            (Bytes{8739072, 7084032, 9969664, 9441280, 9461800}));
  EXPECT_EQ(reduce("resnet50"),
            (Bytes{9724160, 9986048, 9994240, 6569984, 9441280, 4210688, 8404992,
                   4198400, 9441280, 8409088, 9441280, 4210688, 8196000}));
  EXPECT_EQ(reduce("vgg16"),
            (Bytes{6941952, 4720640, 9439232, 9439232, 9439232, 9439232, 9439232,
                   411041792, 16384, 67108864, 16384, 16384000, 4000}));
}

// The two rules differ exactly at the limit: broadcast closes a group after reaching
// it, reduce before exceeding it.
TEST(Coalesce, AtTheLimit) {
  const Bytes halves{5, 5, 1};
  EXPECT_EQ(group_bytes(coalesce_broadcast(halves, 10), halves), (Bytes{10, 1}));
  EXPECT_EQ(group_bytes(coalesce_reduce(halves, 10), halves), (Bytes{10, 1}));
  const Bytes over{6, 6, 6};
  EXPECT_EQ(group_bytes(coalesce_broadcast(over, 10), over), (Bytes{12, 6}));
  EXPECT_EQ(group_bytes(coalesce_reduce(over, 10), over), (Bytes{6, 6, 6}));
  const Bytes giant{1, 99, 1};
  EXPECT_EQ(group_bytes(coalesce_broadcast(giant, 10), giant), (Bytes{100, 1}));
  EXPECT_EQ(group_bytes(coalesce_reduce(giant, 10), giant), (Bytes{1, 99, 1}));
}

TEST(Coalesce, NothingGivesNothing) {
  EXPECT_TRUE(coalesce_broadcast({}).empty());
  EXPECT_TRUE(coalesce_reduce({}).empty());
}

}  // namespace
}  // namespace lockstep::plan
