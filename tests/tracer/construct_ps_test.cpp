// Parameter servers, constructed from one device's step: they obey every law, move the
// servers' keys once in each direction, and their ports bound how fast a step can be.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tracer/analysis/check.h"
#include "tracer/analysis/steps.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

constexpr int64_t kParameterBytes = 44'695'848;  // ResNet18 for CIFAR-10

/// A training step of ResNet18 for CIFAR-10 on one device, with 8 images.
const Trace& one_worker() {
  static const Trace trace =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/01-tape/trace.json.gz");
  return trace;
}

Trace constructed_ps(int workers, int servers) {
  ConstructedProgram program;
  program.mode = "ps";
  program.devices = workers;
  program.servers = servers;
  return construct(one_worker(), program);
}

Trace emulated_ps(int workers, int servers, const Link& link = {}) {
  EmulateOptions options;
  options.link = link;
  return emulate(constructed_ps(workers, servers), options);
}

std::string laws_broken_by_ps(const Trace& trace) {
  std::string broken;
  for (const Finding& finding : check_trace(trace).findings) {
    if (!finding.ok) broken += finding.law + ": " + finding.message + "\n";
  }
  return broken;
}

int64_t length_of_ps(const Trace& trace) {
  return join_ranks(find_steps(trace)).at(0).length();
}

TEST(ConstructPs, ObeysEveryLawForAnyNumberOfWorkersAndServers) {
  std::mt19937 random(22);
  for (int i = 0; i < 12; ++i) {
    const int workers = 1 + static_cast<int>(random() % 6),
              servers = 1 + static_cast<int>(random() % 5);
    EXPECT_EQ(laws_broken_by_ps(emulated_ps(workers, servers)), "")
        << workers << " workers, " << servers << " servers";
  }
}

// Each worker pulls all keys and pushes as many, in each server's share of them.
TEST(ConstructPs, MovesEachServersKeysInBothDirections) {
  std::map<std::string, int64_t> bytes;
  for (const Event& event : emulated_ps(3, 2).events) {
    if (!event.is(categories::copy)) continue;
    const CopyFacts copy = copy_facts(event);
    if (copy.why != reasons::push && copy.why != reasons::pull) continue;
    bytes[fmt::format("{} {}>{}", copy.why, copy.src, copy.dst)] += copy.bytes;
  }
  std::map<std::string, int64_t> expected;
  for (int worker = 0; worker < 3; ++worker) {
    for (int server = 3; server < 5; ++server) {
      expected[fmt::format("pull {}>{}", server, worker)] = kParameterBytes / 2;
      expected[fmt::format("push {}>{}", worker, server)] = kParameterBytes / 2;
    }
  }
  EXPECT_EQ(bytes, expected);
}

// Two workers' gradients are added by one server: 3 tensors are moved to add them and
// 2 to divide them; the update is that of the recorded step.
TEST(ConstructPs, UpdatesOnTheServer) {
  const Trace trace = emulated_ps(2, 1);
  std::vector<std::pair<std::string, int64_t>> kernels;
  int64_t pushed = 0, began = INT64_MAX;
  for (const Event& event : trace.events) {
    if (event.is(categories::copy) && copy_facts(event).why == reasons::push) {
      pushed = std::max(pushed, event.end());
    }
    if (!event.is(categories::kernel) || int_arg(event.args, keys::device) != 2)
      continue;
    kernels.emplace_back(event.name.str(), int_arg(event.args, keys::bytes));
    began = std::min(began, event.ts);
  }
  EXPECT_EQ(kernels, (std::vector<std::pair<std::string, int64_t>>{
                         {"add", 3 * kParameterBytes},
                         {"scale", 2 * kParameterBytes},
                         {"sgd", 4 * kParameterBytes}}));
  EXPECT_GE(began, pushed);
  EXPECT_GE(length_of_ps(trace), began);  // the step waits for it
}

// Every byte of a pull leaves a server's port, and every byte of a push enters it: the
// one server of 4 workers is the bottleneck that 4 servers are not.
TEST(ConstructPs, IsBoundByTheServersPorts) {
  const Link slow{1, 10};  // GB/s, µs
  const int64_t alone = length_of_ps(emulated_ps(1, 1, {1e6, 0}));
  const int64_t one = length_of_ps(emulated_ps(4, 1, slow)),
                four = length_of_ps(emulated_ps(4, 4, slow));
  EXPECT_GE(one, 2 * 4 * kParameterBytes);  // ns at 1 GB/s, one way after the other
  EXPECT_LT(four, one);
  EXPECT_GE(four, 2 * kParameterBytes);
  EXPECT_GT(four, alone);
  int64_t before = INT64_MAX;
  for (const double gb_per_s : {0.1, 1.0, 12.0, 300.0}) {
    const int64_t now = length_of_ps(emulated_ps(3, 2, {gb_per_s, 10}));
    EXPECT_LE(now, before) << gb_per_s;
    before = now;
  }
}

// With links that cost nothing, a worker alone does the recorded step, copies the
// weights and the gradients once each on its device, and updates on another one.
TEST(ConstructPs, TakesLittleLongerThanTheStepWithoutLinks) {
  EmulateOptions free;
  free.link = {1e6, 0};
  const int64_t alone = length_of_ps(emulate(construct_single(one_worker()), free));
  const int64_t worker = length_of_ps(emulated_ps(1, 1, {1e6, 0}));
  EXPECT_GT(worker, alone);
  int64_t copies = 0;
  for (const Event& event : emulated_ps(1, 1).events) {
    const std::string_view name = event.name.view();
    if (!event.is(categories::kernel) || int_arg(event.args, keys::device) != 0)
      continue;
    const std::string_view phase = kernel_facts(event).phase;
    if (phase == phases::pull || (phase == phases::optimizer && name == "scale")) {
      copies += event.dur;
    }
  }
  EXPECT_NEAR(static_cast<double>(worker), static_cast<double>(alone + copies), 3e6);
}

// With its own durations, the result keeps its times.
TEST(ConstructPs, IsReproducedFromItsOwnDurations) {
  const Trace once = emulated_ps(3, 2);
  EmulateOptions same;
  same.measured_durations = true;
  const Trace twice = emulate(once, same);
  ASSERT_EQ(once.events.size(), twice.events.size());
  for (size_t i = 0; i < once.events.size(); ++i) {
    EXPECT_EQ(once.events[i].ts, twice.events[i].ts) << once.events[i].name;
    EXPECT_EQ(once.events[i].dur, twice.events[i].dur) << once.events[i].name;
  }
}

TEST(ConstructPs, SaysWhatItAssumes) {
  const std::string text = construction(constructed_ps(2, 3));
  EXPECT_NE(
      text.find("each of 2 ranks repeats it with a batch of 8, between a pull from "
                "and a push to each of 3 parameter servers"),
      text.npos)
      << text;
  EXPECT_THROW(constructed_ps(63, 2), std::runtime_error);
  EXPECT_THROW(constructed_ps(2, 0), std::runtime_error);
}

}  // namespace
}  // namespace lockstep::tracer
