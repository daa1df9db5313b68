// Clocks of several machines: synthetic traces whose true times are known. True times
// have no violation, so the tightened trace must have none, whatever each clock shows.
#include "tracer/format/clocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tracer/format/merge.h"

namespace lockstep::tracer {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

/// A machine's clock: what it shows at a true time.
struct Wrong {
  int64_t offset = 0;
  double drift = 0;   ///< seconds per second
  double wobble = 0;  ///< ns, of a period that is shorter than the recording
  int64_t shows(int64_t time) const {
    const auto t = static_cast<double>(time);
    return time + offset + std::llround(t * drift + wobble * std::sin(t / 4e8));
  }
};

/// What a simulated ring of `ranks` ranks on as many machines records.
struct Ring {
  int ranks = 2;
  std::vector<Wrong> clocks;                ///< by rank; rank 0's is the reference
  std::vector<std::vector<int64_t>> delay;  ///< [from][to], one way
  bool compares = true;
  int messages = 40;
  std::mt19937_64 random{7};

  int64_t up_to(int64_t most) { return static_cast<int64_t>(random() % (most + 1)); }

  Trace empty(int rank) const {
    Trace trace;
    trace.other = {{"distributedInfo", {{"rank", rank}, {"world_size", ranks}}}};
    Json offsets = Json::array();
    if (rank > 0 && compares) {
      for (const int64_t at : {int64_t{0}, 2000 * kMillisecond})
        offsets.push_back(compared(rank, at));
    }
    trace.lockstep = {{"mode", "ddp"},
                      {"rank_clock",
                       {{"boot_id", "boot of " + std::to_string(rank)},
                        {"origin_ns", clocks[rank].shows(0)}}}};
    if (compares) trace.lockstep["rank_clock"]["offsets"] = offsets;
    return trace;
  }

  /// A ping-pong at true time `at`: its error is the asymmetry of the delays.
  Json compared(int rank, int64_t at) const {
    const int64_t there = delay[rank][0], back = delay[0][rank];
    const int64_t asked = clocks[rank].shows(at);
    const int64_t theirs = clocks[0].shows(at + there);
    const int64_t answered = clocks[rank].shows(at + there + back);
    const int64_t middle = asked + (answered - asked) / 2;
    return {{"at_ns", middle},
            {"offset_ns", theirs - middle},
            {"round_trip_ns", answered - asked}};
  }

  void add(Trace& trace, int rank, const char* cat, int64_t from, int64_t to, int src,
           int dst, int seq) const {
    Event event;
    const std::string category = cat;
    event.ph = category == "send" ? 'i' : 'X';
    event.cat = category;
    event.name = "all_reduce";
    event.pid = 100 * rank + 1 + rank;
    event.tid = 2;
    event.id = static_cast<int64_t>(trace.events.size());
    event.ts = clocks[rank].shows(from) - clocks[rank].shows(0);
    event.dur = clocks[rank].shows(to) - clocks[rank].shows(from);
    event.args = {{"group", "default"},  {"seq", seq},     {"ring_step", 0},
                  {"why", "all_reduce"}, {"src", src},     {"dst", dst},
                  {"rank", rank},        {"device", rank}, {"bytes", 4}};
    trace.events.push_back(event);
  }

  /// Each round, every rank sends to the next, which has told it that it is ready.
  std::vector<Trace> recorded() {
    std::vector<Trace> traces;
    for (int rank = 0; rank < ranks; ++rank) traces.push_back(empty(rank));
    std::vector<int64_t> now(ranks, 100 * kMillisecond);
    for (int seq = 0; seq < messages; ++seq) {
      std::vector<int64_t> begins(ranks), sent(ranks), arrives(ranks), ends(ranks);
      for (int r = 0; r < ranks; ++r) begins[r] = now[r] + up_to(kMillisecond);
      for (int r = 0; r < ranks; ++r) {
        const int next = (r + 1) % ranks;
        sent[r] = std::max(begins[r], begins[next] + delay[next][r]);
        arrives[next] = sent[r] + delay[r][next];
      }
      for (int r = 0; r < ranks; ++r)
        ends[r] = std::max(arrives[r], sent[r]) + up_to(9000);
      for (int r = 0; r < ranks; ++r) {
        const int next = (r + 1) % ranks, last = (r + ranks - 1) % ranks;
        add(traces[r], r, "collective", begins[r], ends[r] + 10, r, r, seq);
        add(traces[r], r, "send", sent[r], sent[r], r, next, seq);
        add(traces[r], r, "recv", arrives[r], ends[r], last, r, seq);
        now[r] = ends[r] + 20 + up_to(40 * kMillisecond);
      }
    }
    for (Trace& trace : traces) sort_events(trace.events);
    return traces;
  }
};

Ring two_machines(Wrong other, int64_t there, int64_t back) {
  return {2, {{}, other}, {{0, there}, {back, 0}}};
}

/// Every law that this could break: no message begins before its send, before its
/// receiver's collective, or before the lane is free.
void expect_causal(const Trace& merged, const ClockReport& report) {
  EXPECT_EQ(report.left, 0) << report.text();
  EXPECT_EQ(report.residual_ns, 0);
  std::map<int64_t, const Event*> collective;
  std::map<int64_t, int64_t> free_at;
  size_t messages = 0;
  for (const Event& event : merged.events) {
    ASSERT_FALSE(event.is("send") || event.is("recv"));
    if (event.is("collective")) {
      EXPECT_GE(event.ts, free_at[event.pid]);
      collective[event.pid] = &event;
      free_at[event.pid] = event.end();
    } else {
      ++messages;
      ASSERT_TRUE(collective.contains(event.pid))
          << "a message precedes its collective";
      EXPECT_GE(event.ts, collective[event.pid]->ts);
      EXPECT_LE(event.end(), collective[event.pid]->end());
      EXPECT_GE(event.dur, 0);
    }
  }
  EXPECT_EQ(static_cast<int64_t>(messages), report.messages);
}

ClockReport merged_report(Ring ring) {
  ClockReport report;
  std::vector<std::string> names;
  for (int rank = 0; rank < ring.ranks; ++rank) names.push_back(std::to_string(rank));
  expect_causal(merge_traces(ring.recorded(), names, &report), report);
  return report;
}

TEST(Clocks, AnOffsetIsRemovedExactlyIfTheDelaysAreEqual) {
  const int64_t day = 86'400'000 * kMillisecond;
  const ClockReport report =
      merged_report(two_machines({-day}, 20 * kMillisecond, 20 * kMillisecond));
  ASSERT_EQ(report.machines.size(), 2u);
  EXPECT_EQ(report.machines[1].offset_ns, day);
  EXPECT_EQ(report.machines[1].round_trip_ns, 40 * kMillisecond);
  EXPECT_EQ(report.contradicted, 0);
  EXPECT_EQ(report.machines[1].moved_ns, 0);
  EXPECT_TRUE(report.machines[0].reference);
}

TEST(Clocks, AsymmetricDelaysAreTightenedByTheMessages) {
  const ClockReport report = merged_report(
      two_machines({123 * kMillisecond}, 1 * kMillisecond, 39 * kMillisecond));
  EXPECT_GT(report.machines[1].round_trip_ns, 39 * kMillisecond);
  EXPECT_EQ(report.messages, 80);
}

/// Without a comparison, or with one that is wrong, only the messages are left.
TEST(Clocks, MessagesCorrectAWrongComparison) {
  Ring ring = two_machines({500 * kMillisecond}, 2 * kMillisecond, 2 * kMillisecond);
  auto traces = ring.recorded();
  Json& offset = traces[1].lockstep["rank_clock"]["offsets"];
  for (Json& sample : offset) {
    sample["offset_ns"] = sample["offset_ns"].get<int64_t>() + 30 * kMillisecond;
  }
  ClockReport report;
  const Trace merged = merge_traces(std::move(traces), {"a", "b"}, &report);
  expect_causal(merged, report);
  EXPECT_GE(report.contradicted, 78);  // the first have nothing before them
  // The truth is 30 ms away, and the messages leave 2 ms of doubt on either side.
  EXPECT_NEAR(
      static_cast<double>(report.machines[1].moved_ns + report.machines[0].moved_ns),
      28.0 * kMillisecond, 0.2 * kMillisecond);
  const std::string said =
      std::to_string(report.contradicted) + " of 80 messages contradicted this";
  EXPECT_NE(report.text().find(said), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("residual 0.000 ms"), std::string::npos);
}

TEST(Clocks, DriftIsLinearBetweenTheComparisons) {
  Ring ring = two_machines({-7 * kMillisecond, 80e-6}, 50'000, 50'000);
  ring.messages = 60;
  const ClockReport report = merged_report(ring);
  EXPECT_NEAR(report.machines[1].drift_ppm, -80, 1);
  EXPECT_EQ(report.contradicted, 0);
}

TEST(Clocks, AWobblingClockIsCorrectedPieceByPiece) {
  Ring ring = two_machines({0, 0, 400'000}, 30'000, 30'000);
  const ClockReport report = merged_report(ring);
  EXPECT_GT(report.contradicted, 0);
}

TEST(Clocks, WhatCannotBeRightIsCounted) {
  Ring ring = two_machines({}, 10'000, 10'000);
  auto traces = ring.recorded();
  for (Event& event : traces[1].events) {
    const bool jumps = event.is("send") && int_arg(event.args, "seq") == 20;
    if (jumps)
      event.ts -= 300 * kMillisecond;  // sent long before the receiver was ready
  }
  ClockReport report;
  merge_traces(std::move(traces), {"a", "b"}, &report);
  EXPECT_GT(report.left, 0);
  EXPECT_GT(report.residual_ns, 100 * kMillisecond);
  EXPECT_NE(report.text().find("messages"), std::string::npos);
}

TEST(Clocks, RanksOfOneMachineMoveTogether) {
  Ring ring = two_machines({55 * kMillisecond}, 1 * kMillisecond, 30 * kMillisecond);
  auto traces = ring.recorded();
  Trace third = ring.empty(1);
  third.other["distributedInfo"]["rank"] = 2;
  third.lockstep["rank_clock"]["offsets"] = Json::array();
  Json& best = traces[1].lockstep["rank_clock"]["offsets"];
  third.lockstep["rank_clock"]["offsets"].push_back(best[0]);
  traces.push_back(third);
  ClockReport report;
  const auto maps = align_clocks(traces, report);
  ASSERT_EQ(report.machines.size(), 2u);
  EXPECT_EQ(report.machines[1].ranks, (std::vector<int64_t>{1, 2}));
  for (const int64_t at : {0 * kMillisecond, 900 * kMillisecond, 5000 * kMillisecond})
    EXPECT_EQ(maps[1](at), maps[2](at));
}

TEST(Clocks, WithoutComparisonsTheMessagesDecideAlone) {
  Ring ring = two_machines({100'000'000 * kMillisecond, 20e-6}, 3 * kMillisecond,
                           5 * kMillisecond);
  ring.compares = false;
  const ClockReport report = merged_report(ring);
  EXPECT_FALSE(report.machines[1].compared);
  EXPECT_NE(report.text().find("not compared"), std::string::npos);
}

/// The property: clocks that are consistent with some truth leave no violation.
TEST(Clocks, NoViolationIsLeftWheneverAConsistentOffsetExists) {
  std::mt19937_64 random(11);
  const auto up_to = [&](int64_t most) {
    return static_cast<int64_t>(random() % (most + 1));
  };
  for (int round = 0; round < 200; ++round) {
    Ring ring;
    ring.ranks = 2 + static_cast<int>(up_to(4));
    ring.random.seed(round);
    ring.compares = up_to(3) > 0;
    ring.messages = 12;
    for (int rank = 0; rank < ring.ranks; ++rank) {
      Wrong clock{up_to(200'000 * kMillisecond) - 100'000 * kMillisecond, 0, 0};
      if (ring.compares) clock.drift = static_cast<double>(up_to(200)) * 1e-6 - 1e-4;
      ring.clocks.push_back(rank == 0 ? Wrong{} : clock);
      ring.delay.emplace_back();
      for (int to = 0; to < ring.ranks; ++to)
        ring.delay[rank].push_back(20'000 + up_to(40 * kMillisecond));
    }
    SCOPED_TRACE(round);
    merged_report(ring);
    if (HasFailure()) return;
  }
}

TEST(ClockMap, IsLinearBetweenItsPointsAndConstantOutside) {
  const ClockMap map({{100, 10}, {200, 30}});
  EXPECT_EQ(map(0), 10);
  EXPECT_EQ(map(150), 170);
  EXPECT_EQ(map(200), 230);
  EXPECT_EQ(map(1000), 1030);
  EXPECT_TRUE(map.is_monotonic());
  EXPECT_FALSE(ClockMap({{100, 0}, {200, -100}}).is_monotonic());
  EXPECT_EQ(ClockMap()(7), 7);
}

}  // namespace
}  // namespace lockstep::tracer
