// Merging the ranks' files into one trace: minimal_ddp.json is split into the files
// that the ranks would have written, and the merge restores it.
// sanitize: address
#include "tracer/format/merge.h"
#include "tracer/format/partial.h"

#include <algorithm>
#include <map>

#include "tests/tracer/named_trace.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/communication.h"
#include "tracer/emulate/emulate.h"
#include "tracer/emulate/longest_path.h"
#include "tracer/format/args.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

bool is_message(const Event& event) {
  return event.is("copy") && event.args.contains("group");
}

/// The file that rank `rank` would have written, with ids from 0 and its own origin.
Trace file_of(int64_t rank, int64_t origin) {
  const Trace whole = read_trace(minimal_ddp_path());
  const Lanes lanes(whole);
  Trace mine;
  mine.texts = whole.texts;
  mine.lockstep = whole.lockstep;
  mine.lockstep["rank_clock"] = {{"origin_ns", origin}};
  mine.other = whole.other;
  mine.other["distributedInfo"]["rank"] = rank;
  const int64_t base = 50 * rank;
  const auto shift = [base](int64_t& id) { id = id == kNone ? kNone : id - base; };
  for (Event event : whole.events) {
    const bool here = event.pid / 100 == rank;
    const bool sent = is_message(event) && port_arg(event.args, "src") == rank;
    if (!here && !sent) continue;
    const IdList after = event.deps;
    if (is_message(event)) event.deps.clear();
    if (here && is_message(event)) {
      event.cat = "recv";  // a message arrives slightly after it was sent
      event.ts += 100, event.dur -= 100;
    }
    if (sent) {  // a message consists of two halves, one per rank
      event.ph = 'i', event.cat = "send", event.dur = 0;
      event.pid = 101 * rank + 1;
      event.id = base + 1000 + event.id;
      event.op = kNone;
      event.deps = after;
    }
    for (int64_t* id : {&event.id, &event.op, &event.fwd, &event.parent}) shift(*id);
    for (auto list : {&event.deps, &event.waits_for}) {
      for (int64_t& id : *list) shift(id);
    }
    if (event.args.contains("by")) event.args["by"] = int_arg(event.args, "by") - base;
    if (event.ph != 'M') event.ts += 1000 - origin;
    mine.events.push_back(event);
  }
  return mine;
}

Trace merged() { return merge_traces({file_of(0, 1000), file_of(1, 400)}, {"a", "b"}); }

TEST(Merge, PutsBothHalvesOfEveryMessageTogether) {
  const Trace trace = merged(), whole = read_trace(minimal_ddp_path());
  EXPECT_TRUE(check_trace(trace).ok()) << check_text(check_trace(trace));
  EXPECT_EQ(trace.events.size(), whole.events.size());
  std::vector<const Event*> mine, theirs;
  for (const Event& event : trace.events) {
    if (is_message(event)) mine.push_back(&event);
  }
  for (const Event& event : whole.events) {
    if (is_message(event)) theirs.push_back(&event);
  }
  ASSERT_EQ(mine.size(), theirs.size());
  for (size_t i = 0; i < mine.size(); ++i) {
    EXPECT_EQ(mine[i]->ts - mine[0]->ts, theirs[i]->ts - theirs[0]->ts);
    EXPECT_EQ(mine[i]->dur, theirs[i]->dur);
    EXPECT_EQ(mine[i]->deps.size(), theirs[i]->deps.size());
    EXPECT_EQ(mine[i]->pid, theirs[i]->pid);
  }
  EXPECT_FALSE(trace.other.at("distributedInfo").contains("rank"));
  EXPECT_FALSE(trace.lockstep.contains("rank_clock"));
}

TEST(Merge, PutsTheRanksOnOneClock) {
  for (const Event& event : merged().events) {
    if (!event.is("phase") || event.name != "step") continue;
    // Rank 1 began 0.25 µs after rank 0, independent of their origins.
    EXPECT_EQ(event.ts % 1000, event.pid == 0 ? 600 : 850);
  }
}

TEST(Merge, WhatAnArgumentNamesKeepsItsName) {
  std::vector<Trace> ranks = {file_of(0, 1000), file_of(1, 400)};
  for (Trace& trace : ranks) {
    for (Event& event : trace.events) {
      if (event.is("phase"))
        event.args["after"] = "foreign", event.args["by"] = event.id;
      if (!event.is("op")) continue;
      event.cat = "call", event.name = "_MapDatasetFetcher.fetch";
      event.args["after"] = event.id;
    }
  }
  size_t calls = 0;
  for (const Event& event : merge_traces(ranks, {"a", "b"}).events) {
    if (event.is("phase")) {
      EXPECT_EQ(event.args["after"], "foreign");
      EXPECT_EQ(event.args["by"], event.id);
    }
    if (!event.is("call")) continue;
    EXPECT_EQ(event.args["after"], event.id);
    ++calls;
  }
  EXPECT_GE(calls, 2u);
}

/// Rank 0's phases wait for the step of rank 1, as for a lock.
TEST(Merge, AWaitForAnotherRankNamesItsEvent) {
  std::vector<Trace> ranks = {file_of(1, 400), file_of(0, 1000)};
  int64_t awaited = kNone;
  for (Event& event : ranks[0].events) {
    if (event.is("phase") && event.name == "step") awaited = event.id;
  }
  for (Event& event : ranks[1].events) {
    if (!event.is("phase")) continue;
    event.args["for_rank"] = 1;
    event.args["for_event"] = awaited;
  }
  const Trace trace = merge_traces(ranks, {"a", "b"});
  std::map<int64_t, const Event*> by_id;
  for (const Event& event : trace.events) by_id[event.id] = &event;
  int waits = 0;
  for (const Event& event : trace.events) {
    EXPECT_FALSE(event.args.contains("for_rank") || event.args.contains("for_event"));
    if (!event.is("phase") || event.pid / 100 != 0) continue;
    ++waits;
    ASSERT_EQ(event.waits_for.size(), 1U);
    const Event& found = *by_id.at(event.waits_for[0]);
    EXPECT_EQ(found.name, "step");
    EXPECT_EQ(found.pid / 100, 1);
  }
  EXPECT_GT(waits, 0);
}

const Finding* halves_of(const CheckReport& report) {
  for (const Finding& finding : report.findings) {
    if (finding.law == "halves-matched") return &finding;
  }
  return nullptr;
}

TEST(Merge, LeavesALonelyHalfForTheCheck) {
  std::vector<Trace> ranks = {file_of(0, 0), file_of(1, 0)};
  std::erase_if(ranks[1].events, [](const Event& event) { return event.is("recv"); });
  const CheckReport report = check_trace(merge_traces(std::move(ranks), {"a", "b"}));
  EXPECT_FALSE(halves_of(report)->ok);
  EXPECT_EQ(report.partial, "");
}

TEST(Merge, WithoutARankItIsPartialAndNotBroken) {
  const CheckReport report = check_trace(merge_traces({file_of(0, 0)}, {"a"}));
  EXPECT_EQ(report.partial, "rank 0 of 2");
  EXPECT_TRUE(halves_of(report)->ok);
  EXPECT_FALSE(halves_of(report)->judged);
}

TEST(Merge, EndsWithTheLastStepThatAllHaveCompleted) {
  std::vector<Trace> ranks = {file_of(0, 0), file_of(1, 0)};
  const int64_t next = ranks[0].events.back().id + 1;
  Event step;  // of rank 0 alone: rank 1 died in it
  for (const Event& event : ranks[0].events) {
    if (event.is("phase") && event.name == "step") step = event;
  }
  const int64_t last = step.step++;
  step.id = next;
  ranks[0].events.push_back(step);
  set_partial(ranks[1], {{1}, 2, last});
  const Trace merged = merge_traces(std::move(ranks), {"a", "b"});
  for (const Event& event : merged.events) EXPECT_LE(event.step, last);
  EXPECT_EQ(partial_of(merged)->text(),
            "it ends early, after step " + std::to_string(last));
  EXPECT_TRUE(check_trace(merged).ok()) << check_text(check_trace(merged));
}

std::string message_of(std::vector<Trace> traces) {
  try {
    merge_traces(std::move(traces), {"a.json", "b.json"});
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Merge, RefusesFilesThatDoNotBelongTogether) {
  EXPECT_EQ(message_of({file_of(0, 0), file_of(0, 0)}),
            "a.json and b.json both belong to rank 0");
  EXPECT_EQ(message_of({file_of(0, 0), read_trace(minimal_ddp_path())}),
            "b.json: not the trace of a single rank");
  Trace other = file_of(1, 0);
  other.lockstep["arch"] = "another";
  EXPECT_EQ(message_of({file_of(0, 0), other}),
            "a.json and b.json are from different runs (`arch` differs)");
}

TEST(Communication, SplitsACollectiveIntoTransferAndWaiting) {
  const Trace trace = read_trace(minimal_ddp_path());
  const std::vector<Step> steps = join_ranks(find_steps(trace));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].batch, 4);
  EXPECT_EQ(steps[0].length(), 60'250);  // rank 1 ends 0.25 µs later
  const auto times = collective_times(steps[0], Lanes(trace));
  ASSERT_EQ(times.size(), 4u);  // two on each rank
  EXPECT_EQ(times[1].what, "bucket 0");
  EXPECT_EQ(times[1].took, 8'000);
  EXPECT_EQ(times[1].transfer, 4'000);
  EXPECT_EQ(times[1].wait, 4'000);
  EXPECT_EQ(times[1].exposed, 8'000);  // no kernel runs after the backward kernel
  // Messages move to rank 0 in 24–26 and 27–29 µs, and from it 0.25 µs later.
  EXPECT_EQ(times[1].exposed_wait, 8'000 - 2 * 2'250);
  EXPECT_EQ(times[1].exposed_transfer(), 2 * 2'250);
  EXPECT_EQ(times[0].exposed_wait, 3'000 - 1'000) << "it sends for 1 µs";
  EXPECT_EQ(times[0].what, "buffers");
  EXPECT_EQ(times[0].transfer, 0);  // rank 0 only sends
}

TEST(Communication, ComputingHidesACollective) {
  Trace trace = read_trace(minimal_ddp_path());
  // The kernel runs until 27 µs.
  event_at(trace, NamedTrace(trace), "linear_backward_weight@cpu:0").dur += 5'000;
  const auto steps = join_ranks(find_steps(trace));
  const auto times = collective_times(steps[0], Lanes(trace));
  EXPECT_EQ(times[1].exposed, 4'000);
  EXPECT_EQ(times[1].exposed_wait, 4'000 - 2'250) << "one message is hidden";
  EXPECT_EQ(times[1].backward, 4'000);
  EXPECT_EQ(times[1].others(), 0);
  EXPECT_DOUBLE_EQ(times[1].overlap(), 0.5);
}

TEST(Communication, WithoutMessagesNothingTellsWaitingApart) {
  Trace trace = read_trace(minimal_ddp_path());
  std::erase_if(trace.events, [](const Event& event) {
    return event.is("copy") && event.args.contains("seq");
  });
  const auto times = collective_times(join_ranks(find_steps(trace))[0], Lanes(trace));
  EXPECT_TRUE(times[1].unseen);
  EXPECT_EQ(times[1].exposed, 8'000);
  EXPECT_EQ(times[1].wait, 0);
}

TEST(Communication, KernelsOfOtherPhasesAreNotBackward) {
  Trace trace = read_trace(minimal_ddp_path());
  Event& kernel = event_at(trace, NamedTrace(trace), "linear_backward_weight@cpu:0");
  kernel.dur += 5'000;
  kernel.args["phase"] = "all_reduce";
  const auto times = collective_times(join_ranks(find_steps(trace))[0], Lanes(trace));
  EXPECT_EQ(times[1].exposed, 4'000);
  EXPECT_EQ(times[1].backward, 0);
  EXPECT_EQ(times[1].others(), 4'000);
}

// The main guarantee of the emulator, with collectives and their messages.
TEST(Communication, MeasuredDurationsGiveEveryTimeBack) {
  const Trace trace = read_trace(minimal_ddp_path());
  EmulateOptions options;
  options.measured_durations = true;
  const Trace again = emulate(trace, options);
  ASSERT_EQ(again.events.size(), trace.events.size());
  for (size_t i = 0; i < trace.events.size(); ++i) {
    EXPECT_EQ(again.events[i].ts, trace.events[i].ts) << trace.events[i].id;
    EXPECT_EQ(again.events[i].dur, trace.events[i].dur) << trace.events[i].id;
  }
}

// On slow links messages last longer than recorded. Events that depend on a message, or
// wait for it, are delayed as well.
TEST(Communication, SlowLinksDelayEverybodyWhoWaitsForAMessage) {
  EmulateOptions options;
  options.link.latency_us = 100;
  const Trace recorded = read_trace(minimal_ddp_path());
  const Trace trace = emulate(recorded, options);
  const NamedTrace names(recorded);
  const auto slow = [&](const char* path) { return event_at(trace, names, path); };
  // A collective contains the messages that its device received.
  const Event first_to_0 = slow("all_reduce@cpu:0/all_reduce@cpu:0#1");
  const Event second_to_0 = slow("all_reduce@cpu:0/all_reduce@cpu:0#2");
  const Event first_to_1 = slow("all_reduce@cpu:1/all_reduce@cpu:1#1");
  const Event second_to_1 = slow("all_reduce@cpu:1/all_reduce@cpu:1#2");
  EXPECT_GE(first_to_0.dur, 100'000);
  EXPECT_GE(second_to_0.ts, first_to_1.end());
  EXPECT_GE(slow("all_reduce@cpu:0").end(), second_to_0.end())
      << "its received messages";
  EXPECT_GE(slow("all_reduce@cpu:0").end(), second_to_1.end()) << "its sent messages";
  const Event buffers = slow("broadcast@cpu:1/broadcast@cpu:1");
  EXPECT_GE(slow("broadcast@cpu:0").end(), buffers.end())
      << "the root of a broadcast only sends";
  EXPECT_GE(buffers.ts, slow("broadcast@cpu:0").ts);
}

}  // namespace
}  // namespace lockstep::tracer
