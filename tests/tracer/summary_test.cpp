// The values of the hand-written trace, counted manually.
#include "tracer/analysis/summary.h"

#include "base/units.h"
#include "tests/tracer/named_trace.h"
#include "tracer/analysis/call_tree.h"
#include "tracer/analysis/diff.h"
#include "tracer/analysis/spans.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/args.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

Trace minimal() { return read_trace(minimal_path()); }

const PhaseCost& phase(const StepSummary& step, const std::string& name) {
  for (const NamedPhase& phase : step.phases) {
    if (phase.name == name) return phase.cost;
  }
  throw std::out_of_range("no phase " + name);
}

TEST(Summary, CostsPhasesOnHostAndDevice) {
  const Summary summary = summarize(minimal());
  ASSERT_EQ(summary.train.steps.size(), 1u);
  const StepSummary& step = summary.train.steps[0];
  EXPECT_EQ(step.length, 95'000);
  EXPECT_EQ(phase(step, "forward").host, 18'000);
  EXPECT_EQ(phase(step, "forward").cost(), 18'000) << "no separate device work";
  // aten::linear@cpu:0 (10.5 to 22) and aten::linear@cpu:1 (18 to 30)
  EXPECT_EQ(phase(step, "parallel_apply").device, 19'500);
  EXPECT_EQ(phase(step, "parallel_apply").busy.at(0), 11'500);
  EXPECT_EQ(phase(step, "parallel_apply").busy.at(1), 12'000);
  // host 23 to 40; device 34.5 (gradient of outputs@cpu:1) to 55; busy on device 1:
  // 3 + 16.5
  EXPECT_EQ(phase(step, "backward").host, 17'000);
  EXPECT_EQ(phase(step, "backward").cost(), 20'500);
  EXPECT_EQ(phase(step, "backward").busy.at(1), 19'500);
  EXPECT_EQ(step.computing.at(0), 25'500);
  EXPECT_EQ(step.queued, 4'000);
}

TEST(Summary, CountsBytesByReasonAndPort) {
  const Summary summary = summarize(minimal());
  const std::map<std::string, int64_t> expected = {
      {"d2h", 4},     {"gather", 8},     {"grad_scatter", 8}, {"h2d", 24},
      {"reduce", 48}, {"replicate", 56}, {"scatter", 60}};
  EXPECT_EQ(summary.train.bytes_by_why, expected);
  EXPECT_EQ(summary.train.ports.at(kHost).out, 84);
  EXPECT_EQ(summary.train.ports.at(kHost).in, 4);
  EXPECT_EQ(summary.train.ports.at(0).in, 40 + 24 + 8 + 48);
  EXPECT_EQ(summary.train.ports.at(1).in, 20 + 56 + 8);
}

TEST(Summary, FindsPeakMemoryAndKernels) {
  const Summary summary = summarize(minimal());
  EXPECT_EQ(summary.memory.at(0).total, 168);
  EXPECT_EQ(summary.memory.at(0).categories.at("gradients"), 48);
  ASSERT_EQ(summary.kernels.size(), 1u);
  EXPECT_EQ(summary.kernels[0].impl, "plain loops");
  EXPECT_EQ(summary.kernels[0].count, 4);
  EXPECT_EQ(summary.kernels[0].wall, 54'000);
  EXPECT_EQ(summary.kernels[0].cpu, 26'000);
}

TEST(Summary, NamesTheLargestPartsOfThePeakAndNoEmptyOnes) {
  Summary summary = summarize(minimal());
  summary.memory.at(0).categories = {{"buffers", 8}, {"gradients", 48}, {"other", 0}};
  const std::string text = summary_text(summary);
  EXPECT_NE(text.find("     168 B   gradients 48 B · buffers 8 B\n"), text.npos)
      << text;
}

Trace with_kind(const char* kind, bool interrupted) {
  Trace trace = minimal();
  for (Event& event : trace.events) {
    if (event.name != "step") continue;
    event.args["kind"] = kind;
    event.args["interrupted"] = interrupted;
  }
  return trace;
}

TEST(Summary, KeepsEvaluationApartAndLeavesInterruptedStepsOut) {
  EXPECT_EQ(summarize(with_kind("eval", false)).eval.steps.size(), 1u);
  EXPECT_TRUE(summarize(with_kind("eval", false)).train.steps.empty());
  EXPECT_TRUE(summarize(with_kind("train", true)).train.steps.empty());
  EXPECT_FALSE(summary_text(summarize(with_kind("train", true))).empty());
}

TEST(Summary, AStepEndsWithItsLastDeviceEvent) {
  Trace trace = minimal();
  // The copy ends after the host's last event.
  event_at(trace, NamedTrace(trace), "reduce gradients@cpu:0").dur = 100'000;
  EXPECT_EQ(summarize(trace).train.steps.at(0).length, 155'000);
}

/// The same trace on eight devices: copies of its four kernels on six more lanes.
Trace on_many_devices() {
  Trace trace = minimal();
  const std::vector<Event> events = trace.events;
  for (int64_t device = 2; device < 8; ++device) {
    for (Event event : events) {
      if (!event.is("kernel")) continue;
      event.pid = 100 + device;
      event.args["device"] = device;
      event.id += 1000 * device;
      trace.events.push_back(event);
    }
  }
  sort_events(trace.events);
  return trace;
}

TEST(Summary, SaysHowManyDevicesTheTableLeavesOut) {
  EXPECT_NE(summary_text(summarize(on_many_devices())).find("… 2 more devices"),
            std::string::npos);
  EXPECT_EQ(summary_text(summarize(minimal())).find("more device"), std::string::npos);
}

TEST(Summary, TextFitsTheTerminal) {
  std::istringstream text(summary_text(summarize(on_many_devices())));
  for (std::string line; std::getline(text, line);) {
    const auto columns = std::count_if(line.begin(), line.end(),
                                       [](char c) { return (c & 0xC0) != 0x80; });
    // The terminal wraps these sentences.
    if (line.starts_with("On the ") || line.starts_with("Estimated ")) continue;
    EXPECT_LE(columns, 100) << line;
  }
}

TEST(Summary, JsonHasPhasesInSeconds) {
  const Json json = summary_json(summarize(minimal()));
  const Json& step = json["train"]["steps"][0];
  EXPECT_DOUBLE_EQ(step["seconds"], 95e-6);
  EXPECT_DOUBLE_EQ(step["phases"]["parallel_apply"], 19.5e-6);
  EXPECT_DOUBLE_EQ(step["phases"]["forward"], 18e-6);
  EXPECT_DOUBLE_EQ(step["phases_host"]["backward"], 17e-6);
  EXPECT_DOUBLE_EQ(step["busy"]["backward"]["1"], 19.5e-6);
  EXPECT_EQ(json["train"]["ports"]["host"]["out"], 84);
}

/// The trace of an idle machine: kernels compute all the time.
Trace quiet() {
  Trace trace = minimal();
  for (Event& event : trace.events) {
    if (event.is("kernel")) event.args.erase("cpu_us");
  }
  return trace;
}

/// Device 1's backward takes `more` longer, and all later events move.
Trace with_slow_backward(int64_t more) {
  Trace trace = quiet();
  for (Event& event : trace.events) {
    if (event.ph != 'M' && event.ts >= 56'000) event.ts += more;
  }
  const NamedTrace names(trace);
  event_at(trace, names, "AddmmBackward0@cpu:1/grad_ready@cpu:1").ts += more;
  for (const char* path :
       {"AddmmBackward0@cpu:1", "step 0", "aten::item", "wait for the loss"}) {
    event_at(trace, names, path).dur += more;
  }
  sort_events(trace.events);
  return trace;
}

TEST(Sentence, NamesTheLargestClassOfTheDevicesTime) {
  const Split split = summarize(quiet()).train.mean_split();
  const auto& times = split.spent.times;  // after `computing`
  const auto most = std::max_element(times.begin() + 1, times.end()) - times.begin();
  const char* name = words_of(static_cast<Spent>(most)).name;
  EXPECT_NE(limiting_sentence(summarize(quiet())).find(name), std::string::npos)
      << limiting_sentence(summarize(quiet()));
}

// The first of lesson 9's two steps is a cold one.
TEST(Sentence, OfMeansLeavesOutTheWarmUp) {
  const Summary summary = summarize(
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/09-ring/trace.json.gz"));
  const StepGroup& train = summary.train;
  ASSERT_EQ(train.steps.size(), 2u);
  EXPECT_TRUE(train.steps[0].warm_up);
  EXPECT_EQ(train.mean_length(), train.steps[1].length);
  EXPECT_EQ(train.mean_split().step, train.steps[1].split.step);
  EXPECT_NE(summary_text(summary).find("a warm-up, which is in no mean"),
            std::string::npos);
  EXPECT_TRUE(summary_json(summary)["train"]["steps"][0]["warm_up"]);
}

/// Two devices that spend 60 % of their time in this class.
Summary mostly(Spent spent) {
  StepSummary step;
  step.length = step.path = step.split.step = 100;
  step.path_shares = {{"backward", 100}};
  step.split.known = true;
  step.split.devices.resize(2);
  for (DeviceSplit& device : step.split.devices) {
    device.spent[spent] = 60;
    device.spent[Spent::computing] = 40;
  }
  step.split.spent[spent] = 120;
  step.split.spent[Spent::computing] = 80;
  Summary summary;
  summary.devices = 2;
  summary.train.steps = {step};
  return summary;
}

TEST(Sentence, OfAnAllReduceWithoutTimedMessagesSaysWhatItCannotTell) {
  const std::string timed = limiting_sentence(mostly(Spent::collectives)),
                    unseen = limiting_sentence(mostly(Spent::undivided));
  EXPECT_NE(timed.find("the all-reduce of the gradients"), timed.npos) << timed;
  EXPECT_NE(unseen.find("they transfer, or wait for another rank"), unseen.npos)
      << unseen;
  EXPECT_NE(unseen.find("the trace does not say"), unseen.npos) << unseen;
  EXPECT_EQ(timed.find("does not say"), timed.npos) << timed;
}

TEST(Sentence, BlamesNoDeviceWhenOtherProgramsUsedTheCores) {
  // 54 µs of wall time for 26 µs of CPU time
  const std::string text = limiting_sentence(summarize(minimal()));
  EXPECT_NE(text.find("2.1 times their CPU time"), std::string::npos) << text;
  EXPECT_NE(text.find("repeat the measurement"), std::string::npos) << text;
  const Summary disturbed = summarize(minimal());
  EXPECT_EQ(limiting_sentence(summarize(quiet()), &disturbed), text)
      << "also if the reference was disturbed";
  EXPECT_EQ(limiting_sentence(summarize(emulate(minimal()))).find("repeat"),
            std::string::npos);
}

TEST(Sentence, JudgesNoDeviceThatComputesNothing) {
  Trace trace = minimal();
  trace.lockstep["devices"][0]["name"] = "null:0";
  const std::string text = limiting_sentence(summarize(trace));
  EXPECT_EQ(text, std::string(kNullSentence) + ".");
}

// The bytes remain, and no time, speed or share of waiting.
TEST(Null, HasNoTimesInSummaryAndDiff) {
  Trace trace = minimal();
  trace.lockstep["devices"][0]["name"] = "null:0";
  std::string text = summary_text(summarize(trace));
  EXPECT_NE(text.find("null: no times"), text.npos) << text;
  EXPECT_NE(text.find("bytes per step"), text.npos) << text;
  for (const char* told :
       {"measured", "images/s", "µs", "waiting for", "longest path"}) {
    EXPECT_EQ(text.find(told), text.npos) << told << " in\n" << text;
  }
  const TraceDiff diff = diff_traces(trace, minimal());
  text = diff_text(diff, "a", "b");
  EXPECT_NE(text.find("A = a (null: no times)"), text.npos) << text;
  EXPECT_NE(text.find("there are no times to compare"), text.npos) << text;
  for (const DiffRow& row : diff.rows) EXPECT_NE(row.unit, DiffRow::Unit::time);
}

TEST(Sentence, ComparesTheTimesOfOneDevice) {
  const Summary busy = summarize(with_slow_backward(10'000'000)), single = busy;
  EXPECT_EQ(limiting_sentence(busy, &single).rfind("2 devices take", 0), 0u);
}

TEST(Sentence, NamesTheClock) {
  const std::string text = limiting_sentence(summarize(emulate(minimal())));
  EXPECT_EQ(text.rfind("On the emulated clock, with hardware", 0), 0u) << text;
  const Trace same = emulate(minimal(), {.measured_durations = true});
  const std::string recorded = limiting_sentence(summarize(same));
  EXPECT_NE(recorded.find("with the recorded durations"), std::string::npos)
      << recorded;
}

TEST(Diff, ShowsWhatChanged) {
  const TraceDiff diff = diff_traces(minimal(), emulate(minimal()));
  EXPECT_EQ(diff.clock_b, "emulated");
  const auto row = [&](const std::string& section, const std::string& name) {
    for (const DiffRow& row : diff.rows) {
      if (row.section == section && row.name == name) return row;
    }
    throw std::out_of_range(section + "/" + name);
  };
  EXPECT_EQ(row("time", "step").a, 95'000);
  EXPECT_EQ(row("bytes by reason", "reduce").a, 48);
  EXPECT_EQ(row("bytes by reason", "reduce").b, 48);
  EXPECT_EQ(row("events", "copy").b, 9);
  EXPECT_EQ(row("longest path", "waiting for a core").b, 0);
  EXPECT_NE(diff_text(diff, "a", "b").find("clocks differ"), std::string::npos);
  EXPECT_EQ(diff_json(diff)["rows"].size(), diff.rows.size());
}

/// A step with calls: outer { layer, layer } on one thread, and `layer` on another.
Trace calls() {
  Trace trace;
  const auto call = [&](const char* name, int64_t id, int64_t tid, int64_t ts,
                        int64_t dur, const char* module, int64_t parent = kNone) {
    Event event;
    event.cat = "call", event.name = name, event.id = id, event.step = 0;
    event.tid = tid, event.ts = ts, event.dur = dur, event.parent = parent;
    event.args["module"] = module;
    trace.events.push_back(event);
  };
  call("Outer.__call__", 1, 0, 0, 100, "");
  call("Layer.__call__", 2, 0, 10, 20, "layer.0");
  call("Layer.forward", 3, 0, 12, 5, "layer.0");
  call("Layer.__call__", 4, 0, 40, 20, "layer.1");
  call("Layer.forward", 5, 0, 42, 5, "layer.1");
  call("Layer.__call__", 7, 0, 62, 20, "layer.2");  // contains no forward
  call("Replica.__call__", 6, 1, 90, 20, "", 1);
  return trace;
}

TEST(CallTree, CollapsesSiblingsThatAreAlike) {
  const std::vector<Call> roots = call_tree(calls(), 0);
  ASSERT_EQ(roots.size(), 1u);
  const auto& callees = roots[0].callees;
  ASSERT_EQ(callees.size(), 3u);
  EXPECT_EQ(callees[0].name, "Layer.__call__");
  EXPECT_EQ(callees[0].count, 2);
  EXPECT_EQ(callees[0].last_module, "layer.1");
  EXPECT_EQ(callees[0].time, 40);
  ASSERT_EQ(callees[0].callees.size(), 1u);
  EXPECT_EQ(callees[1].count, 1) << "its structure differs";
  EXPECT_EQ(callees[2].name, "Replica.__call__") << "called by its parent";
}

Event name_of_thread(int64_t tid, const std::string& thread) {
  Event name;
  name.ph = 'M', name.name = "thread_name", name.tid = tid;
  name.args["name"] = thread;
  return name;
}

TEST(CallTree, BeginsWithTheProgramsOwnThread) {
  Trace trace = calls();
  Event fetch = trace.events[0];
  fetch.name = "Dataset.fetch", fetch.id = 8, fetch.tid = 2;
  fetch.ts = -50;  // a worker started earlier
  trace.events.insert(trace.events.begin(), {name_of_thread(0, "main"),
                                             name_of_thread(2, "worker 1"), fetch});
  const auto roots = call_tree(trace, 0);
  ASSERT_EQ(roots.size(), 2u);
  EXPECT_EQ(roots[0].name, "Outer.__call__");
  EXPECT_EQ(roots[0].thread, "");
  EXPECT_EQ(roots[1].name, "Dataset.fetch");
  EXPECT_EQ(roots[1].thread, "worker 1");
}

TEST(CallTree, DoesNotAddUpTheTimesOfReplicas) {
  Trace trace;
  for (int64_t i = 0; i < 3; ++i) {
    Event event;
    event.cat = "call", event.name = i ? "Net.__call__" : "Outer.__call__";
    event.id = i + 1, event.step = 0, event.tid = i;
    event.ts = 10 * i, event.dur = i ? 70 : 100;
    if (i) event.parent = 1;
    trace.events.push_back(event);
    trace.events.push_back(name_of_thread(i, "replica " + std::to_string(i)));
  }
  sort_events(trace.events);
  const auto roots = call_tree(trace, 0);
  ASSERT_EQ(roots.at(0).callees.size(), 1u);
  EXPECT_EQ(roots[0].callees[0].time, 70);
  EXPECT_TRUE(call_tree_json(roots)[0]["callees"][0]["parallel"]);
  EXPECT_NE(call_tree_text(roots).find(
                "[replica 1 … replica 2: 2 in parallel, time of the first]"),
            std::string::npos)
      << call_tree_text(roots);
}

TEST(CallTree, ShowsThePathOfTheGoldenTrace) {
  const Trace trace = minimal();
  const auto roots = call_tree(trace, 0);
  ASSERT_EQ(roots.size(), 1u);
  EXPECT_EQ(roots[0].site, "train.cpp:1");
  EXPECT_EQ(roots[0].definition, "parallel.cpp:1");
  EXPECT_NE(call_tree_text(roots).find("DataParallel.__call__"), std::string::npos);
  EXPECT_NE(call_tree_text(roots).find("train.cpp:1 → parallel.cpp:1"),
            std::string::npos);
  EXPECT_EQ(call_tree_json(roots)[0]["event"],
            NamedTrace(trace)["DataParallel.__call__"]);
}

TEST(Spans, CountOverlapsOnce) {
  Spans spans;
  spans.add(0, 10);
  spans.add(30, 40);
  spans.add(5, 15);
  spans.add(6, 7);
  EXPECT_EQ(spans.covered(), 25);
  EXPECT_EQ(spans.extent(), 40);
}

}  // namespace
}  // namespace lockstep::tracer
