// Our trace in torch.profiler's format: it contains what torch.profiler's tools
// require, with correct values.
#include "tracer/kineto/kineto.h"

#include <algorithm>
#include <map>

#include "tests/tracer/golden.h"
#include "tracer/format/args.h"
#include "tracer/format/file_io.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

/// One rank's export of the hand-written DDP trace.
struct Exported {
  explicit Exported(int64_t rank, const std::string& trace = minimal_ddp_path())
      : events(kineto_events(read_trace(trace), rank)) {}

  std::vector<const Event*> all(const std::string& cat, const std::string& name) const {
    std::vector<const Event*> found;
    for (const Event& event : events) {
      if (event.cat == cat && event.name.find(name) == 0) found.push_back(&event);
    }
    return found;
  }
  const Event& one(const std::string& cat, const std::string& name) const {
    const auto found = all(cat, name);
    EXPECT_EQ(found.size(), 1u) << cat << " " << name;
    return *found.at(0);
  }

  std::vector<Event> events;
};

TEST(KinetoExport, StepsAreAnnotatedAndPhasesHaveTorchsNames) {
  const Exported rank(0);
  const Event& step = rank.one("user_annotation", "ProfilerStep#0");
  EXPECT_EQ(step.ts, 1'000);
  EXPECT_EQ(step.dur, 60'000);
  EXPECT_EQ(step.pid, step.tid) << "the main thread's id is the process id";
  EXPECT_EQ(rank.one("user_annotation", "backward").ts, 17'000);
}

TEST(KinetoExport, CollectivesAreNcclsKernels) {
  const Exported rank(1);
  const Event& kernel = rank.one("kernel", "ncclKernel_AllReduce_RING_Sum_float");
  EXPECT_EQ(kernel.ts, 23'250);
  EXPECT_EQ(kernel.dur, 8'000);
  EXPECT_EQ(kernel.pid, 1) << "device 1";
  EXPECT_EQ(kernel.tid, int_arg(kernel.args, "stream"));
  EXPECT_EQ(string_arg(kernel.args, "Collective name"), "allreduce");
  EXPECT_EQ(int_arg(kernel.args, "In msg nelems"), 2);
  EXPECT_EQ(int_arg(kernel.args, "Group size"), 2);
  EXPECT_EQ(string_arg(kernel.args, "dtype"), "Float");
  EXPECT_EQ(string_arg(kernel.args, "Process Group Ranks"), "[0,1]");
  EXPECT_EQ(int_arg(kernel.args, "Seq"), 1);
  EXPECT_EQ(rank.one("user_annotation", "nccl:all_reduce").ts, 22'750);
  EXPECT_EQ(rank.all("cpu_op", "record_param_comms").size(), 2u);
  EXPECT_TRUE(rank.all("gpu_memcpy", "Memcpy PtoP").empty()) << "messages are nested";
}

TEST(KinetoExport, CopiesSayTheirBytes) {
  const Exported rank(0);
  const auto copies = rank.all("gpu_memcpy", "Memcpy HtoD");
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(int_arg(copies[1]->args, "bytes"), 16);
  EXPECT_DOUBLE_EQ(number_arg(copies[1]->args, "memory bandwidth (GB/s)"), 16.0 / 500);

  const Exported dp(0, minimal_path());
  const auto peers = dp.all("gpu_memcpy", "Memcpy PtoP");
  ASSERT_FALSE(peers.empty());
  for (const Event* copy : peers) {
    EXPECT_NE(int_arg(copy->args, "fromDevice"), int_arg(copy->args, "toDevice"));
    EXPECT_EQ(copy->pid, int_arg(copy->args, "toDevice"));
  }
  const Event& read = dp.one("gpu_memcpy", "Memcpy DtoH");
  EXPECT_EQ(read.pid, 0) << "the device that it reads from";
  EXPECT_EQ(int_arg(read.args, "bytes"), 4);
}

TEST(KinetoExport, EveryTaskFindsItsLaunchAndThatItsOperator) {
  for (const std::string& trace : {minimal_path(), minimal_ddp_path()}) {
    const Exported rank(0, trace);
    std::map<int64_t, const Event*> launches, operators, starts, ends;
    for (const Event& event : rank.events) {
      const int64_t correlation = int_arg(event.args, "correlation", kNone);
      if (event.is("cuda_runtime")) launches[correlation] = &event;
      if (event.is("cpu_op")) operators[int_arg(event.args, "External id")] = &event;
      if (event.is("ac2g")) (event.ph == 's' ? starts : ends)[event.id] = &event;
    }
    size_t tasks = 0;
    for (const Event& task : rank.events) {
      if (!task.is("kernel") && !task.is("gpu_memcpy")) continue;
      ++tasks;
      const int64_t correlation = int_arg(task.args, "correlation");
      ASSERT_TRUE(launches.contains(correlation)) << task.name;
      const Event& launch = *launches[correlation];
      EXPECT_LE(launch.end(), std::max(task.ts, launch.ts));
      EXPECT_LE(launch.ts, task.ts);
      ASSERT_TRUE(starts.contains(correlation) && ends.contains(correlation));
      EXPECT_EQ(starts[correlation]->ts, launch.ts) << "flows bind to a slice's start";
      EXPECT_EQ(ends[correlation]->ts, task.ts);
      EXPECT_EQ(ends[correlation]->tid, task.tid);

      const int64_t op = int_arg(task.args, "External id");
      ASSERT_TRUE(operators.contains(op)) << task.name;
      EXPECT_EQ(op, int_arg(launch.args, "External id"));
      EXPECT_LE(operators[op]->ts, launch.ts);
      EXPECT_LE(launch.end(), operators[op]->end());
      EXPECT_EQ(operators[op]->tid, launch.tid);
    }
    EXPECT_GE(tasks, 6u);
  }
}

TEST(KinetoExport, HostThreadsStillNest) {
  const Exported rank(0, minimal_path());
  std::map<std::pair<int64_t, int64_t>, std::vector<const Event*>> open;
  for (const Event& event : rank.events) {
    if (event.ph != 'X' || event.pid < 100'000) continue;
    auto& stack = open[{event.pid, event.tid}];
    while (!stack.empty() && stack.back()->end() <= event.ts) stack.pop_back();
    const int64_t limit = stack.empty() ? event.end() : stack.back()->end();
    EXPECT_LE(event.end(), limit) << event.name;
    stack.push_back(&event);
  }
  EXPECT_GE(open.size(), 2u);
}

TEST(KinetoExport, CallsAndBackwardAreLinked) {
  const Exported rank(0, minimal_path());
  const auto modules = rank.all("python_function", "nn.Module: ");
  ASSERT_FALSE(modules.empty());
  EXPECT_EQ(modules[0]->name, "nn.Module: DataParallel_0");
  EXPECT_TRUE(modules[0]->args["Python parent id"].is_null());
  const auto flows = rank.all("fwdbwd", "fwdbwd");
  ASSERT_FALSE(flows.empty());
  const Event& backward = *rank.all("cpu_op", "AddmmBackward0").at(0);
  const auto ends_there = [&](const Event* flow) {
    return flow->ph == 'f' && flow->ts == backward.ts && flow->tid == backward.tid;
  };
  EXPECT_TRUE(std::any_of(flows.begin(), flows.end(), ends_there));
  EXPECT_GT(int_arg(backward.args, "Sequence number"), 0);
}

TEST(KinetoExport, OneFilePerRankThatSaysWhatItIs) {
  const TemporaryFolder folder;
  const Trace trace = read_trace(minimal_ddp_path());
  for (const bool gzip : {false, true}) {
    const std::string out = folder / (gzip ? "packed" : "plain");
    const auto files = export_kineto(trace, out, gzip);
    ASSERT_EQ(files.size(), 2u);
    for (int64_t rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(files[rank].ends_with(".pt.trace.json"), !gzip);
      const std::string text = read_whole_file(files[rank]);
      // HTA determines the rank from the first `"rank": N`.
      EXPECT_EQ(text.substr(text.find("\"rank\": ") + 8, 1), std::to_string(rank));
      const Json json = Json::parse(text);
      EXPECT_EQ(json["distributedInfo"]["world_size"], 2);
      EXPECT_EQ(json["lockstep"]["clock"], "measured");
      EXPECT_FALSE(json["lockstep"]["not_measured"].empty());
      EXPECT_EQ(json["deviceProperties"][1]["name"], "lockstep virtual device cpu:1");
      EXPECT_EQ(json["traceEvents"].size(), Exported(rank).events.size());
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(out), {}), 2);
  }
}

TEST(KinetoExport, AllFilesOrNone) {
  const TemporaryFolder folder;
  Trace trace = read_trace(minimal_ddp_path());
  const std::string stranger = folder / "rank-7.pt.trace.json";
  std::ofstream(stranger) << "{}";
  EXPECT_THROW(export_kineto(trace, folder.path(), false), std::runtime_error);
  EXPECT_EQ(folder.files(), 1u);
  fs::remove(stranger);

  fs::create_directory(folder / "rank-1.pt.trace.json");  // this one cannot be replaced
  EXPECT_THROW(export_kineto(trace, folder.path(), false), std::runtime_error);
  EXPECT_FALSE(fs::exists(folder / "rank-0.pt.trace.json"));

  Trace strange = trace;
  for (Event& event : strange.events) event.args["rank"] = INT64_MAX;
  EXPECT_THROW(export_kineto(strange, folder / "new", false), std::runtime_error);
  trace.lockstep.erase("format");
  EXPECT_THROW(export_kineto(trace, folder / "new", false), std::runtime_error);
  EXPECT_FALSE(fs::exists(folder / "new"));
}

}  // namespace
}  // namespace lockstep::tracer
