// Import of torch.profiler's traces: their data is kept, and missing data is reported.
// sanitize: address
#include "tracer/kineto/kineto.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "base/file.h"
#include "tests/tracer/golden.h"
#include "tests/tracer/kineto/profiler_file.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/summary.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/args.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

/// A hand-written trace in torch.profiler's format: a step with operators that launch a
/// kernel, a copy and a collective.
std::string torchs() { return slurp(golden() / "torch_profiler.json"); }

Trace imported(const std::string& text = torchs()) {
  return import_kineto(parse_trace(text, "torch.json"));
}

const Event& named(const Trace& trace, const std::string& name) {
  for (const Event& event : trace.events) {
    if (event.ph == 'X' && event.name == name) return event;
  }
  throw std::out_of_range(name);
}

TEST(KinetoImport, KeepsWhatTheFileSays) {
  const Trace trace = imported();
  const Event& step = named(trace, "step");
  EXPECT_EQ(step.step, 7);
  EXPECT_EQ(step.ts, 0) << "the trace begins with its first event";
  EXPECT_EQ(step.dur, 80'000);
  EXPECT_EQ(step.pid, 300) << "rank 3's host";

  const Event& kernel = named(trace, "sgemm");
  EXPECT_EQ(kernel.cat, "kernel");
  EXPECT_EQ(kernel.ts, 6'500);
  EXPECT_EQ(kernel.pid, 304);
  EXPECT_EQ(kernel.tid, 7);
  EXPECT_EQ(kernel.step, 7);
  EXPECT_EQ(kernel.op, named(trace, "aten::addmm").id) << "the innermost operator";
  EXPECT_EQ(named(trace, "AddmmBackward0").fwd, named(trace, "aten::addmm").id);
  EXPECT_EQ(named(trace, "optimizer").cat, "phase");
  EXPECT_EQ(string_arg(named(trace, "cudaDeviceSynchronize").args, "why"), "device");

  const Event& copy = named(trace, "Memcpy DtoH (Device -> Pageable)");
  EXPECT_EQ(copy.pid, 300) << "on the receiver's lane";
  EXPECT_EQ(int_arg(copy.args, "bytes"), 4);
  EXPECT_EQ(string_arg(copy.args, "dst"), "host");

  const Event& collective = named(trace, "all_reduce");
  EXPECT_EQ(collective.cat, "collective");
  EXPECT_EQ(int_arg(collective.args, "bytes"), 40);
  EXPECT_EQ(int_arg(collective.args, "group_size"), 4);
  EXPECT_EQ(int_arg(collective.args, "seq"), 6);

  const auto memory = std::find_if(trace.events.begin(), trace.events.end(),
                                   [](const Event& event) { return event.ph == 'C'; });
  ASSERT_NE(memory, trace.events.end());
  EXPECT_EQ(int_arg(memory->args, "other"), 4096);
  EXPECT_EQ(trace.lockstep["imported"]["left_out"]["gpu_user_annotation"], 1);
  EXPECT_EQ(trace.lockstep["rank_clock"]["origin_ns"], 1'000'000 + 100'500);
}

TEST(KinetoImport, CheckSaysWhatItCannotJudge) {
  const TemporaryFolder folder;
  const std::string path = folder / "t.json";
  write_trace(imported(), path);
  const CheckReport report = check_trace(read_trace(path));
  EXPECT_TRUE(report.ok()) << check_text(report);
  std::set<std::string> unjudged;
  for (const Finding& finding : report.findings) {
    if (!finding.judged) unjudged.insert(finding.law);
  }
  for (const char* law :
       {"sources-present", "replicate-bytes", "deps-respected", "fifo"}) {
    EXPECT_TRUE(unjudged.contains(law)) << law;
  }
  for (const char* law : {"ids-unique", "references", "lanes-named"}) {
    EXPECT_FALSE(unjudged.contains(law)) << law;
  }
  EXPECT_NE(check_text(report).find("that could be judged holds"), std::string::npos);
  EXPECT_EQ(check_json(report)["ok"], true);

  Trace broken = read_trace(path);
  broken.events.back().id = 0;
  EXPECT_FALSE(check_trace(broken).ok()) << "other laws are still checked";
}

TEST(KinetoImport, KernelsOfAStreamMayOverlap) {
  ProfilerFile file;  // programmatic dependent launch
  file.step(1, 0, 100).kernel("a", 1, 10, 20).kernel("b", 2, 25, 20);
  const CheckReport report = check_trace(file.imported());
  EXPECT_TRUE(report.ok()) << check_text(report);
}

TEST(KinetoImport, ARankCanBeGiven) {
  const Trace trace = import_kineto(parse_trace(torchs(), "torch.json"), 5);
  EXPECT_EQ(trace.other["distributedInfo"]["rank"], 5);
  EXPECT_EQ(named(trace, "step").pid, 500);
}

TEST(KinetoImport, OldOperatorsAnnotatePhases) {
  ProfilerFile file;  // PyTorch 1.8
  file.host("Operator", "ProfilerStep#1", 0, 100);
  file.host("Operator", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            1, 20);
  file.host("Operator", "Optimizer.step#SGD.step", 80, 10);
  const Trace trace = file.imported();
  EXPECT_EQ(named(trace, "data").cat, "phase");
  EXPECT_EQ(named(trace, "optimizer").cat, "phase");
}

std::set<std::string> thread_names(const Trace& trace) {
  std::set<std::string> threads;
  for (const Event& event : trace.events) {
    if (event.name == "thread_name" && event.pid == 0) {
      threads.insert(string_arg(event.args, "name"));
    }
  }
  return threads;
}

TEST(KinetoImport, ThreadsKeepTheirNames) {
  const auto event = [](const char* tid, double ts) {
    return fmt::format(R"(,{{"ph":"X","cat":"cpu_op","name":"aten::add","pid":9,)"
                       R"("tid":{},"ts":{},"dur":1}})",
                       tid, ts);
  };
  const std::string names = R"({"ph":"M","name":"thread_name","pid":9,"tid":12,)"
                            R"x("args":{"name":"thread 12 (python)"}})x";
  const Trace trace = imported(R"({"traceEvents":[)" + names + event("12", 1) +
                               event("\"loader\"", 2) + event("13", 3) + "]}");
  EXPECT_EQ(thread_names(trace),
            (std::set<std::string>{"thread 12 (python)", "loader", "thread 13"}));
}

TEST(KinetoImport, SaysWhatItLeavesOut) {
  testing::ProfilerFile file;
  file.step(1, 0, 100).host("cpu_op", "aten::add", 1, 2, R"("Call stack": "a.py: f")");
  EXPECT_EQ(left_out_text(file.imported().lockstep),
            "left out: the call stacks of 1 operator");
  file.host("mtia_ccp_events", "k", 3, 1).host("mtia_ccp_events", "k", 5, 1);
  file.host("xpu_runtime", "zeInit", 7, 1);
  const Trace trace = file.imported();
  EXPECT_EQ(named(trace, "zeInit").cat, "call") << "of another accelerator's runtime";
  const std::string said =
      "left out: the call stacks of 1 operator, 2 events of mtia_ccp_events\n";
  EXPECT_NE(summary_text(summarize(trace)).find(said), std::string::npos);
  EXPECT_EQ(left_out_text(parse_trace(slurp(minimal_path()), "ours").lockstep), "");
}

TEST(KinetoImport, OpeningImportsWhatIsTheProfilers) {
  EXPECT_TRUE(
      open_trace(golden() / "torch_profiler.json").lockstep.contains("imported"));
  EXPECT_FALSE(open_trace(minimal_path()).lockstep.contains("imported"));
}

TEST(KinetoImport, OpeningReadsWhatIsLeftOfACutGzip) {
  const TemporaryFolder folder;
  const std::string path = folder / "whole.json.gz", cut = folder / "cut.json.gz";
  AtomicFile file(path);
  file.write(torchs());
  file.commit();
  const std::string whole = slurp(path);
  const auto opened = [&](size_t bytes) {
    std::ofstream(cut, std::ios::binary) << whole.substr(0, bytes);
    return open_trace(cut);
  };
  size_t events = 0;
  for (size_t bytes = whole.size() / 2; bytes < whole.size(); bytes += 97) {
    const Trace trace = opened(bytes);
    EXPECT_NE(summary_text(summarize(trace)).find("the file ends early"),
              std::string::npos);
    EXPECT_GE(trace.events.size(), events) << "at byte " << bytes;
    events = trace.events.size();
  }
  EXPECT_EQ(named(opened(whole.size() - 1), "sgemm").ts, 6'500) << "in its checksum";
  EXPECT_THROW(opened(25), std::runtime_error) << "before the first event";
  EXPECT_THROW(read_trace(cut), std::runtime_error) << "not as a trace of ours";
}

TEST(KinetoImport, OpeningReadsWhatIsLeftOfACutFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "cut.json", whole = torchs();
  const auto opened = [&](const std::string& text) {
    std::ofstream(path) << text;
    return open_trace(path);
  };
  const size_t at = whole.find("ncclDevKernel");  // inside an event
  const Trace trace = opened(whole.substr(0, at));
  EXPECT_EQ(named(trace, "sgemm").ts, 6'500);
  EXPECT_THROW(named(trace, "all_reduce"), std::out_of_range);
  EXPECT_NE(summary_text(summarize(trace)).find("the file ends early"),
            std::string::npos);
  EXPECT_NO_THROW(opened(whole.substr(0, whole.size() - 2))) << "two missing bytes";
  std::string damaged = whole;
  damaged.replace(at, 1, "\"");
  EXPECT_THROW(opened(damaged), std::runtime_error) << "not at its end";
  EXPECT_THROW(opened(slurp(minimal_path()).substr(0, 4'000)), std::runtime_error)
      << "ours is whole or refused";
  EXPECT_THROW(opened(whole.substr(0, 20)), std::runtime_error);
}

TEST(KinetoImport, IsNotEmulated) {
  for (const bool measured : {false, true}) {
    try {
      emulate(imported(), {.measured_durations = measured});
      ADD_FAILURE() << "its kernels have no `deps`";
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("does not record what its kernels"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(KinetoImport, ARecordingOfTheHostAloneHasNoDevice) {
  const Trace trace = imported(
      R"([{"ph":"X","cat":"cpu_op","name":"aten::add","ts":1,"dur":2,"pid":1}])");
  EXPECT_EQ(summarize(trace).devices, 0);
  const std::string text = summary_text(summarize(trace));
  EXPECT_NE(text.find("0 devices · measured"), std::string::npos) << text;
  EXPECT_EQ(text.find("1 device"), std::string::npos) << text;
}

TEST(KinetoImport, ARecordingOfTheHostAloneHasNoTablesOfDevices) {
  const Trace trace = imported(R"([
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","ts":1,"dur":9,"pid":1},
    {"ph":"X","cat":"cpu_op","name":"aten::add","ts":2,"dur":2,"pid":1}])");
  const std::string text = summary_text(summarize(trace));
  EXPECT_NE(text.find("no copies were recorded"), std::string::npos) << text;
  EXPECT_NE(text.find("No device recorded anything"), std::string::npos) << text;
  for (const char* table : {"busy:", "bytes per port", "kernels on"}) {
    EXPECT_EQ(text.find(table), std::string::npos) << table << " in\n" << text;
  }
}

TEST(KinetoImport, SummaryNamesNoBrake) {
  const Summary summary = summarize(imported());
  ASSERT_EQ(summary.train.steps.size(), 1u);
  EXPECT_EQ(summary.train.steps[0].path, 0);
  ASSERT_EQ(summary.train.steps[0].collectives.size(), 1u);
  EXPECT_EQ(summary.train.steps[0].collectives[0].exposed, 15'000);
  EXPECT_NE(summary_text(summary).find("imported"), std::string::npos);
  EXPECT_TRUE(
      summary_json(summary)["train"]["steps"][0]["collectives"][0]["wait"].is_null());
}

TEST(KinetoImport, WithoutStepsTheRecordingIsOne) {
  std::string text = torchs();
  for (size_t at; (at = text.find("ProfilerStep#7")) != text.npos;) {
    text.replace(at, 14, "my step");
  }
  const Trace trace = imported(text);
  EXPECT_EQ(named(trace, "step").dur, 80'000);
  EXPECT_TRUE(check_trace(trace).ok()) << check_text(check_trace(trace));
}

TEST(KinetoImport, RefusesWhatIsNotPyTorchs) {
  const auto refused = [](const std::string& text, const char* why) {
    try {
      imported(text);
      ADD_FAILURE() << text;
    } catch (const std::runtime_error& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find(why), std::string::npos) << what;
      EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    }
  };
  refused(R"({"traceEvents": []})", "no events from PyTorch");
  refused(R"([{"ph":"X","cat":"mine","name":"x","ts":1,"dur":2}])",
          "no events from PyTorch");
  refused(R"([{"ph":"X","name":"aten::add","ts":1,"dur":2,"pid":"CPU functions"}])",
          "without Kineto");
  refused(slurp(minimal_path()), "already");
  const std::string whole = torchs();
  refused(whole.substr(0, whole.size() / 2), "truncated");
  for (const char* device : {"99", "-1", "9000000000000000000"}) {
    std::string text = whole;
    text.replace(text.find("\"device\":3") + 9, 1, device);
    refused(text, "names device");
  }
}

TEST(KinetoImport, WrongTypesAreAbsentFacts) {
  for (const auto& [old, with] :
       std::initializer_list<std::pair<const char*, const char*>>{
           {"\"rank\": 3", "\"rank\": \"three\""},
           {"\"rank\": 3", "\"rank\": -9223372036854775808"},
           {"\"baseTimeNanoseconds\": 1000000", "\"baseTimeNanoseconds\": [1]"},
           {"\"bytes\":4", "\"bytes\":\"4\""},
           {"\"In msg nelems\":10", "\"In msg nelems\":9223372036854775807"},
           {"\"correlation\":50", "\"correlation\":null"},
           {"[[4,2],[2,2]]", "{\"a\":1}"},
           {"ProfilerStep#7", "ProfilerStep#99999999999999999999"},
           {"\"dur\":80", "\"dur\":-80"},
           {"\"Total Allocated\":4096", "\"Total Allocated\":-1"},
           {"\"Device Id\":3", "\"Device Id\":\"3\""}}) {
    std::string text = torchs();
    text.replace(text.find(old), std::string(old).size(), with);
    SCOPED_TRACE(with);
    Trace trace;
    ASSERT_NO_THROW(trace = imported(text));
    EXPECT_NO_THROW(summary_text(summarize(trace)));
    EXPECT_NO_THROW(check_trace(trace));
  }
}

/// Round trip: data that both formats have is preserved to the nanosecond.
TEST(KinetoImport, IsTheReverseOfExport) {
  const TemporaryFolder folder;
  const Trace ours = read_trace(minimal_ddp_path());
  const auto files = export_kineto(ours, folder / "out", true);
  for (int64_t rank = 0; rank < 2; ++rank) {
    const Trace back = import_kineto(read_trace(files[rank]));
    EXPECT_TRUE(check_trace(back).ok()) << check_text(check_trace(back));
    using Fact = std::tuple<std::string, int64_t, int64_t, int64_t>;
    std::multiset<Fact> before, after;
    int64_t origin = -1;
    const auto gather = [](const Event& event, int64_t from,
                           std::multiset<Fact>& facts) {
      const bool sized = event.is("copy") || event.is("collective");
      const int64_t bytes = sized ? int_arg(event.args, "bytes") : 0;
      facts.emplace(event.cat, event.ts - from, event.dur, bytes);
    };
    for (const Event& event : ours.events) {
      if (event.ph != 'X' || int_arg(event.args, "rank") != rank) continue;
      if (origin < 0) origin = event.ts;
      const bool message = event.args.contains("ring_step");
      if (is_task(event) && !message) gather(event, origin, before);
      if (event.is("phase")) gather(event, origin, before);
    }
    for (const Event& event : back.events) {
      if (event.ph != 'X') continue;
      if (is_task(event) || event.is("phase")) gather(event, 0, after);
    }
    EXPECT_EQ(before, after);
    const auto kernel = std::find_if(back.events.begin(), back.events.end(),
                                     [](const Event& e) { return e.is("kernel"); });
    EXPECT_EQ(string_arg(kernel->args, "phase"), "forward");
  }
}

}  // namespace
}  // namespace lockstep::tracer
