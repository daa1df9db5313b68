// The viewer's sentences about workers that train one model in host memory. Events are
// addressed by their paths (tests/tracer/named_events.h); the step is
//
//   step
//     pull
//       lockstep::read_shared
//         read@device 0
//     optimizer
//       lockstep::update_shared
#include "gui/model/narration.h"
#include "tests/gui/model/made_trace.h"
#include "tests/gui/model/named_model.h"

namespace lockstep::gui {
namespace {

std::string said_of_shared(const Model& model, std::string_view path) {
  const auto event = static_cast<uint32_t>(test::names_of(model)[path]);
  const State state = state_at(model, at_event(model, event));
  return narrate(model, state, break_down(model, state.step), english()).text;
}

TEST(SharedNarration, NamesVersionsAndWhereWeightsGo) {
  const Model model = test::made("hogwild", R"(
phase step 0 0 99000 kind=train batch=3 chunks=[3] input_on=device0 worker=0
phase pull 0 10 200
op lockstep::read_shared 0 20 50
copy read 1 90 20 op=3 why=pull src=host dst=0 bytes=40 tensor=fc.weight
phase optimizer 0 5000 500 worker=0 read_version=4 version=8 lost_updates=2
op lockstep::update_shared 0 5100 100
)")
                          .model();
  const std::pair<const char*, const char*> expected[] = {
      {"pull", "The worker **reads the shared weights** from the host's memory."},
      {"read@device 0",
       "**Shared weights**, fc.weight: 40 B from the host to the worker's copy on "
       "device 0."},
      {"step 3/optimizer",
       "The worker's optimizer makes its step on its own copy; the step is then "
       "applied "
       "to the shared weights: **version 8**, from gradients of version 4."},
      {"lockstep::update_shared",
       "**The worker's step is applied** to the shared weights, element by element, in "
       "100 µs. An element that has not changed since the worker read it gets the "
       "worker's value; to any other, the difference is added."},
  };
  for (const auto& [path, sentence] : expected) {
    EXPECT_EQ(said_of_shared(model, path), sentence) << path;
  }
}

TEST(SharedNarration, TheLockKeepsOthersOut) {
  const auto pull = [](const std::string& lock) {
    const std::string args = "phase step 0 0 99000 kind=train batch=3 chunks=[3] ";
    return said_of_shared(
        test::made("locked", (args + lock + "\nphase pull 0 10 200\n").c_str()).model(),
        "pull");
  };
  EXPECT_NE(pull("lock=step").find("holds the lock until its step ends"),
            std::string::npos);
  EXPECT_EQ(pull("lock=update").find("until its step ends"), std::string::npos);
}

TEST(SharedNarration, SaysHowLongTheLockWasAwaited) {
  const auto pull = [](const char* wait) {
    test::Made made("locked");
    made.x("phase", "step", 0, 0, 9000, R"("kind":"train","lock":"step")")
        .x("phase", "pull", 0, 10, 3000, "")
        .x("sync", wait, 0, 20, 2500, R"("why":"lock")");
    return said_of_shared(made.model(), "pull");
  };
  EXPECT_TRUE(pull("wait for lock")
                  .starts_with("The worker waits **2.50 ms** for **the lock**"));
  EXPECT_TRUE(pull("another").starts_with("The worker waits for **the lock**"));
}

TEST(SharedNarration, AWaitNamesTheSlowerWorkers) {
  const auto said_of = [](const char* rule, const char* path) {
    test::Made made("ps");
    made.x("phase", "step", 0, 0, 9000,
           fmt::format(R"("kind":"train","rank":0,"servers":1,"consistency":"{}",)"
                       R"("staleness":1)",
                       rule))
        .x("phase", "pull", 0, 10, 3000, R"("rank":0)")
        .x("sync", "wait for workers", 0, 20, 2200,
           R"("rank":0,"why":"workers","server":0,"workers":[2,3])")
        .x("kernel", "relu", 2, 30, 5, R"("rank":1)");
    return said_of_shared(made.model(), path);
  };
  EXPECT_EQ(said_of("ssp", "pull"),
            "**Worker 0** waits **2.20 ms** for workers 2, 3 before it pulls the "
            "weights: with ssp, it may be at most 1 step ahead of the slowest worker.");
  EXPECT_EQ(said_of("ssp", "wait for workers"),
            "**Worker 0** waits **2.20 ms** for workers 2, 3: with ssp, it may be at "
            "most 1 step ahead of the slowest worker.");
  EXPECT_EQ(said_of("sync", "wait for workers"),
            "**Worker 0** waits **2.20 ms** for workers 2, 3: with sync, the next "
            "version of the weights needs their gradients.");
}

TEST(SharedNarration, ASlowRankIsIdleOnPurpose) {
  const Model model = test::made("ps", R"(
phase step 0 0 9000 kind=train batch=3 rank=0 servers=1
op lockstep::emulated_work 0 10 5 rank=1
kernel lockstep::emulated_work 2 20 2000 rank=1 op=2
)")
                          .model();
  EXPECT_EQ(said_of_shared(model, "lockstep::emulated_work@device 1"),
            "**--slow-rank** makes worker 1 idle here for **2.00 ms**: the device "
            "computes nothing and uses no core, as if the worker were slower.");
}

TEST(SharedNarration, ServersUpdateWhatWorkersPush) {
  const Model model = test::made("ps", R"(
phase step 0 0 99000 kind=train batch=3 chunks=[3] servers=1 consistency=async
phase pull 0 10 200 worker=0 server=1 read_version=2
phase push 0 5000 500 worker=0 server=1 read_version=2
phase optimizer 0 5100 100 worker=0 server=1 read_version=2 version=5
copy sent 2 5020 20 why=push src=0 dst=1 bytes=40 tensor=gradients
phase optimizer 0 6000 500
)")
                          .model();
  const std::pair<const char*, const char*> expected[] = {
      {"pull",
       "Worker 0 **pulls** server 1's part of the weights: version **2**. Its "
       "gradients "
       "will be those of this version."},
      {"push",
       "Worker 0 **pushes its gradients** for server 1's part of the weights. They are "
       "those of version 2."},
      {"push/optimizer",
       "Server 1 **updates its part of the weights** for the push of worker 0: "
       "**version 5**. The gradients were those of version 2: 2 other updates came in "
       "between."},
      {"sent@device 1", "**Gradients**: 40 B from device 0 to device 1, a server."},
      {"step 3/optimizer",
       "The worker packs its gradients and **pushes** each server its part. The "
       "optimizer runs on the servers."},
  };
  for (const auto& [path, sentence] : expected) {
    EXPECT_EQ(said_of_shared(model, path), sentence) << path;
  }
}

}  // namespace
}  // namespace lockstep::gui
