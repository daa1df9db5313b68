// Who has the lock on a shared model, and who waits for it, at any time.
#include "gui/model/lock_queue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gui/model/loader.h"

namespace lockstep::gui {
namespace {

/// Host events of three workers; times in µs. Each line: rank, name, begin, end.
struct HostEvent {
  int rank;
  const char* name;
  int begin, end;
};

Model locked(const char* lock, const std::vector<HostEvent>& events) {
  std::string text;
  int id = 0;
  for (int rank = 0; rank < 3; ++rank) {
    text += fmt::format(
        R"({{"ph":"X","cat":"phase","name":"step","pid":{0},"tid":0,"ts":0,"dur":1000,)"
        R"("args":{{"id":{1},"step":1,"rank":{0},"worker":{0},"lock":"{2}"}}}},)",
        rank, ++id, lock);
  }
  for (const HostEvent& event : events) {
    const bool waits = event.name == std::string("wait for lock");
    text += fmt::format(
        R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":0,"ts":{},"dur":{},)"
        R"("args":{{"id":{},"step":1,"rank":{}}}}},)",
        waits ? "sync" : "op", event.name, event.rank, event.begin,
        event.end - event.begin, ++id, event.rank);
  }
  text.pop_back();
  return load_model("made", R"({"lockstep":{"format":1,"clock":"measured",)"
                            R"("mode":"locked"},"traceEvents":[)" +
                                text + "]}");
}

/// Returns "2 has 1 waits 0 waits".
std::string queue_at(const std::vector<LockUse>& uses, int64_t microseconds) {
  std::string text;
  const int64_t ts = 1000 * microseconds;
  for (const LockUse& use : lock_queue(uses, ts)) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", use.rank,
                        use.holds_at(ts) ? "has" : "waits");
  }
  return text;
}

TEST(LockQueue, IsInTheOrderInWhichWorkersAsked) {
  const Model model = locked("update", {{2, "lockstep::read_shared", 10, 40},
                                        {1, "wait for lock", 15, 42},
                                        {0, "wait for lock", 20, 71},
                                        {1, "lockstep::update_shared", 43, 70},
                                        {0, "lockstep::update_shared", 72, 90}});
  const auto uses = lock_uses(model);
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(queue_at(uses, 12), "2 has");
  EXPECT_EQ(queue_at(uses, 30), "2 has 1 waits 0 waits");
  EXPECT_EQ(queue_at(uses, 41), "1 waits 0 waits") << "it changes hands";
  EXPECT_EQ(queue_at(uses, 50), "1 has 0 waits");
  EXPECT_EQ(queue_at(uses, 80), "0 has");
  EXPECT_EQ(queue_at(uses, 95), "");
  EXPECT_EQ(uses[0].wait, kNoEvent) << "the lock was free";
  EXPECT_EQ(uses[2].got - uses[2].asked, 51'000);
  EXPECT_EQ(model.name_of(model.events[uses[2].wait]), "wait for lock");
}

TEST(LockQueue, WithLockStepAUseLastsUntilTheUpdate) {
  const std::vector<HostEvent> events = {{0, "lockstep::read_shared", 10, 20},
                                         {1, "wait for lock", 12, 81},
                                         {0, "lockstep::update_shared", 70, 80},
                                         {1, "lockstep::read_shared", 82, 90}};
  const auto uses = lock_uses(locked("step", events));
  EXPECT_EQ(queue_at(uses, 50), "0 has 1 waits") << "between read and update";
  EXPECT_EQ(queue_at(uses, 85), "1 has") << "as far as it was recorded";
  EXPECT_EQ(queue_at(uses, 95), "");
  EXPECT_EQ(queue_at(lock_uses(locked("update", events)), 50), "1 waits");
}

}  // namespace
}  // namespace lockstep::gui
