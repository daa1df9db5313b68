// Which parameters each server owns.
// sanitize: address
#include "tracer/analysis/server_keys.h"

#include <gtest/gtest.h>

namespace lockstep::tracer {
namespace {

Json with_tensors(Json tensors) { return {{"model", {{"tensors", tensors}}}}; }

Json described_tensor(const char* name, Json shape, const char* kind = "parameter") {
  return {{"name", name}, {"shape", shape}, {"kind", kind}};
}

const Json kSmall = with_tensors(Json::array(
    {described_tensor("conv.weight", {2, 3}),
     described_tensor("bn.running_mean", {2}, "buffer"),
     described_tensor("conv.bias", {2}), described_tensor("fc.weight", {3, 2}),
     described_tensor("fc.bias", Json::array())}));

TEST(ServerKeys, AreNamedInTheOrderOfTheModel) {
  const auto two = parameters_of_servers(kSmall, 2);  // 15 elements: 8 and 7
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(owned_words(two[0]), "conv.weight to conv.bias");
  EXPECT_EQ(owned_words(two[1]), "fc.weight to fc.bias");
  const auto three = parameters_of_servers(kSmall, 3);  // 5 each
  EXPECT_EQ(owned_words(three[0]), "conv.weight[0:5]");
  EXPECT_EQ(owned_words(three[1]), "conv.weight[5:6] to fc.weight[0:2]");
  EXPECT_EQ(owned_words(three[2]), "fc.weight[2:6] to fc.bias");
  EXPECT_EQ(three[1].size(), 3u);
  EXPECT_TRUE(three[1][1].is_whole());
  const auto many = parameters_of_servers(kSmall, 16);
  EXPECT_EQ(owned_words(many[15]), "no parameter");
}

TEST(ServerKeys, OfFilesThatSayNothingOrNonsenseAreNone) {
  EXPECT_TRUE(parameters_of_servers(Json::object(), 2).empty());
  EXPECT_TRUE(parameters_of_servers(kSmall, 0).empty());
  EXPECT_TRUE(parameters_of_servers({{"model", 3}}, 2).empty());
  EXPECT_TRUE(parameters_of_servers(with_tensors(Json::array()), 2).empty());
  for (const Json& shape : {Json{1, -2}, Json{"2"}, Json{1 << 30, 1 << 30}, Json(3)}) {
    const Json damaged = with_tensors(Json::array({described_tensor("w", shape)}));
    EXPECT_TRUE(parameters_of_servers(damaged, 2).empty()) << shape;
  }
  EXPECT_TRUE(
      parameters_of_servers(
          with_tensors(Json::array({1, described_tensor("b", {2}, "buffer")})), 2)
          .empty());
}

}  // namespace
}  // namespace lockstep::tracer
