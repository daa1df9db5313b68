// Stages of workers that share weights: more parameter servers and workers than cards,
// and the queue for a lock, driven like a user.
#include <fmt/format.h>

#include <set>

#include "tests/gui/app/driver.h"

namespace lockstep::gui {
namespace {

void open_shared(Driver& viewer, const std::string& text) {
  const auto owner = std::make_shared<const std::string>(text);
  viewer.app.begin_loading("made", *owner, owner);
  viewer.app.finish_loading();
  viewer.frame();
  viewer.frame();
}

/// 20 workers and 4 servers with a weight of 4 elements each; worker 3 pushes to server
/// 2 while worker 17 pulls from it.
std::string many_servers() {
  std::string devices, events;
  int id = 0;
  const auto event = [&](const char* cat, const char* name, int rank, int tid, int ts,
                         int dur, const std::string& args) {
    events += fmt::format(
        R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},)"
        R"("args":{{"id":{},"step":1,"rank":{}{}}}}},)",
        cat, name, tid == 0 ? rank : 100 + rank, tid, ts, dur, ++id, rank, args);
  };
  for (int rank = 0; rank < 24; ++rank) {
    devices += fmt::format(R"({}{{"id":{},"rank":{}}})", rank ? "," : "", rank, rank);
    if (rank < 20) {
      event("phase", "step", rank, 0, 0, 100,
            R"(,"kind":"train","consistency":"async","servers":4)");
    }
    event("kernel", "k", rank, 1, 5, 90,
          fmt::format(R"(,"device":{},"stream":0)", rank));
  }
  event("copy", "push", 22, 2, 20, 40,
        R"(,"device":22,"stream":1,"why":"push","src":3,"dst":22,"bytes":16)");
  event("copy", "pull", 17, 2, 30, 40,
        R"(,"device":17,"stream":1,"why":"pull","src":22,"dst":17,"bytes":16)");
  events.pop_back();
  return R"({"lockstep":{"format":1,"clock":"measured","mode":"ps","model":{)"
         R"("parameter_bytes":64,"buffer_bytes":0,"tensors":[{"name":"w","shape":[16],)"
         R"("dtype":"float32","kind":"parameter"}]},"devices":[)" +
         devices + R"(]},"traceEvents":[)" + events + "]}";
}

TEST(SharedWeights, MoreServersThanCardsAreDrawnAroundTheFocus) {
  Driver viewer("");
  open_shared(viewer, many_servers());
  ASSERT_EQ(viewer.model().servers(), 4);
  ASSERT_EQ(viewer.app.trace().owned.size(), 4u);
  EXPECT_EQ(owned_words(viewer.app.trace().owned[2]), "w[8:12]");
  Position at = in_time_order(viewer.model(), viewer.app.trace().position);
  at.time = 40'000;
  viewer.app.go(at);
  const Image first = viewer.settled();
  for (const int rank : {12, 19, 22}) {
    viewer.app.focus_rank(rank);
    EXPECT_EQ(viewer.app.trace().state.rank, rank);
    EXPECT_NE(viewer.settled().pixels, first.pixels) << rank;
  }
}

TEST(SharedWeights, AtTheirOwnPaceTheStepIsTheWorkersInFocus) {
  Driver viewer("");
  open_shared(viewer, many_servers());
  EXPECT_EQ(viewer.app.trace().step.rank, 0);
  viewer.app.go(in_time_order(viewer.model(), viewer.app.trace().position));
  viewer.app.focus_rank(7);
  EXPECT_EQ(viewer.app.trace().step.rank, 7);
  EXPECT_EQ(viewer.app.trace().mean.rank, 7);
  viewer.app.focus_rank(21);
  EXPECT_EQ(viewer.app.trace().step.rank, kAllRanks) << "a server";
  EXPECT_EQ(viewer.app.trace().mean.rank, kAllRanks);
}

/// Worker 0 holds the lock, worker 1 waits for it.
std::string with_a_lock() {
  std::string events;
  int id = 0;
  const auto event = [&](const char* cat, const char* name, int rank, int ts, int dur,
                         const char* args) {
    events += fmt::format(
        R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":0,"ts":{},"dur":{},)"
        R"("args":{{"id":{},"step":1,"rank":{}{}}}}},)",
        cat, name, rank, ts, dur, ++id, rank, args);
  };
  for (int rank = 0; rank < 2; ++rank) {
    event("phase", "step", rank, 0, 100,
          R"(,"kind":"train","worker":0,"lock":"update")");
  }
  event("op", "lockstep::update_shared", 0, 10, 60, "");
  event("sync", "wait for lock", 1, 20, 51, R"(,"why":"lock")");
  event("op", "lockstep::update_shared", 1, 72, 10, "");
  events.pop_back();
  return R"({"lockstep":{"format":1,"clock":"measured","mode":"locked","devices":[)"
         R"({"id":0,"rank":0},{"id":1,"rank":1}]},"traceEvents":[)" +
         events + "]}";
}

TEST(SharedWeights, AClickInTheQueueGoesToTheWait) {
  Driver viewer("");
  open_shared(viewer, with_a_lock());
  ASSERT_EQ(viewer.app.trace().lock.size(), 2u);
  Position at = in_time_order(viewer.model(), viewer.app.trace().position);
  at.time = 40'000;
  std::set<std::string> reached;
  for (float y = 380; y < 500; y += 6) {  // wherever the rows are
    viewer.app.go(at);
    viewer.frame();
    viewer.click(380, y);
    reached.insert(viewer.name());
  }
  EXPECT_TRUE(reached.contains("wait for lock"));
}

}  // namespace
}  // namespace lockstep::gui
