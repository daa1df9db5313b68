// Devices x step time by class: counted by hand on a small trace, against a count of
// each nanosecond, and without remainder on every trace of this repository.
#include "tracer/analysis/split.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "tests/tracer/golden.h"
#include "tracer/analysis/summary.h"
#include "tracer/emulate/emulate.h"
#include "tracer/kineto/kineto.h"

namespace lockstep::tracer {
namespace {

Event made(int64_t id, const char* cat, const char* name, LaneKey lane, int64_t ts,
           int64_t dur, Json args = Json::object()) {
  Event event;
  event.id = id;
  event.cat = cat;
  event.name = name;
  event.pid = lane.pid, event.tid = lane.tid;
  event.ts = ts, event.dur = dur;
  event.step = 0;
  event.args = Args(std::move(args));
  return event;
}

constexpr LaneKey kMain{0, 0}, kDevice0{1, 0}, kDevice1{2, 0}, kCopies1{2, 1};

Json on_device(int64_t device, Json args) {
  args["rank"] = 0, args["device"] = device;
  return args;
}

/// Device 0 computes, its result is copied to device 1, which computes; the host waits.
///
///   host      op#2 at 10, op#4 at 12, op#6 at 14, sync#8 70–85 for #7, step 0–100
///   device 0  #3 20–50, forward, 4 ns for a core
///   device 1  copy #5 50–60 after #3, replicate; #7 60–80 after #5, backward
Trace relay() {
  Trace trace;
  trace.lockstep = {
      {"format", 1},
      {"clock", "measured"},
      {"devices", {{{"id", 0}, {"name", "cpu:0"}}, {{"id", 1}, {"name", "cpu:1"}}}}};
  trace.events = {
      made(1, "phase", "step", kMain, 0, 100, {{"kind", "train"}}),
      made(2, "op", "a", kMain, 10, 2),
      made(4, "op", "b", kMain, 12, 1),
      made(6, "op", "c", kMain, 14, 1),
      made(3, "kernel", "k", kDevice0, 20, 30,
           on_device(0, {{"phase", "forward"}, {"queued_us", 0.004}})),
      made(5, "copy", "replicate", kCopies1, 50, 10,
           on_device(1, {{"why", "replicate"}, {"src", 0}, {"dst", 1}})),
      made(7, "kernel", "k", kDevice1, 60, 20, on_device(1, {{"phase", "backward"}})),
      made(8, "sync", "synchronize", kMain, 70, 15),
  };
  trace.events[4].op = 2, trace.events[5].op = 4, trace.events[6].op = 6;
  trace.events[5].deps = {3}, trace.events[6].deps = {5};
  trace.events[7].waits_for = {7};
  sort_events(trace.events);
  return trace;
}

Split split_of(const Trace& trace) {
  const Lanes lanes(trace);
  const auto steps = join_ranks(find_steps(trace, lanes));
  return steps.empty() ? Split()
                       : split_of(steps[0], Splitter(trace, lanes).pieces(steps[0]));
}

SpentTimes times(std::initializer_list<std::pair<Spent, int64_t>> list) {
  SpentTimes spent;
  for (const auto& [what, ns] : list) spent[what] = ns;
  return spent;
}

namespace splits {  // two enumerations have a `core`

using enum Spent;

TEST(Split, NamesTheCauseOfEachMoment) {
  const Split split = split_of(relay());
  ASSERT_EQ(split.devices.size(), 2u);
  EXPECT_EQ(split.devices[0].spent.times, times({{host, 10 + 10 + 15},
                                                 {wake_ups, 6 + 5},
                                                 {core, 4},
                                                 {computing, 30},
                                                 {replicate, 10},
                                                 {imbalance, 10}})
                                              .times);
  EXPECT_EQ(split.devices[1].spent.times, times({{host, 12 + 15},
                                                 {wake_ups, 4 + 5},
                                                 {imbalance, 4 + 30},
                                                 {replicate, 10},
                                                 {computing, 20}})
                                              .times);
  EXPECT_EQ(split.spent.sum(), 2 * 100);
}

TEST(Split, NamesTheLock) {
  Trace trace = relay();
  for (Event& event : trace.events) {
    if (event.is(categories::sync)) event.args = Args(Json{{"why", reasons::lock}});
  }
  const Split split = split_of(trace);
  EXPECT_EQ(split.devices.at(0).spent.times, times({{host, 10 + 10 + 15},
                                                    {wake_ups, 6},
                                                    {core, 4},
                                                    {computing, 30},
                                                    {replicate, 10},
                                                    {Spent::lock, 15}})
                                                 .times);
  EXPECT_EQ(split.devices.at(1).spent[Spent::lock], 5);
}

TEST(Split, NamesWhatModesMove) {
  const std::vector<std::pair<const char*, Spent>> expected = {
      {reasons::targets, scatter},
      {reasons::loss_grad, scatter},
      {reasons::loss, gather},
      {reasons::activation, activations},
      {reasons::pull, push_pull},
      {reasons::push, push_pull},
      {reasons::activation_grad, activations},
      {reasons::h2d, other}};
  for (const auto& [why, spent] : expected) {
    Trace trace = relay();
    for (Event& event : trace.events) {
      if (event.is(categories::copy)) {
        event.args = on_device(1, {{"why", why}, {"src", 0}, {"dst", 1}});
      }
    }
    EXPECT_EQ(split_of(trace).spent[spent], 2 * 10) << why;
  }
}

TEST(Split, TheLoaderIsNotTheHost) {
  Trace trace = relay();
  trace.events.push_back(made(9, "phase", "data", kMain, 0, 8));
  sort_events(trace.events);
  const Split split = split_of(trace);
  EXPECT_EQ(split.spent[loader], 8 + 8);
  EXPECT_EQ(split.spent[host], 35 + 27 - 16);
}

TEST(Split, ADeviceWithoutAnyTaskCounts) {
  Trace trace = relay();
  trace.lockstep["devices"].push_back({{"id", 2}, {"name", "cpu:2"}});
  const Split split = split_of(trace);
  ASSERT_EQ(split.devices.size(), 3u);
  EXPECT_EQ(split.spent.sum(), 3 * 100);
  EXPECT_EQ(split.devices[2].spent[computing], 0);
}

TEST(Split, NullDevicesHaveNoTimes) {
  Trace trace = relay();
  trace.lockstep["devices"][1]["name"] = "null:1";
  EXPECT_FALSE(split_of(trace).known);
  EXPECT_EQ(split_text(split_of(trace)), "");
  EXPECT_TRUE(split_json(split_of(trace)).is_null());
}

TEST(Split, AnImportDoesNotNameWhatAStreamWaitedFor) {
  Trace trace = relay();
  trace.lockstep["imported"] = {{"from", "a profiler"}};
  const Split split = split_of(trace);
  EXPECT_EQ(split.spent[wake_ups], 5 + 5) << "only the host's recorded waits";
  EXPECT_EQ(split.spent[unknown], 6 + 4);
  EXPECT_EQ(split.spent.sum(), 2 * 100);
}

TEST(Split, ACollectiveWaitsForRanksUntilAMessageArrives) {
  Trace trace = relay();
  const Json group = {{"group", "world"}, {"seq", 1}, {"group_size", 2}};
  trace.events.push_back(
      made(20, "collective", "all_reduce", {2, 2}, 80, 15, on_device(1, group)));
  Json message = on_device(1, group);
  message["src"] = 0, message["dst"] = 1;
  trace.events.push_back(made(21, "copy", "all_reduce", {2, 2}, 90, 5, message));
  sort_events(trace.events);
  const Split split = split_of(trace);
  EXPECT_EQ(split.devices[1].spent[collectives], 5);
  EXPECT_EQ(split.devices[1].spent[imbalance], 34 + 10);
  EXPECT_EQ(split.spent.sum(), 2 * 100);
}

TEST(Split, ACollectiveWithoutTimedMessagesAllowsNoConclusion) {
  for (const bool modelled : {true, false}) {
    Trace trace = relay();
    Json group = {{"group", "world"}, {"seq", 1}, {"group_size", 2}};
    group[modelled ? "none" : "imported"] = true;
    trace.events.push_back(
        made(20, "collective", "all_reduce", {2, 2}, 80, 15, on_device(1, group)));
    Json message = on_device(1, group);
    message["src"] = 0, message["dst"] = 1, message["modelled"] = true;
    if (modelled) {
      trace.events.push_back(made(21, "copy", "all_reduce", {2, 2}, 90, 5, message));
    }
    sort_events(trace.events);
    const Split split = split_of(trace);
    // Modelled messages: in their time, too, another rank may be awaited.
    EXPECT_EQ(split.devices[1].spent[undivided] + split.devices[1].spent[collectives],
              15);
    EXPECT_EQ(split.devices[1].spent[collectives], 0);
    EXPECT_EQ(split.devices[1].spent[imbalance], 34) << "not the collective's";
    EXPECT_NE(split_text(split).find("no conclusion"), std::string::npos);
  }
}

/// Any events, with references to any others; they may wait for each other in a cycle.
Trace any_trace(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint32_t>(n));
  };
  Trace trace = relay();
  trace.events.clear();
  trace.events.push_back(
      made(1, "phase", "step", kMain, below(20), 50 + below(300), {{"kind", "train"}}));
  const char* phases[] = {"forward",    "replicate", "reduce",
                          "all_reduce", "metrics",   ""};
  const char* reasons[] = {"scatter", "replicate", "gather", "reduce", "h2d"};
  for (int64_t id = 2; id < 2 + 5 + below(60); ++id) {
    const int64_t kind = below(6), device = below(3);
    const LaneKey lane{1 + device, below(2)};
    const int64_t ts = below(400), dur = below(40);
    const double queued = static_cast<double>(below(20)) * 1e-3;
    Event event = made(id, "op", "op", {0, below(3)}, ts, dur);
    if (kind == 0) {
      event =
          made(id, "kernel", "k", lane, ts, dur,
               on_device(device, {{"phase", phases[below(6)]}, {"queued_us", queued}}));
    } else if (kind == 1) {
      event = made(id, "copy", "c", lane, ts, dur,
                   on_device(device, {{"why", reasons[below(5)]},
                                      {"src", below(3)},
                                      {"dst", device},
                                      {"queued_us", queued}}));
    } else if (kind == 2) {
      event = made(id, "collective", "r", lane, ts, dur,
                   on_device(device, {{"group", "g"}, {"seq", below(3)}}));
    } else if (kind == 3) {
      event = made(id, "sync", "s", {0, below(3)}, ts, dur);
      event.waits_for = {below(60), below(60)};
    } else if (kind == 4) {
      event = made(id, "phase", "data", {0, below(3)}, ts, dur);
    }
    event.op = below(60), event.parent = below(60);
    event.deps = {below(60), below(60)};
    trace.events.push_back(event);
  }
  sort_events(trace.events);
  return trace;
}

TEST(Split, OfAnyTraceLeavesNoRemainder) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const Split split = split_of(any_trace(seed));
    ASSERT_TRUE(split.known);
    const auto devices = static_cast<int64_t>(split.devices.size());
    EXPECT_EQ(split.spent.sum(), devices * split.step) << seed;
    for (const DeviceSplit& device : split.devices) {
      EXPECT_EQ(device.spent.sum(), split.step) << seed;
      for (const int64_t time : device.spent.times) EXPECT_GE(time, 0) << seed;
    }
  }
}

/// Computing is when a kernel of such a phase runs, whatever else happens.
TEST(Split, ComputingEqualsACountOfEachNanosecond) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Trace trace = any_trace(seed);
    const Split split = split_of(trace);
    const Step step = find_steps(trace)[0];
    for (const DeviceSplit& device : split.devices) {
      int64_t count = 0, waits = 0;
      for (int64_t t = step.begin; t < step.last_end; ++t) {
        bool runs = false, other = false, queues = false;
        for (const Event& event : trace.events) {
          const bool sends =
              event.is("copy") && int_arg(event.args, "src", -1) == device.device;
          const bool own = int_arg(event.args, "device", -1) == device.device;
          if (!is_task(event) || (!own && !sends)) continue;
          const int64_t queued = duration_arg(event.args, "queued_us");
          const bool now = event.ts <= t && t < event.end();
          const std::string phase = string_arg(event.args, "phase");
          const bool computes = phase.empty() || phase == "forward";
          if (event.is("kernel")) (computes ? runs : other) |= now;
          if (event.is("kernel")) queues |= event.ts - queued <= t && t < event.ts;
        }
        count += runs;
        waits += !runs && !other && queues;
      }
      EXPECT_EQ(device.spent[computing], count) << seed;
      EXPECT_EQ(device.spent[core], waits) << seed;
    }
  }
}

void expect_no_remainder(const Trace& trace, const std::string& name) {
  const Summary summary = summarize(trace);
  for (const StepGroup* group : {&summary.train, &summary.eval}) {
    std::vector<Split> splits;
    for (const StepSummary& step : group->steps) {
      splits.push_back(step.split);
      EXPECT_TRUE(!step.split.known || step.split.step == step.length) << name;
    }
    splits.push_back(group->mean_split());
    EXPECT_TRUE(!splits.back().known || splits.back().step == group->mean_length());
    for (const Split& split : splits) {
      const auto devices = static_cast<int64_t>(split.devices.size());
      EXPECT_EQ(split.spent.sum(), devices * split.step) << name;
      for (const DeviceSplit& device : split.devices) {
        EXPECT_EQ(device.spent.sum(), split.step) << name;
        for (const int64_t time : device.spent.times) EXPECT_GE(time, 0) << name;
      }
    }
  }
}

TEST(Split, OfEveryCommittedTraceLeavesNoRemainder) {
  const std::string root = LOCKSTEP_SOURCE_DIR;
  size_t count = 0;
  for (const char* folder : {"/lessons", "/tests/golden"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(root + folder)) {
      const std::string path = entry.path().string();
      const bool is_trace = path.ends_with("trace.json.gz") ||
                            (path.find("/golden/") != std::string::npos &&
                             (path.ends_with(".json") || path.ends_with(".json.gz")));
      if (!is_trace || path.find("/torch/") != std::string::npos) continue;
      Trace trace;
      try {
        trace = open_trace(path);
      } catch (const std::runtime_error&) {
        continue;  // one of the damaged files
      }
      ++count;
      expect_no_remainder(trace, path);
      try {
        expect_no_remainder(emulate(trace), path + ", emulated");
      } catch (const std::runtime_error&) {  // an import, or a damaged file
      }
    }
  }
  EXPECT_GT(count, 20u);
}

TEST(Split, TheMeanLeavesNoRemainderEither) {
  Split a = split_of(relay()), b = a, c = a;
  b.step = 101, b.devices[0].spent[host] += 1, b.devices[1].spent[unknown] += 1;
  c.step = 101, c.devices[0].spent[core] += 1, c.devices[1].spent[loader] += 1;
  const Split mean = mean_split({&a, &b, &c});
  EXPECT_EQ(mean.step, 100) << "302 / 3";
  EXPECT_EQ(mean.spent.sum(), 200);
  const Split none;
  EXPECT_FALSE(mean_split({&a, &none}).known) << "one of them is unknown";
  EXPECT_FALSE(mean_split({}).known);
}

TEST(Split, TheSummaryPrintsIt) {
  const std::string text = summary_text(summarize(relay()));
  EXPECT_NE(text.find("2 devices x 100 ns = 200 ns, of which"), std::string::npos);
  EXPECT_NE(text.find("  imbalance                  44.0 ns  22 %"), std::string::npos)
      << text;
  const Json json = summary_json(summarize(relay()))["train"]["device_time"];
  EXPECT_EQ(json["nanoseconds"]["computing"], 50);
  EXPECT_EQ(json["devices"][1]["nanoseconds"]["replicate"], 10);
}

}  // namespace splits
}  // namespace
}  // namespace lockstep::tracer
