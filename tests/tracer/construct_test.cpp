// Programs that are constructed from one device's step: they obey every law that holds
// for recorded ones, their buckets are PyTorch's, and their collectives take the time
// that the formula of a ring gives.
#include "tracer/emulate/construct/construct.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/tracer/golden.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/steps.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

/// A training step of ResNet18 for CIFAR-10 on one device.
const Trace& one_device() {
  static const Trace trace =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/01-tape/trace.json.gz");
  return trace;
}

Trace program_on(const ConstructedProgram& program, const Link& link = {}) {
  EmulateOptions options;
  options.link = link;
  return emulate(construct_ddp(one_device(), program), options);
}

std::string laws_broken_by(const Trace& trace) {
  std::string broken;
  for (const Finding& finding : check_trace(trace).findings) {
    if (!finding.ok) broken += finding.law + ": " + finding.message + "\n";
  }
  return broken;
}

std::vector<Event> collectives(const Trace& trace, std::string_view why, int64_t rank) {
  std::vector<Event> found;
  for (const Event& event : trace.events) {
    if (event.is(categories::collective) && collective_facts(event).why == why &&
        int_arg(event.args, keys::rank) == rank) {
      found.push_back(event);
    }
  }
  return found;
}

int64_t step_length(const Trace& trace) {
  return join_ranks(find_steps(trace)).at(0).length();
}

TEST(ConstructDdp, ObeysEveryLaw) {
  for (const int devices : {1, 2, 3, 8}) {
    EXPECT_EQ(laws_broken_by(program_on({devices})), "") << devices << " devices";
  }
}

TEST(ConstructDdp, ObeysEveryLawForAnyBucketCap) {
  std::mt19937 random(19);
  for (int i = 0; i < 40; ++i) {
    ConstructedProgram program;
    program.devices = 1 + static_cast<int>(random() % 6);
    program.bucket_cap = int64_t{1} << (random() % 28);
    EXPECT_EQ(laws_broken_by(program_on(program)), "")
        << program.devices << " devices, cap " << program.bucket_cap;
  }
}

// The bucket sizes of ResNet18 for CIFAR-10 in PyTorch: 25 MiB.
TEST(ConstructDdp, HasPyTorchsBuckets) {
  const Trace trace = program_on({4});
  std::vector<int64_t> bytes;
  for (const Event& event : collectives(trace, reasons::all_reduce, 3)) {
    bytes.push_back(collective_facts(event).bytes);
  }
  EXPECT_EQ(bytes, (std::vector<int64_t>{9'461'800, 26'494'976, 8'739'072}));
  const std::vector<Event> buffers = collectives(trace, reasons::broadcast, 0);
  ASSERT_EQ(buffers.size(), 2u);
  EXPECT_EQ(collective_facts(buffers[0]).bytes, 38'400);
  EXPECT_EQ(collective_facts(buffers[1]).bytes, 160);
}

// steps · α + 2 (N − 1) / N · bytes / B with 2 (N − 1) steps, in µs, for these buckets,
// α = 10 µs and B = 10 GB/s. Each message's time is rounded to a nanosecond.
TEST(ConstructDdp, TakesTheTimeOfARing) {
  const std::map<int, std::vector<double>> expected{
      {2, {966.180, 2669.498, 893.907}},
      {4, {1479.270, 4034.246, 1370.861}},
      {8, {1795.815, 4776.621, 1669.338}}};
  for (const auto& [devices, times] : expected) {
    const Trace trace = program_on({devices}, {10, 10});
    const std::vector<Event> sums = collectives(trace, reasons::all_reduce, 0);
    ASSERT_EQ(sums.size(), times.size());
    for (size_t i = 0; i < times.size(); ++i) {
      std::map<int64_t, int64_t> taken;  // by ring step, on any rank
      for (const Event& event : trace.events) {
        const CopyFacts copy = copy_facts(event);
        if (copy.is_message && copy.why == reasons::all_reduce &&
            copy.seq == collective_facts(sums[i]).seq && copy.dst == 0) {
          taken[copy.ring_step] = event.dur;
        }
      }
      EXPECT_EQ(taken.size(), 2u * (devices - 1));
      double sum = 0;
      for (const auto& [step, time] : taken) sum += static_cast<double>(time) / 1e3;
      EXPECT_NEAR(sum, times[i], 0.0006 * 2 * (devices - 1)) << devices << ", " << i;
      EXPECT_GE(sums[i].dur + 1, static_cast<int64_t>(sum * 1e3)) << devices;
    }
  }
}

// With its own durations, the result keeps its times.
TEST(ConstructDdp, IsReproducedFromItsOwnDurations) {
  const Trace once = program_on({3});
  EmulateOptions same;
  same.measured_durations = true;
  const Trace twice = emulate(once, same);
  ASSERT_EQ(once.events.size(), twice.events.size());
  for (size_t i = 0; i < once.events.size(); ++i) {
    EXPECT_EQ(once.events[i].ts, twice.events[i].ts) << once.events[i].name;
    EXPECT_EQ(once.events[i].dur, twice.events[i].dur) << once.events[i].name;
  }
}

TEST(ConstructDdp, IsNeverFasterThanItsDeviceNorSlowedByFasterLinks) {
  const int64_t alone = step_length(program_on({1}));
  int64_t before = INT64_MAX;
  for (const double gb_per_s : {0.1, 1.0, 12.0, 300.0}) {
    const int64_t now = step_length(program_on({4}, {gb_per_s, 10}));
    EXPECT_LE(now, before) << gb_per_s;
    EXPECT_GE(now, alone) << gb_per_s;
    before = now;
  }
  // 2 · 3/4 · 44.7 MB leave each port at 0.1 GB/s.
  EXPECT_GE(step_length(program_on({4}, {0.1, 10})), 670'000'000);
}

TEST(ConstructDdp, SaysWhatItAssumes) {
  const Trace trace = program_on({2});
  const std::string assumed = trace.lockstep[top::emulation]["assumed"];
  EXPECT_NE(assumed.find("constructed from the median training step"), assumed.npos);
  EXPECT_EQ(construction(one_device()), "");
  EXPECT_EQ(string_arg(trace.lockstep, top::clock), values::emulated);
}

/// Returns the first kernel of rank 1 whose `phase` argument is `phase`.
const Event& first_kernel(const Trace& trace, std::string_view phase) {
  for (const Event& event : trace.events) {
    if (event.is(categories::kernel) && int_arg(event.args, keys::rank) == 1 &&
        kernel_facts(event).phase == phase) {
      return event;
    }
  }
  throw std::runtime_error("no kernel of the phase");
}

TEST(ConstructDdp, WaitsForSumsAndBuffers) {
  const Trace trace = program_on({2}, {0.01, 10});  // links far slower than computing
  EXPECT_GE(first_kernel(trace, phases::all_reduce).ts,
            collectives(trace, reasons::all_reduce, 1).front().end());
  EXPECT_GE(first_kernel(trace, phases::forward).ts,
            collectives(trace, reasons::broadcast, 1).back().end());
  EXPECT_GE(first_kernel(trace, phases::optimizer).ts,
            collectives(trace, reasons::all_reduce, 1).back().end());
}

std::string reason_of(const std::function<void()>& construct) {
  try {
    construct();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(ConstructDdp, RefusesWhatItWouldHaveToGuess) {
  const auto with = [](ConstructedProgram program) {
    return reason_of([&] { construct_ddp(one_device(), program); });
  };
  const int64_t each = find_steps(one_device()).at(0).batch;
  EXPECT_EQ(with({2, 2 * each}), "");
  EXPECT_NE(
      with({2, each}).find("would have to be guessed; fix: record a step with -b"),
      std::string::npos);
  EXPECT_NE(with({65}).find("65 devices"), std::string::npos);
  const Trace ddp = read_trace(testing::minimal_ddp_path());
  EXPECT_NE(reason_of([&] { construct_ddp(ddp, {}); }).find("of mode ddp"),
            std::string::npos);
  Trace null = one_device();
  for (Event& event : null.events) {
    if (event.is(categories::kernel)) event.args[keys::cpu_us] = 0.0;
  }
  EXPECT_NE(reason_of([&] { construct_ddp(null, {}); }).find("computed nothing"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::tracer
