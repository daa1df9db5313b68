// The compact re-timing of symmetric ranks gives exactly the step times of the program
// with an event for each message.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "engine/plan/ring.h"
#include "tests/sanitized.h"
#include "tests/tracer/golden.h"
#include "tracer/analysis/steps.h"
#include "tracer/emulate/symmetric/ring_times.h"
#include "tracer/emulate/symmetric/symmetric_ddp.h"

namespace lockstep::tracer {
namespace {

const Trace& one_device_step() {
  static const Trace trace =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/01-tape/trace.json.gz");
  return trace;
}

int64_t full_length(const ConstructedProgram& program, const EmulateOptions& options) {
  const Trace trace = emulate(construct_ddp(one_device_step(), program), options);
  return join_ranks(find_steps(trace)).at(0).length();
}

void expect_equal(const ConstructedProgram& program, const EmulateOptions& options) {
  const SymmetricStep step = SymmetricDdp(one_device_step(), program).retime(options);
  EXPECT_TRUE(step.exact);
  EXPECT_EQ(step.length, full_length(program, options))
      << program.devices << " ranks, cap " << program.bucket_cap << ", "
      << options.link.gb_per_s << " GB/s, " << options.link.latency_us << " µs, "
      << options.compute_scale << "x";
}

TEST(SymmetricDdp, EqualsTheProgramWithAllMessages) {
  for (const int ranks : {1, 2, 3, 4, 5, 8, 13, 16, 31, 32}) {
    if (kSanitized && ranks > 5) break;
    for (const double gb_per_s : {0.02, 12.0}) {
      EmulateOptions options;
      options.link.gb_per_s = gb_per_s;
      expect_equal({ranks}, options);
    }
  }
}

TEST(SymmetricDdp, EqualsItForRandomProgramsAndHardware) {
  std::mt19937 random(19);
  const auto between = [&](double least, double most) {
    return std::exp(
        std::uniform_real_distribution<>(std::log(least), std::log(most))(random));
  };
  for (int i = 0; i < (kSanitized ? 5 : 25); ++i) {
    ConstructedProgram program;
    program.devices = 2 + static_cast<int>(random() % 9);
    program.bucket_cap = static_cast<int64_t>(between(1, 1e8));
    EmulateOptions options;
    options.link = {between(0.01, 900), between(0.01, 2000)};
    options.compute_scale = between(0.05, 50);
    expect_equal(program, options);
  }
}

/// Follows each message by the rules of the header.
std::vector<int64_t> followed(const std::vector<int64_t>& joined,
                              const std::vector<int64_t>& chunks) {
  const int n = static_cast<int>(joined.size());
  std::vector<int64_t> before(joined.size()), now(joined.size());
  for (int step = 0; step < 2 * (n - 1); ++step) {
    for (int r = 0; r < n; ++r) {
      const plan::RingStep plan = plan::ring_all_reduce(r, n)[step];
      int64_t begin = std::max(joined[r], joined[plan.receive_from]);
      if (step > 0) begin = std::max({begin, before[r], before[plan.receive_from]});
      now[r] = begin + chunks[plan.receive_chunk];
    }
    before = now;
  }
  std::vector<int64_t> ends(joined.size());
  for (int r = 0; r < n; ++r) ends[r] = std::max(now[r], now[(r + 1) % n]);
  return ends;
}

TEST(RingTimes, EqualsFollowingEachMessage) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    std::vector<int64_t> joined(2 + random() % 9), chunks(joined.size());
    for (int64_t& time : joined) time = random() % 100;
    const bool equal = i % 3 == 0;
    for (int64_t& time : chunks) time = equal ? 7 : 5 + random() % 3;
    EXPECT_EQ(ring_ends(joined, chunks), followed(joined, chunks));
  }
}

TEST(SymmetricDdp, ShowsRepresentatives) {
  EXPECT_EQ(representatives_of(3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(representatives_of(1024), (std::vector<int>{0, 1, 512, 1023}));
  ConstructedProgram program;
  program.devices = 6;
  const EmulateOptions options;
  const Trace all = emulate(construct_ddp(one_device_step(), program), options);
  const Trace some =
      SymmetricDdp(one_device_step(), program).representatives(options, {0, 5});
  const auto ends = [](const Trace& trace, int64_t rank) {
    for (const Step& step : find_steps(trace)) {
      if (step.rank == rank) return step.length();
    }
    return int64_t{0};
  };
  EXPECT_EQ(ends(some, 0), ends(all, 0));
  EXPECT_EQ(ends(some, 1), ends(all, 5));
}

TEST(SymmetricDdp, RefusesWhatItCannotCompute) {
  ConstructedProgram program;
  program.devices = kMostRanks + 1;
  EXPECT_THROW(SymmetricDdp(one_device_step(), program), std::runtime_error);
  program.devices = 4;
  program.batch = 30;
  EXPECT_THROW(SymmetricDdp(one_device_step(), program), std::runtime_error);
}

}  // namespace
}  // namespace lockstep::tracer
