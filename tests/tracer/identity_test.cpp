// Re-timed with its own durations, a trace keeps every time; and constructed programs
// of any size obey every law.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "tests/sanitized.h"
#include "tests/tracer/golden.h"
#include "tracer/analysis/check.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/construct/recorded_step.h"
#include "tracer/emulate/emulate.h"

namespace lockstep::tracer {
namespace {

/// Returns the traces of the lessons and the hand-written ones.
std::vector<std::filesystem::path> committed_traces() {
  const std::filesystem::path root = LOCKSTEP_SOURCE_DIR;
  std::vector<std::filesystem::path> paths{testing::minimal_path(),
                                           testing::minimal_ddp_path()};
  for (const auto& lesson : std::filesystem::directory_iterator(root / "lessons")) {
    const auto trace = lesson.path() / "trace.json.gz";
    if (std::filesystem::exists(trace)) paths.push_back(trace);
  }
  return paths;
}

TEST(Identity, EveryCommittedTraceKeepsItsTimes) {
  size_t traces = 0;
  for (const auto& path : committed_traces()) {
    const Trace recorded = read_trace(path);
    if (recorded.lockstep.contains(top::imported)) continue;  // its edges are unknown
    const Trace again = emulate(recorded, {.measured_durations = true});
    ASSERT_EQ(recorded.events.size(), again.events.size());
    size_t moved = 0;
    for (size_t i = 0; i < recorded.events.size(); ++i) {
      const Event &a = recorded.events[i], &b = again.events[i];
      moved += a.id != b.id || a.ts != b.ts || a.dur != b.dur ? 1 : 0;
    }
    EXPECT_EQ(moved, 0u) << path;
    ++traces;
  }
  EXPECT_GE(traces, 15u);
}

/// Returns the lessons' traces of which programs can be constructed.
const std::vector<Trace>& steps_of_one_device() {
  static const std::vector<Trace> traces = [] {
    std::vector<Trace> found;
    for (const auto& path : committed_traces()) {
      Trace trace = read_trace(path);
      try {
        construct(trace, {.devices = 2});
        construct(trace, {.devices = 2, .mode = "dp"});
        found.push_back(std::move(trace));
      } catch (const std::runtime_error&) {  // of several devices, or without a step
      }
    }
    std::sort(found.begin(), found.end(), [](const Trace& a, const Trace& b) {
      return a.events.size() < b.events.size();
    });
    found.resize(std::min<size_t>(found.size(), 3));  // the test is to stay cheap
    return found;
  }();
  return traces;
}

constexpr int kPrograms = kSanitized ? 10 : 200;

TEST(Identity, RandomProgramsObeyEveryLaw) {
  ASSERT_GE(steps_of_one_device().size(), 2u);
  std::mt19937 random(2019);
  for (int i = 0; i < kPrograms; ++i) {
    const Trace& trace = steps_of_one_device()[random() % steps_of_one_device().size()];
    ConstructedProgram program;
    program.mode = random() % 2 == 0 ? "dp" : "ddp";
    program.devices = 1 + static_cast<int>(random() % 16);
    program.bucket_cap = int64_t{1} << (12 + random() % 16);
    if (program.mode == "ddp" && random() % 2 == 0) {
      program.batch = program.devices * recorded_step(trace).batch;
    }
    EmulateOptions options;
    options.compute_scale = 1 + static_cast<double>(random() % 50);
    options.link.gb_per_s = 0.5 + static_cast<double>(random() % 40);
    const auto checked = check_trace(emulate(construct(trace, program), options));
    for (const Finding& finding : checked.findings) {
      EXPECT_TRUE(finding.ok) << program.mode << " on " << program.devices << ", cap "
                              << program.bucket_cap << ": " << finding.law << ": "
                              << finding.message;
    }
  }
}

}  // namespace
}  // namespace lockstep::tracer
