// Which address other machines are told: of interfaces as given, not of this machine.
#include "base/interfaces.h"

#include <gtest/gtest.h>

#include "tests/base/test_files.h"

namespace lockstep {
namespace {

const std::vector<Interface> kMany{{"docker0", "172.17.0.1"},
                                   {"eth0", "fd00::5"},
                                   {"eth0", "10.0.0.5"},
                                   {"ib0", "10.1.0.5"},
                                   {"ib1", "fd01::5"}};

TEST(Interfaces, TheOneThatIsAskedForCounts) {
  EXPECT_EQ(choose_address(kMany, "ib0", "10.0.0.5"), "10.1.0.5");
  EXPECT_EQ(choose_address(kMany, "eth0", ""), "10.0.0.5") << "IPv4 first";
  EXPECT_EQ(choose_address(kMany, "ib1", ""), "fd01::5");
  expect_error([] { choose_address(kMany, "eth1", ""); }, "--ifname eth1",
               "eth0 (10.0.0.5), ib0 (10.1.0.5)");
  expect_error([] { choose_address({}, "eth1", ""); }, "this machine's: none");
}

TEST(Interfaces, OtherwiseTheDefaultRouteOrTheFirstThatLeavesTheMachine) {
  EXPECT_EQ(choose_address(kMany, "", "10.1.0.5"), "10.1.0.5");
  EXPECT_EQ(choose_address(kMany, "", ""), "fd00::5");
  EXPECT_EQ(choose_address(kMany, "", "127.0.0.1"), "fd00::5");
  EXPECT_EQ(choose_address({{"docker0", "172.17.0.1"}}, "", ""), "172.17.0.1");
  EXPECT_EQ(choose_address({}, "", ""), "");
}

TEST(Interfaces, NoneOfThisMachinesIsLoopback) {
  for (const Interface& one : network_interfaces()) {
    EXPECT_FALSE(one.address.starts_with("127.")) << one.name;
    EXPECT_EQ(one.address.find('%'), std::string::npos);
  }
}

TEST(Interfaces, LoopbackIsNoneThatOthersReach) {
  ASSERT_TRUE(is_loopback_interface("lo"));
  EXPECT_FALSE(is_loopback_interface("no such interface"));
  expect_error([] { choose_address(kMany, "lo", ""); }, "--ifname lo",
               "other machines cannot reach a loopback interface", "eth0 (10.0.0.5)");
}

}  // namespace
}  // namespace lockstep
