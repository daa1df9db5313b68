// The server without sockets: which clients it answers, when, and with what.
// sanitize: address thread
#include "engine/distributed/rendezvous/service.h"

#include <gtest/gtest.h>

namespace lockstep::distributed::store {
namespace {

using std::chrono::milliseconds;

/// "to: operation field …" for each answer.
std::vector<std::string> shown(const Service::Answers& answers) {
  std::vector<std::string> lines;
  for (const auto& [to, frame] : answers) {
    std::string line = std::to_string(to) + ":";
    line += frame.op == Op::done      ? " done"
            : frame.op == Op::missing ? " missing"
                                      : " ?";
    for (const std::string& field : frame.fields) line += " " + field;
    lines.push_back(line);
  }
  return lines;
}
using Lines = std::vector<std::string>;

TEST(StoreService, AnswersAWaitOnceAllItsKeysAreThere) {
  Service service;
  EXPECT_EQ(shown(service.handle(1, {Op::wait, {"9000", "a", "b"}})), Lines{});
  EXPECT_EQ(shown(service.handle(2, {Op::get, {"9000", "b"}})), Lines{});
  EXPECT_EQ(shown(service.handle(3, {Op::set, {"b", "x"}})),
            (Lines{"3: done", "2: done x"}));
  EXPECT_EQ(shown(service.handle(3, {Op::add, {"a", "5"}})),
            (Lines{"3: done 5", "1: done"}));
  EXPECT_EQ(shown(service.handle(3, {Op::set, {"a", "y"}})), Lines{"3: done"});
  EXPECT_EQ(shown(service.handle(1, {Op::get, {"0", "a"}})), Lines{"1: done y"});
}

TEST(StoreService, TellsWhatIsMissingWhenTheTimeIsUp) {
  Service service;
  EXPECT_EQ(service.next_deadline(), std::nullopt);
  const auto before = Clock::now();
  service.handle(1, {Op::wait, {"9000", "a", "b"}});
  service.handle(2, {Op::get, {"5000", "c"}});
  service.handle(3, {Op::get, {"7000", "d"}});
  service.handle(4, {Op::set, {"b", ""}});
  const TimePoint first = service.next_deadline().value();
  EXPECT_GE(first, before + milliseconds(5000));
  EXPECT_LT(first, before + milliseconds(7000));
  EXPECT_EQ(shown(service.expire(first - milliseconds(1))), Lines{});
  EXPECT_EQ(shown(service.expire(first)), Lines{"2: missing c"});
  EXPECT_EQ(shown(service.expire(first + milliseconds(9000))),
            (Lines{"1: missing a", "3: missing d"}));
  EXPECT_EQ(service.next_deadline(), std::nullopt);
}

TEST(StoreService, ForgetsTheWaitsOfThoseWhoGo) {
  Service service;
  service.handle(1, {Op::get, {"9000", "a"}});
  service.handle(2, {Op::get, {"9000", "a"}});
  EXPECT_EQ(shown(service.disconnected(1)), Lines{});
  EXPECT_EQ(shown(service.handle(3, {Op::set, {"a", "x"}})),
            (Lines{"3: done", "2: done x"}));
}

TEST(StoreService, TellsThoseWhoWaitThatAMemberIsGone) {
  Service service;
  service.handle(1, {Op::join, {"0", "3", "zero"}});
  service.handle(2, {Op::join, {"1", "3", "one"}});
  service.handle(2, {Op::join, {"2", "3", "two, in the same process"}});
  service.handle(3, {Op::wait, {"9000", "gone/1", "gone/2"}});
  EXPECT_EQ(service.members_present(), 3u);
  EXPECT_EQ(shown(service.disconnected(2)), Lines{"3: done"});
  EXPECT_EQ(service.members_present(), 1u);
  EXPECT_EQ(shown(service.handle(3, {Op::try_get, {"gone/1"}})),
            Lines{"3: done connection lost"});
  EXPECT_EQ(shown(service.handle(3, {Op::try_get, {"gone/0"}})),
            Lines{"3: missing gone/0"});
  service.handle(1, {Op::leave, {}});
  EXPECT_EQ(service.members_present(), 0u);
  service.disconnected(1);
  EXPECT_EQ(shown(service.handle(3, {Op::try_get, {"gone/0"}})),
            Lines{"3: missing gone/0"});
}

TEST(StoreService, ARefusedRankZeroEndsTheMeetingForAll) {
  Service service;
  service.handle(1, {Op::join, {"1", "3", "one"}});
  service.handle(1, {Op::get, {"9000", "ready"}});
  service.handle(2, {Op::join, {"2", "2", "two"}});  // out of range
  EXPECT_EQ(service.refused_to_join(), "");
  const std::string why =
      "rank 0 (zero) has world size 2, but rank 1 (one) has 3; fix: start all ranks "
      "with the same world size";
  EXPECT_EQ(shown(service.handle(3, {Op::join, {"0", "2", "zero"}})),
            (Lines{"3: ? " + why, "1: ? " + why}));
  EXPECT_EQ(shown(service.handle(4, {Op::join, {"2", "3", "two"}})),
            Lines{"4: ? " + why});
  EXPECT_EQ(service.refused_to_join(), why);
  EXPECT_EQ(shown(service.handle(1, {Op::leave, {}})), Lines{"1: done"});
}

TEST(StoreService, AnotherRefusedRankIsOnlyNoted) {
  Service service;
  service.handle(1, {Op::join, {"0", "2", "zero"}});
  service.handle(1, {Op::get, {"9000", "ready"}});
  EXPECT_EQ(shown(service.handle(2, {Op::join, {"1", "3", "one"}})).size(), 1u);
  EXPECT_NE(service.refused_to_join().find("rank 1 (one) has world size 3"),
            std::string::npos);
  EXPECT_EQ(shown(service.handle(3, {Op::set, {"ready", "x"}})),
            (Lines{"3: done", "1: done x"}));
}

}  // namespace
}  // namespace lockstep::distributed::store
