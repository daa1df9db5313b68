// How much was in use, counted by hand in the hand-written trace and copies of it; and
// what must not be said where a trace lacks the facts.
#include "tests/tracer/named_trace.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/args.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

Trace small() { return read_trace(minimal_path()); }

Utilisation use_of(const Trace& trace) { return summarize(trace).train.utilisation; }

/// Adds a phase `data` of 19 µs and batches of two loader workers, 30 µs each; the step
/// takes 95 µs.
Trace with_loader(int batches) {
  Trace trace = small();
  const NamedTrace names(trace);
  Event data = event_at(trace, names, "backward");
  data.id = 900;
  data.name = "data";
  data.ts = 60'000;
  data.dur = 19'000;
  trace.events.push_back(data);
  for (int i = 0; i < batches; ++i) {
    Event fetch = data;
    fetch.id = 901 + i;
    fetch.cat = "call";
    fetch.name = "_MapDatasetFetcher.fetch";
    fetch.tid = 10 + i % 2;
    fetch.ts = 1'000 + 31'000 * (i / 2);
    fetch.dur = 30'000;
    trace.events.push_back(fetch);
  }
  sort_events(trace.events);
  return trace;
}

void call_devices(Trace& trace, const std::string& name) {
  for (Json& device : trace.lockstep["devices"]) device["name"] = name;
}

bool summary_says(const Trace& trace, const std::string& text) {
  return summary_text(summarize(trace)).find(text) != std::string::npos;
}

TEST(Utilisation, CountsCoresAndPorts) {
  const Utilisation use = use_of(small());
  ASSERT_TRUE(use.cores.has_value());
  EXPECT_DOUBLE_EQ(*use.cores, 26.0 / 95) << "6 + 5 + 8 + 7 µs of CPU time";
  ASSERT_TRUE(use.port.has_value());
  EXPECT_EQ(use.port->device, 0);
  EXPECT_TRUE(use.port->out);
  EXPECT_NEAR(use.port->share, 36.0 / 95, 1e-12) << "6 + 1 + 3 + 26 µs of copies";
  EXPECT_FALSE(use.data.has_value()) << "no phase `data` is recorded";
  EXPECT_FALSE(use.workers.has_value());
  EXPECT_TRUE(summary_says(small(),
                           "  waiting for data unknown (workers unknown) · cores "
                           "busy 0.3 · busiest port: dev 0 out 38 %\n"));
}

TEST(Utilisation, TheHostHasPorts) {
  Trace trace = small();
  for (Event& event : trace.events) {
    if (event.is("copy") && int_arg(event.args, "src") == 0) event.args["src"] = "host";
  }
  EXPECT_TRUE(summary_says(trace, "busiest port: host out 45 %\n"));
}

TEST(Utilisation, ALoaderKeepsUpWithPartOfItsTime) {
  const Utilisation use = use_of(with_loader(4));
  ASSERT_TRUE(use.data && use.workers);
  EXPECT_DOUBLE_EQ(*use.data, 0.2);
  EXPECT_DOUBLE_EQ(*use.workers, 30.0 / (2 * 95)) << "a batch per step, two workers";
  EXPECT_TRUE(summary_says(with_loader(4), "waiting for data 20 % (2 workers 16 %)"));
}

TEST(Utilisation, WorkersAreUnknownUnlessEachIsSeen) {
  EXPECT_FALSE(use_of(with_loader(2)).workers.has_value());
  EXPECT_TRUE(summary_says(with_loader(2), "waiting for data 20 % (workers unknown)"));
}

TEST(Utilisation, NothingIsSaidOfNullDevices) {
  Trace trace = with_loader(4);
  call_devices(trace, "null:0");
  const Utilisation use = use_of(trace);
  EXPECT_FALSE(use.data || use.workers || use.cores || use.port);
}

TEST(Utilisation, CoresAreNotThoseOfGpusOrOfAnEmulatedClock) {
  Trace trace = small();
  call_devices(trace, "cuda:0 on GPU 0");
  EXPECT_FALSE(use_of(trace).cores.has_value());
  EXPECT_TRUE(use_of(trace).port.has_value());
  trace = small();
  trace.lockstep["clock"] = "emulated";
  EXPECT_FALSE(use_of(trace).cores.has_value());
  trace = small();
  for (Event& event : trace.events) event.args.erase("cpu_us");
  EXPECT_FALSE(use_of(trace).cores.has_value());
}

TEST(Utilisation, PortsAreUnknownWithoutACollectivesMessages) {
  Trace trace = small();
  Event collective = event_at(trace, NamedTrace(trace), "reduce gradients@cpu:0");
  collective.id = 900;
  collective.cat = "collective";
  collective.args["group"] = "default";
  collective.args["seq"] = 1;
  collective.args["group_size"] = 2;
  trace.events.push_back(collective);
  sort_events(trace.events);
  EXPECT_FALSE(use_of(trace).port.has_value());
  EXPECT_TRUE(summary_says(trace, "busiest port unknown"));

  trace = small();
  trace.other["distributedInfo"] = {{"rank", 0}, {"world_size", 2}};
  EXPECT_FALSE(use_of(trace).port.has_value()) << "one rank of two";
  trace = small();
  event_at(trace, NamedTrace(trace), "reduce gradients@cpu:0").args["modelled"] = true;
  EXPECT_FALSE(use_of(trace).port.has_value()) << "modelled messages have no times";
}

TEST(Utilisation, AnImportsCoresAreUnknown) {
  Trace trace = small();
  trace.lockstep["imported"] = {{"from", "x"}, {"left_out", 0}, {"unknown", "y"}};
  EXPECT_FALSE(use_of(trace).cores.has_value());
  const Json json = summary_json(summarize(trace))["train"]["utilisation"];
  EXPECT_TRUE(json["cores"].is_null());
  EXPECT_EQ(json["port"]["direction"], "out");
}

TEST(Utilisation, NoCopiesAreSaidSo) {
  Trace trace = small();
  std::erase_if(trace.events, [](const Event& event) { return event.is("copy"); });
  EXPECT_TRUE(summary_says(trace, "· no copies\n"));
}

TEST(FailedRun, IsNamedInTheSummary) {
  Trace trace = small();
  EXPECT_FALSE(summary_says(trace, "the run failed"));
  trace.lockstep["failure"] = {{"error", "Caught RuntimeError in replica 1"}};
  EXPECT_TRUE(
      summary_says(trace, "the run failed: Caught RuntimeError in replica 1\n"));
}

}  // namespace
}  // namespace lockstep::tracer
