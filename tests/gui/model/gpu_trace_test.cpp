// What the viewer says of two devices that share one GPU: kernels wait for the GPU,
// never for a core.
#include <gtest/gtest.h>

#include "gui/model/analyse.h"
#include "gui/model/gaps.h"
#include "gui/model/waiting.h"
#include "gui/panels/stage_parts.h"
#include "tests/gui/model/narrated.h"
#include "tests/tracer/golden.h"
#include "tracer/format/file_io.h"

namespace lockstep::gui {
namespace {

using tracer::testing::golden;

const Model& shared_gpu() {
  static const Model model = load_model(
      "dp2_h100.json.gz", tracer::read_whole_file(golden() / "gpu/dp2_h100.json.gz"));
  return model;
}

bool says(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

TEST(GpuModel, NarrationsOfItsKernelsSayGpu) {
  const Model& model = shared_gpu();
  const Breakdown step = break_down(model, 0);
  int waited = 0, gaps = 0;
  for (uint32_t event = 0; event < model.events.size(); ++event) {
    if (model.events[event].what() != Kind::kernel) continue;
    if (model.step_of(model.events[event]) != 0) continue;
    const State state = state_at(model, at_event(model, event));
    const std::string text = narrate(model, state, step).text;
    EXPECT_FALSE(says(text, "core")) << text;
    waited += says(text, " for the GPU.");
    gaps += says(text, "The GPU ran it for only");
  }
  EXPECT_GT(waited, 10);
  EXPECT_GT(gaps, 0);
}

TEST(GpuModel, ACardSaysGpu) {
  const Model& model = shared_gpu();
  int waits = 0;
  for (const Event& event : model.events) {
    if (event.what() != Kind::kernel || queued_before(model, event) < 2) continue;
    const Waiting waiting = waiting_on(model, model.lanes[event.lane], event.ts - 1);
    if (waiting.cause != Waiting::For::core) continue;
    EXPECT_TRUE(waiting_words(model, waiting).starts_with("waits for the GPU: "));
    ++waits;
  }
  EXPECT_GT(waits, 10);
}

TEST(GpuModel, ThePathsCausesSayGpu) {
  const Model& model = shared_gpu();
  const auto why = placed(model, analyse(why_source(model)));
  ASSERT_EQ(why->problem, "");
  EXPECT_FALSE(says(why->limit, "core")) << why->limit;
  int waits = 0;
  for (const PathSegment& segment : why->paths.at(0)) {
    const std::string cause = cause_of(model, segment);
    EXPECT_FALSE(says(cause, "core")) << cause;
    waits += says(cause, "but waits for the GPU");
  }
  EXPECT_GT(waits, 10);
}

TEST(GpuModel, AGapSaysGpu) {
  const Model& model = shared_gpu();
  for (uint32_t event = 0; event < model.events.size(); ++event) {
    if (model.events[event].what() != Kind::kernel) continue;
    Gap gap;
    gap.event = event;
    gap.after = kNoEvent;
    gap.kind = tracer::Binding::Kind::core;
    EXPECT_TRUE(says(gap_words(model, gap), "for the GPU, or for nothing"));
    break;
  }
}

}  // namespace
}  // namespace lockstep::gui
