// The rules of lesson 16: each finds its fault in one recording, and nothing elsewhere.
#include "lessons/machine/suspicions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace lockstep::lessons {
namespace {

namespace fs = std::filesystem;
using tracer::Trace;

const fs::path kLessons = fs::path(LOCKSTEP_SOURCE_DIR) / "lessons";

/// Returns the names of the faults that the rules find.
std::vector<std::string> faults_of(const Trace& trace) {
  std::vector<std::string> names;
  for (const Suspicion suspicion : all_suspicions()) {
    const Finding finding = investigate(trace, suspicion);
    EXPECT_FALSE(finding.because.empty()) << name(suspicion);
    if (!finding.guilty.empty()) names.emplace_back(name(suspicion));
    if (!finding.guilty.empty()) {
      for (const tracer::Event* event : finding.guilty) EXPECT_NE(event->id, -1);
    }
  }
  return names;
}

Trace recording(const std::string& file) {
  return tracer::read_trace((kLessons / "16-detective" / file).string());
}

TEST(Suspicions, EachRecordingHasOneFault) {
  const std::vector<std::string> faults{
      "loader",   "straggler", "hook", "bucket", "evaluation",
      "division", "set_epoch", "port", "seeds",  "scale"};
  for (size_t i = 0; i < faults.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    const std::string file = (i < 9 ? "cases/0" : "cases/") + number + ".json.gz";
    EXPECT_EQ(faults_of(recording(file)), std::vector<std::string>{faults[i]}) << file;
  }
}

TEST(Suspicions, AHealthyRunHasNone) {
  EXPECT_EQ(faults_of(recording("trace.json.gz")), std::vector<std::string>{});
}

TEST(Suspicions, AreNamedOnce) {
  EXPECT_EQ(all_suspicions().size(), 10u);
  for (const Suspicion suspicion : all_suspicions()) {
    EXPECT_EQ(suspicion_in("#12 " + std::string(name(suspicion))), suspicion);
  }
  EXPECT_EQ(suspicion_in("12 loader or port"), std::nullopt);
  EXPECT_EQ(suspicion_in("12"), std::nullopt);
}

/// A symptom is explained as such.
TEST(Suspicions, SayWhyAnEventProvesNothing) {
  const Trace trace = recording("cases/02.json.gz");
  const Finding slow = investigate(trace, Suspicion::straggler);
  ASSERT_FALSE(slow.guilty.empty());
  for (const tracer::Event* guilty : slow.guilty) {
    EXPECT_EQ(number(*guilty, "rank"), 1);
  }
  const auto* collective = events_of(trace, "collective").at(0);
  EXPECT_NE(why_not(*collective, slow).find("not why"), std::string::npos);
  for (const tracer::Event* kernel : events_of(trace, "kernel")) {
    if (number(*kernel, "rank") == 1) continue;
    EXPECT_NE(why_not(*kernel, slow).find("does nothing unusual"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::lessons
