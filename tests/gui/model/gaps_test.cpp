// Every gap of an emulated program's streams has one binding edge, and ends when that
// edge does.
#include "gui/model/gaps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "gui/model/loader.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/facts.h"

namespace lockstep::gui {
namespace {

tracer::Trace emulated_on(int devices, double gb_per_s, const char* mode) {
  const tracer::Trace one = tracer::read_trace(std::string(LOCKSTEP_SOURCE_DIR) +
                                               "/lessons/01-tape/trace.json.gz");
  tracer::ConstructedProgram program;
  program.devices = devices;
  program.mode = mode;
  tracer::EmulateOptions options;
  options.link.gb_per_s = gb_per_s;
  options.compute_scale = 30;
  return tracer::emulate(tracer::construct(one, program), options);
}

TEST(Gaps, HaveABindingEdgeEach) {
  for (const char* mode : {"dp", "ddp"}) {
    const tracer::Trace trace = emulated_on(3, 0.5, mode);
    const auto all = tracer::find_bindings(trace);
    ASSERT_FALSE(all.empty());
    std::map<int64_t, const tracer::Event*> events;
    for (const tracer::Event& event : trace.events) events[event.id] = &event;
    size_t none = 0;
    for (const tracer::Binding& binding : all) {
      const tracer::Event& task = *events.at(binding.event);
      EXPECT_EQ(task.ts, binding.end);
      EXPECT_LT(binding.begin, binding.end);
      none += binding.kind == tracer::Binding::Kind::core;
      if (binding.kind != tracer::Binding::Kind::data) continue;
      const tracer::Event& awaited = *events.at(binding.after);
      EXPECT_EQ(awaited.end(), task.ts);  // it starts at the moment that decides
    }
    EXPECT_EQ(none, 0u) << mode;  // emulated devices have cores of their own
  }
}

TEST(Gaps, OfEmulatedBucketsFollowTheOrderRule) {
  const tracer::Trace trace = emulated_on(4, 0.05, "ddp");  // links are the limit
  size_t in_turn = 0;
  for (const tracer::Binding& binding : tracer::find_bindings(trace)) {
    in_turn += binding.kind == tracer::Binding::Kind::order;
  }
  EXPECT_GE(in_turn, 4u);  // the second bucket of each rank waits for the first
}

TEST(Gaps, AreFoundOnTheirLane) {
  const tracer::Trace trace = emulated_on(2, 0.5, "ddp");
  const Model model = load_model("emulated", tracer::trace_text(trace));
  const auto gaps = gaps_of(model, tracer::find_bindings(trace));
  const Gap* longest = longest_gap(model, gaps, model.steps[0]);
  ASSERT_NE(longest, nullptr);
  const uint32_t lane = model.events[longest->event].lane;
  EXPECT_EQ(gap_at(model, gaps, lane, longest->begin), longest);
  EXPECT_EQ(gap_at(model, gaps, lane, longest->end - 1), longest);
  EXPECT_NE(gap_at(model, gaps, lane, longest->end), longest);
  EXPECT_EQ(model.events[longest->event].ts, longest->end);
  EXPECT_NE(gap_words(model, *longest).find(" waits "), std::string::npos);
  for (const Gap& gap : gaps) {
    EXPECT_EQ(model.events[gap.event].ts, gap.end);
    EXPECT_NE(gap_words(model, gap), "");
  }
}

}  // namespace
}  // namespace lockstep::gui
