// Traces of other programs, recorded by others, can be opened.
// sanitize: address
#include <cstdlib>

#include "tests/tracer/golden.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/summary.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

/// The folder of foreign traces; empty if it is not on this machine.
fs::path foreign_traces() {
  const char* shared = std::getenv("LOCKSTEP_SHARED");
  const fs::path folder = shared ? fs::path(shared) / "traces" : fs::path();
  return fs::is_directory(folder) ? folder : fs::path();
}

bool in_ci() {
  const char* ci = std::getenv("CI");
  return ci && std::string(ci) == "true";
}

void expect_same_times(const Trace& a, const Trace& b) {
  ASSERT_EQ(a.events.size(), b.events.size());
  for (size_t i = 0; i < a.events.size(); ++i) {
    ASSERT_EQ(a.events[i].ts, b.events[i].ts) << i;
    ASSERT_EQ(a.events[i].dur, b.events[i].dur) << i;
  }
}

TEST(ForeignTraces, OpenWithoutError) {
  const fs::path folder = foreign_traces();
  if (folder.empty()) {
    if (in_ci()) FAIL() << "CI needs LOCKSTEP_SHARED=folder with traces/";
    GTEST_SKIP() << "LOCKSTEP_SHARED has no folder traces/";
  }
  size_t opened = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    const std::string name = file.path().filename();
    if (!name.ends_with(".json.gz")) continue;
    SCOPED_TRACE(file.path());
    Trace trace;
    ASSERT_NO_THROW(trace = read_trace(file.path()));
    EXPECT_GT(trace.events.size(), 20u);
    EXPECT_FALSE(check_trace(trace).ok()) << "not recorded by lockstep";
    EXPECT_NO_THROW(summary_text(summarize(trace)));
    expect_same_times(trace, emulate(trace, {.measured_durations = true}));
    ++opened;
  }
  EXPECT_GE(opened, 25u);
}

TEST(ForeignTraces, WhatIsNoTraceIsRefused) {
  const fs::path folder = foreign_traces();
  if (folder.empty()) GTEST_SKIP() << "LOCKSTEP_SHARED has no folder traces/";
  EXPECT_THROW(read_trace(folder / "hta/edge/memory_timeline.raw.gz"),
               std::runtime_error);
}

TEST(ForeignTraces, KeepTheirNanoseconds) {
  const fs::path folder = foreign_traces();
  if (folder.empty()) GTEST_SKIP() << "LOCKSTEP_SHARED has no folder traces/";
  const Trace trace = read_trace(folder / "hta/resnet_ddp_ns_resolution_rank0.json.gz");
  const auto at = [](const Event& event) { return event.ts == 1712195495519836506; };
  EXPECT_EQ(std::count_if(trace.events.begin(), trace.events.end(), at), 1);
}

}  // namespace
}  // namespace lockstep::tracer
