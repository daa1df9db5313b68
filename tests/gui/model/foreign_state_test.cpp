// What the stage shows, and the sentence says, of a trace of PyTorch's profiler: no
// more than the file does. Written by hand; raw and imported.
#include <fmt/format.h>

#include "gui/model/breakdown.h"
#include "gui/model/narration.h"
#include "gui/model/state.h"
#include "tests/gui/model/valid.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT

std::string event(const char* cat, const char* name, int pid, int tid, int ts, int dur,
                  const std::string& args) {
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},)"
      R"("args":{{{}}}}})",
      cat, name, pid, tid, ts, dur, args);
}

std::string on_stream(int stream) {
  return fmt::format(R"("device":0,"stream":{},"correlation":{})", stream, stream);
}

/// A kernel on stream 7, NCCL's on 24, a copy within the device on 84.
Model raw() {
  return load_model(
      "raw.json", R"({"traceEvents": [)" +
                      event("user_annotation", "ProfilerStep#1", 9, 9, 0, 100, "") +
                      "," +
                      event("cuda_runtime", "cudaDeviceSynchronize", 9, 9, 5, 90, "") +
                      "," + event("kernel", "sgemm", 0, 7, 10, 40, on_stream(7)) + "," +
                      event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 0,
                            24, 20, 60, on_stream(24)) +
                      "," +
                      event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 0, 84, 30,
                            10, on_stream(84)) +
                      "]}");
}

/// The same, as `trace import` writes it.
Model imported() {
  const auto task = [](const char* more, int stream, int id) {
    return fmt::format(R"("id":{},"step":1,"device":0,"stream":{},"deps":[]{})", id,
                       stream, more);
  };
  return load_model(
      "imported.json",
      R"({"lockstep": {"format": 1, "clock": "measured", "mode": "imported",
          "devices": [{"id": 0, "name": "GPU 0", "rank": 0}],
          "imported": {"from": "torch.profiler"}}, "traceEvents": [)" +
          event("phase", "step", 0, 0, 0, 100, R"("id":0,"step":1,"kind":"train")") +
          "," +
          event("sync", "cudaDeviceSynchronize", 0, 0, 5, 90,
                R"("id":1,"step":1,"why":"device")") +
          "," + event("kernel", "sgemm", 1, 7, 10, 40, task("", 7, 2)) + "," +
          event("collective", "all_reduce", 1, 24, 20, 60,
                task(R"(,"collective":"all_reduce","why":"all_reduce","bytes":4096,)"
                     R"("group_size":8,"algorithm":"nccl","group":"tp","seq":3)",
                     24, 3)) +
          "," +
          event("kernel", "Memcpy DtoD (Device -> Device)", 1, 84, 30, 10,
                task("", 84, 4)) +
          "]}");
}

uint32_t named(const Model& model, const std::string& name) {
  for (uint32_t i = 0; i < model.events.size(); ++i) {
    if (model.name_of(model.events[i]).starts_with(name)) return i;
  }
  ADD_FAILURE() << name;
  return 0;
}

State while_running(const Model& model, const std::string& name) {
  return state_at(model, in_time_order(model, at_event(model, named(model, name))));
}

std::string said_of(const Model& model, const std::string& name) {
  const State state = state_at(model, at_event(model, named(model, name)));
  return narrate(model, state, break_down(model, state.step)).text;
}

void expect_busy_streams(const Model& model, const char* collective) {
  expect_valid(model);
  const State state = while_running(model, "Memcpy");
  ASSERT_EQ(state.devices.size(), 1u);
  const auto& running = state.devices[0].running;
  EXPECT_EQ(running[0], named(model, "sgemm"));
  EXPECT_EQ(running[1], named(model, "Memcpy"));
  EXPECT_EQ(running[2], named(model, collective));
  EXPECT_EQ(state.devices[0].collective, named(model, collective));
}

TEST(ForeignState, StreamsOfAnyNumberAreOnTheStage) {
  expect_busy_streams(raw(), "nccl");
  expect_busy_streams(imported(), "all_reduce");
}

TEST(ForeignState, CopiesDoNotComputeAndCollectivesCommunicate) {
  for (const Model& model : {raw(), imported()}) {
    const DeviceTime time = break_down(model, 0).devices.at(0);
    EXPECT_EQ(time.computing, 40'000);
    EXPECT_EQ(time.communicating, 60'000);
    EXPECT_EQ(time.both, 30'000);
  }
}

TEST(ForeignNarration, DoesNotExplainPyTorchsWaitsByOurs) {
  const std::string text = said_of(imported(), "cudaDeviceSynchronize");
  EXPECT_NE(text.find("waits"), std::string::npos) << text;
  EXPECT_EQ(text.find("lockstep"), std::string::npos) << text;
}

TEST(ForeignNarration, DoesNotGuessWhatIsSummed) {
  const std::string text = said_of(imported(), "all_reduce");
  EXPECT_EQ(text.find("gradient"), std::string::npos) << text;
  EXPECT_NE(text.find("8 ranks"), std::string::npos) << text;
}

}  // namespace
}  // namespace lockstep::gui
