// What other tools compute from other people's files, and what we do: Holistic Trace
// Analysis 0.6.1, and the profiler's TensorBoard plugin. Where our definition differs,
// both figures are printed with the reason.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <unordered_set>

#include "tests/tracer/golden.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/args.h"
#include "tracer/kineto/kineto.h"
#include "tracer/kineto/names.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

constexpr int64_t kMicrosecond = 1'000;

class Oracle : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* shared = std::getenv("LOCKSTEP_SHARED");
    folder_ = shared ? fs::path(shared) / "traces" : fs::path();
    if (fs::is_directory(folder_ / "oracle")) return;
    const char* ci = std::getenv("CI");
    if (ci && std::string(ci) == "true") {
      FAIL() << "CI needs LOCKSTEP_SHARED=folder with traces/oracle";
    }
    GTEST_SKIP() << "LOCKSTEP_SHARED names no folder with traces/oracle";
  }
  Json oracle(const std::string& name) const {
    return Json::parse(slurp(folder_ / "oracle" / (name + ".json")));
  }
  Trace foreign(const std::string& file) const { return read_trace(folder_ / file); }

  fs::path folder_;
};

bool on_device(const Event& event) {
  return event.ph == 'X' && category_of_kineto(event.cat) == categories::kernel;
}

int64_t correlation_of(const Event& event) {
  return int_arg(event.args, keys::correlation, kNone);
}

/// HTA leaves out what the host did from the last step on, and what that launched.
void drop_last_step(Trace& trace) {
  int64_t last = INT64_MIN;
  std::set<std::string> steps;
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || on_device(event)) continue;
    if (profiler_step_number(event.name.view()) < 0) continue;
    if (event.cat.starts_with("gpu_")) continue;
    steps.insert(event.name.str());
    last = std::max(last, event.ts);
  }
  if (steps.size() < 2) return;
  const auto late = [&](const Event& event) {
    return event.ph == 'X' && !on_device(event) && event.ts >= last;
  };
  std::unordered_set<int64_t> launched;
  for (const Event& event : trace.events) {
    if (!on_device(event) && !late(event)) launched.insert(correlation_of(event));
  }
  std::erase_if(trace.events, [&](const Event& event) {
    return late(event) ||
           (on_device(event) && !launched.contains(correlation_of(event)));
  });
}

/// HTA counts in whole microseconds: starts are rounded up, ends down, both as float64,
/// which holds quarters of a microsecond of today's date. Returns whether that changed
/// a time.
bool round_inward(Trace& trace) {
  bool changed = false;
  for (Event& event : trace.events) {
    if (event.ph != 'X') continue;
    const auto us = static_cast<double>(static_cast<long double>(event.ts) / 1'000);
    const double length = static_cast<double>(event.dur) / 1'000;
    const int64_t ts = static_cast<int64_t>(std::ceil(us)) * kMicrosecond;
    const int64_t end = static_cast<int64_t>(std::floor(us + length)) * kMicrosecond;
    changed |= ts != event.ts || end != event.end();
    event.ts = ts, event.dur = std::max<int64_t>(0, end - ts);
  }
  return changed;
}

std::vector<DeviceTimes> times_of(const Trace& foreign) {
  const Trace trace = import_kineto(foreign);
  return device_times(trace, Lanes(trace));
}

int64_t count_of(const Json& categories, std::initializer_list<const char*> names) {
  int64_t sum = 0;
  for (const char* name : names) sum += int_arg(categories, name);
  return sum;
}

const Json& row_of(const Json& rows, int64_t rank) {
  for (const Json& row : rows) {
    if (row["rank"] == rank) return row;
  }
  throw std::out_of_range("no such rank");
}

class HtaOracle : public Oracle, public ::testing::WithParamInterface<const char*> {};

TEST_P(HtaOracle, TimesAndCountsAreEqual) {
  const Json hta = oracle(std::string("hta_") + GetParam());
  for (const auto& [name, file] : hta["files"].items()) {
    SCOPED_TRACE(file.get<std::string>());
    Trace trace = foreign(file);
    drop_last_step(trace);
    const auto exact = times_of(trace);
    const bool rounded = round_inward(trace);
    const auto times = times_of(trace);
    ASSERT_EQ(times.size(), 1u);
    const DeviceTimes& ours = times[0];
    const int64_t rank = std::stoll(name);
    const Json& theirs = row_of(hta["temporal_breakdown"], rank);
    const auto us = [](int64_t ns) { return static_cast<double>(ns) / kMicrosecond; };
    const Json& rows = hta["rows"][name]["by_cat"];

    EXPECT_EQ(ours.kernels + ours.collectives, count_of(rows, {"kernel", "Kernel"}));
    EXPECT_EQ(ours.copies, count_of(rows, {"gpu_memcpy", "Memcpy"}));
    EXPECT_EQ(ours.memsets, count_of(rows, {"gpu_memset", "Memset"}));
    EXPECT_EQ(us(ours.computing), theirs["compute_time(us)"].get<double>());
    const int64_t waits = count_of(rows, {"cuda_sync"});
    if (waits > 0) {
      std::cout << fmt::format(
          "{}: recorded {} µs, HTA {}; idle {} µs, HTA {}: for HTA a device that {} "
          "waits (`cuda_sync`) stand on is not idle; for us it runs nothing\n",
          file.get<std::string>(), us(ours.recorded), theirs["kernel_time(us)"].dump(),
          us(ours.idle), theirs["idle_time(us)"].dump(), waits);
    } else {
      EXPECT_EQ(us(ours.recorded), theirs["kernel_time(us)"].get<double>());
      EXPECT_EQ(us(ours.idle), theirs["idle_time(us)"].get<double>());
      EXPECT_EQ(us(ours.recorded - ours.computing - ours.idle),
                theirs["non_compute_time(us)"].get<double>());
    }
    const Json& overlap = row_of(hta["comm_comp_overlap"], rank);
    if (overlap["comp_comm_overlap_pctg"].is_null()) {
      EXPECT_EQ(ours.communicating, 0);
    } else {
      EXPECT_NEAR(100 * static_cast<double>(ours.both) /
                      static_cast<double>(ours.communicating),
                  overlap["comp_comm_overlap_pctg"].get<double>(), 0.00501)
          << "it has two digits";
    }
    if (!rounded) continue;
    std::cout << fmt::format(
        "{}: computing {} µs, HTA {}; idle {} µs, HTA {}: HTA rounds each task's times "
        "to float64 and inward to whole µs\n",
        file.get<std::string>(), us(exact[0].computing),
        theirs["compute_time(us)"].dump(), us(exact[0].idle),
        theirs["idle_time(us)"].dump());
  }
}

INSTANTIATE_TEST_SUITE_P(, HtaOracle,
                         ::testing::Values("param_dlrm_8rank", "cp_alexnet_simple_add",
                                           "large_216k_events_rank1_of_2",
                                           "rank0_of_16_queue_length",
                                           "resnet_ddp_ns_resolution_rank0",
                                           "tb_resnet50_nw0_span1", "tl_resnet18_1gpu"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(Oracle, StepTimesAreThePlugins) {
  const Json plugin = oracle("tb_plugin_resnet50_expected")["num_workers_0"];
  const Summary summary = summarize(import_kineto(foreign(plugin["trace"])));
  const Json& theirs = plugin["steps_us"];
  ASSERT_EQ(summary.train.steps.size(), theirs.size());
  for (size_t i = 0; i < theirs.size(); ++i) {
    int64_t length = 0;  // the plugin shows the parts of a step
    for (const auto& [part, us] : theirs[i].items()) {
      if (part != "Step") length += us.get<int64_t>();
    }
    EXPECT_EQ(std::to_string(summary.train.steps[i].step),
              theirs[i]["Step"].get<std::string>());
    EXPECT_NEAR(summary.train.steps[i].length, length * kMicrosecond, kMicrosecond);
  }
  EXPECT_NEAR(summary.train.mean_length(),
              plugin["overview_performance"][0]["value"].get<int64_t>() * kMicrosecond,
              kMicrosecond);
}

TEST_F(Oracle, CollectivesHaveTheSizesOfTheirInputs) {
  const Trace trace = import_kineto(foreign("param_dlrm_8rank/rank-0.json.gz"));
  std::vector<std::string> found;
  for (const Event& event : trace.events) {
    if (!event.is(categories::collective)) continue;
    found.push_back(
        fmt::format("{} {}", event.name.str(), int_arg(event.args, keys::bytes, -1)));
  }
  const std::vector<std::string> expected = {
      "all_to_all 24576",   "all_to_all 192",   "all_to_all 1536", "all_to_all 13568",
      "all_reduce 1576964", "all_to_all 24576", "all_reduce 448",  "all_reduce 907840"};
  std::sort(found.begin(), found.end());
  auto sorted = expected;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(found, sorted);
}

}  // namespace
}  // namespace lockstep::tracer
