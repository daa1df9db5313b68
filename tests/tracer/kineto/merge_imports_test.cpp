// Files of PyTorch's profiler from several ranks, merged.
// sanitize: address
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/tracer/golden.h"
#include "tests/tracer/kineto/profiler_file.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/args.h"
#include "tracer/format/merge.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

/// A rank whose only device is number 0, as under CUDA_VISIBLE_DEVICES: it computes for
/// `computing` µs, and then reduces for 10.
Trace rank_of_two(int rank, double computing, double start = 0) {
  ProfilerFile file(rank, 2);
  file.step(1, start, 100);
  file.kernel("sgemm", start + 1, start + 10, computing);
  file.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", start + 2,
              start + 10 + computing, 10, 20);
  file.task("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", start + 3, start + 95, 2, 7,
            R"("bytes": 64)");
  return file.imported();
}

std::vector<Trace> two(Trace a, Trace b) {
  std::vector<Trace> ranks;
  ranks.push_back(std::move(a));
  ranks.push_back(std::move(b));
  return ranks;
}

Trace merged_imports() {
  return merge_traces(two(rank_of_two(0, 30), rank_of_two(1, 60)), {"a", "b"});
}

TEST(MergedImports, EachRankHasADeviceOfItsOwn) {
  const Trace trace = merged_imports();
  EXPECT_TRUE(check_trace(trace).ok()) << check_text(check_trace(trace));
  const Json& devices = trace.lockstep["devices"];
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1]["id"], 1);
  EXPECT_EQ(devices[1]["rank"], 1);
  EXPECT_EQ(devices[1]["name"], "GPU 0 of rank 1");
  const Summary summary = summarize(trace);
  EXPECT_EQ(summary.devices, 2);
  ASSERT_EQ(summary.train.steps.size(), 1u);
  EXPECT_EQ(summary.train.steps[0].computing.at(0), 30'000);
  EXPECT_EQ(summary.train.steps[0].computing.at(1), 60'000);
  EXPECT_EQ(summary.train.ports.at(1).in, 64);
}

TEST(MergedImports, AnotherRanksKernelsHideNoCollective) {
  const auto collectives = summarize(merged_imports()).train.steps.at(0).collectives;
  ASSERT_EQ(collectives.size(), 2u);
  EXPECT_EQ(collectives[0].exposed, 10'000) << "rank 1 computes meanwhile";
  EXPECT_EQ(collectives[1].exposed, 10'000);
}

TEST(MergedImports, NoRankIsBlamed) {
  const std::string text = summary_text(summarize(merged_imports()));
  EXPECT_EQ(text.find("slowest"), std::string::npos) << text;
  EXPECT_EQ(text.find("waits least"), std::string::npos) << text;
  EXPECT_EQ(text.find("Gloo"), std::string::npos) << text;
  EXPECT_NE(text.find("which rank is late cannot be told"), std::string::npos) << text;
}

TEST(MergedImports, DevicesOfDifferentNumbersKeepThem) {
  Trace first = rank_of_two(0, 30), second = rank_of_two(1, 60);
  for (Json& device : second.lockstep["devices"]) device["id"] = 5;
  const Trace trace =
      merge_traces(two(std::move(first), std::move(second)), {"a", "b"});
  ASSERT_EQ(trace.lockstep["devices"].size(), 2u);
  EXPECT_EQ(trace.lockstep["devices"][1]["id"], 5);
  EXPECT_EQ(trace.lockstep["devices"][1]["name"], "GPU 0");
}

std::string refused(Trace a, Trace b) {
  try {
    merge_traces(two(std::move(a), std::move(b)), {"a.json", "b.json"});
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(MergedImports, DifferentJobsAreRefused) {
  constexpr double kDay = 86'400e6;  // µs
  EXPECT_EQ(refused(rank_of_two(0, 30), rank_of_two(1, 60, 147 * kDay)),
            "a.json and b.json were recorded 146 days apart: they are from different "
            "jobs; fix: merge files that were recorded at the same time");
  Trace of_four = rank_of_two(1, 60);
  of_four.other["distributedInfo"]["world_size"] = 4;
  EXPECT_EQ(refused(rank_of_two(0, 30), rank_of_two(0, 60)),
            "a.json and b.json both belong to rank 0; fix: import each with its own "
            "--rank");
  EXPECT_EQ(refused(rank_of_two(0, 30), std::move(of_four)),
            "a.json and b.json are from different jobs, of 2 and 4 ranks");
  EXPECT_EQ(refused(rank_of_two(0, 30), rank_of_two(1, 60, 1e6)), "nothing was thrown")
      << "a second apart: their clocks may differ";
}

/// A folder with files of ranks.
class JobFiles : public ::testing::Test {
 protected:
  JobFiles() { fs::create_directories(folder_); }
  ~JobFiles() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << text;
    return path;
  }
  std::string rank_file(int rank, int ranks = 2) const {
    ProfilerFile made(rank, ranks);
    made.step(1, 0, 100).kernel("sgemm", 1, 10, 20);
    return file("rank-" + std::to_string(rank) + ".json", made.text());
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) /
                           ("lockstep_job_files" + std::to_string(::getpid()));
  std::string why_;
};

TEST_F(JobFiles, OfAllRanksAreOneTrace) {
  const auto job = open_job({rank_file(1), rank_file(0)}, why_);
  ASSERT_TRUE(job) << why_;
  EXPECT_EQ(job->lockstep[top::devices].size(), 2u);
  EXPECT_TRUE(check_trace(*job).ok());
  const Trace again = parse_trace(trace_text(*job), "merged");
  EXPECT_EQ(again.lockstep, job->lockstep);
  EXPECT_GE(again.events.size(), job->events.size());  // and the flows
}

TEST_F(JobFiles, OfOneRankOrWithoutARankStayApart) {
  EXPECT_FALSE(open_job({rank_file(0)}, why_));
  const std::string same = file("same.json", ProfilerFile(0, 2).step(1, 0, 9).text());
  EXPECT_FALSE(open_job({rank_file(0), same}, why_));
  EXPECT_FALSE(open_job({rank_file(0), file("other.json", "[]")}, why_));
  EXPECT_EQ(why_, "");
  EXPECT_FALSE(open_job({rank_file(0), rank_file(1, 4)}, why_));
  EXPECT_NE(why_.find("are from different jobs, of 2 and 4 ranks"), why_.npos) << why_;
}

}  // namespace
}  // namespace lockstep::tracer
