// `--mode ps`: equal to DDP (sync) and to plain SGD (async with one worker), which
// bytes its servers move, that `trace check` notices wrong ones, and what is refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include "engine/data/safetensors.h"
#include "engine/runtime/device_context.h"
#include "run/train.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/staleness.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/facts.h"
#include "tracer/format/keys.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;
using sharing::Consistency;
using tracer::Event;
using tracer::Trace;
using train::Mode;

/// A folder that is removed with its files.
struct PsFolder {
  PsFolder() { fs::create_directories(path); }
  ~PsFolder() { fs::remove_all(path); }
  const fs::path path =
      fs::temp_directory_path() / ("ps-test-" + std::to_string(::getpid()));
};

RunConfig toy(Mode mode, int workers) {
  RunConfig config;
  config.mode = mode;
  config.model.arch = "toy";
  config.device.type = DeviceType::reference;
  config.device.dtype = DType::f64;
  config.device.count = workers;
  config.data.kind = DataKind::random;
  config.data.length = 4 * 6;
  config.data.workers = 0;
  config.recipe.batch_size = 4;
  config.recipe.epochs = 1;
  config.output.quiet = true;
  return config;
}

/// A small ResNet with batch norm, for tiny images.
RunConfig resnet(Mode mode, int workers) {
  RunConfig config = toy(mode, workers);
  config.model.arch = "resnet20";
  config.data.kind = DataKind::generated;
  config.data.image_size = 8;
  config.data.classes = 3;
  config.data.length = 8;
  config.steps = 2;
  config.ddp.no_broadcast_buffers = true;
  return config;
}

std::map<std::string, std::vector<double>> weights_after(RunConfig config) {
  const PsFolder folder;
  config.output.save = folder.path / "weights.safetensors";
  EXPECT_EQ(run_training(config), 0);
  std::map<std::string, std::vector<double>> all;
  for (const auto& entry : data::read_safetensors(config.output.save)) {
    const auto* bytes = reinterpret_cast<const double*>(entry.data.data());
    if (entry.data.size() % 8 == 0) {
      all[entry.name].assign(bytes, bytes + entry.data.size() / 8);
    }
  }
  EXPECT_FALSE(all.empty());
  return all;
}

void expect_near(const std::map<std::string, std::vector<double>>& a,
                 const std::map<std::string, std::vector<double>>& b, double bound) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, values] : a) {
    const auto& others = b.at(name);
    ASSERT_EQ(values.size(), others.size()) << name;
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], others[i], bound) << name << " " << i;
    }
  }
}

TEST(PsMode, SyncEqualsDdp) {
  const auto ddp = weights_after(toy(Mode::ddp, 4));
  for (const int servers : {1, 3}) {
    RunConfig config = toy(Mode::ps, 4);
    config.ps.servers = servers;
    expect_near(weights_after(config), ddp, 1e-12);
  }
}

/// ssp without staleness has the pace of sync, but each gradient is an update.
TEST(PsMode, AsynchronousUpdatesAreNotDdp) {
  const auto ddp = weights_after(toy(Mode::ddp, 2));
  RunConfig config = toy(Mode::ps, 2);
  config.ps.consistency = Consistency::ssp;
  const auto ssp = weights_after(config);
  double most = 0;
  for (const auto& [name, values] : ddp) {
    for (size_t i = 0; i < values.size(); ++i) {
      most = std::max(most, std::abs(values[i] - ssp.at(name)[i]));
    }
  }
  EXPECT_GT(most, 1e-3);
}

TEST(PsMode, SyncEqualsDdpWithBatchNorm) {
  RunConfig config = resnet(Mode::ps, 2);
  config.ps.servers = 2;
  expect_near(weights_after(config), weights_after(resnet(Mode::ddp, 2)), 1e-12);
}

TEST(PsMode, AsyncWithOneWorkerIsPlainSgd) {
  RunConfig single = resnet(Mode::single, 1);
  single.device.count = 1;
  single.ddp.no_broadcast_buffers = false;
  const auto plain = weights_after(single);
  RunConfig config = resnet(Mode::ps, 1);
  config.ddp.no_broadcast_buffers = false;
  config.ps.consistency = Consistency::async;
  config.ps.servers = 3;
  EXPECT_EQ(weights_after(config), plain);
}

/// In a process of their own, the streams of a run have no earlier tasks to wait for.
void forget_earlier_runs(const RunConfig& config) {
  for (int d = 0; d < config.device.count + config.ps.servers; ++d) {
    runtime::DeviceContext& device = runtime::context({config.device.type, d});
    for (auto* stream : {&device.compute(), &device.copy(), &device.comm()}) {
      runtime::Task nothing;
      nothing.run = [] {};
      stream->enqueue(std::move(nothing))->wait();
    }
  }
}

Trace recorded(RunConfig config) {
  forget_earlier_runs(config);
  const PsFolder folder;
  config.output.trace = folder.path / "trace.json";
  Trace trace;
  EXPECT_EQ(run_training(config, &trace), 0);
  return trace;
}

RunConfig nulls(int workers, int servers, Consistency consistency) {
  RunConfig config = toy(Mode::ps, workers);
  config.device.type = DeviceType::null;
  config.device.dtype = DType::f32;
  config.recipe.batch_size = 2 * workers;
  config.data.length = 12 * workers;
  config.steps = 6;
  config.ps.servers = servers;
  config.ps.consistency = consistency;
  return config;
}

std::set<std::string> broken_laws_of(const Trace& trace) {
  std::set<std::string> laws;
  for (const tracer::Finding& finding : tracer::check_trace(trace).findings) {
    if (finding.ok || finding.law == "sources-present") continue;  // tests embed none
    laws.insert(finding.law + ": " + finding.message);
  }
  return laws;
}

std::set<std::string> names_of_laws(const Trace& trace) {
  std::set<std::string> names;
  for (const std::string& law : broken_laws_of(trace)) {
    names.insert(law.substr(0, law.find(':')));
  }
  return names;
}

TEST(PsMode, TracesObeyTheLaws) {
  for (const Consistency consistency :
       {Consistency::sync, Consistency::async, Consistency::ssp}) {
    RunConfig config = nulls(4, 2, consistency);
    config.ps.staleness = 1;
    config.ps.slow_rank = "2:3x";
    const Trace trace = recorded(config);
    EXPECT_EQ(broken_laws_of(trace), std::set<std::string>{});
    const tracer::ServerSummary servers = tracer::summarize_servers(trace);
    ASSERT_EQ(servers.servers.size(), 2u);
    const bool sync = consistency == Consistency::sync;
    for (const auto& [server, traffic] : servers.servers) {
      EXPECT_EQ(traffic.updates, sync ? 6 : 24);
      if (sync) {
        EXPECT_EQ(traffic.staleness, (tracer::StalenessCounts{{0, 6}}));
      }
    }
  }
}

TEST(PsMode, BackupWorkersDiscardGradientsInTheTrace) {
  RunConfig config = nulls(4, 1, Consistency::sync);
  config.ps.backup = 1;
  const Trace trace = recorded(config);
  EXPECT_EQ(broken_laws_of(trace), std::set<std::string>{});
  const auto servers = tracer::summarize_servers(trace).servers;
  EXPECT_GT(servers.at(0).discarded, 0);
  EXPECT_EQ(servers.at(0).staleness.size(), 1u);
}

TEST(PsMode, ServesManyWorkers) {
  const Trace trace = recorded(nulls(64, 4, Consistency::async));
  EXPECT_EQ(names_of_laws(trace), std::set<std::string>{});
  for (const auto& [server, traffic] : tracer::summarize_servers(trace).servers) {
    EXPECT_EQ(traffic.updates, 64 * 6);
    EXPECT_LE(tracer::mean_staleness(traffic.staleness), 63);
  }
}

/// Every port's bytes: N·S/K each way at a server, S each way at a worker.
TEST(PsMode, BytesPerPort) {
  const Trace trace = recorded(nulls(4, 4, Consistency::sync));
  const tracer::Summary summary = tracer::summarize(trace);
  const int64_t all = trace.lockstep["model"]["parameter_bytes"].get<int64_t>();
  const auto steps = static_cast<int64_t>(summary.train.steps.size());
  ASSERT_EQ(steps, 6);
  EXPECT_EQ(summary.train.bytes_by_why.at("pull"), 6 * 4 * all);
  for (int d = 4; d < 8; ++d) {
    EXPECT_NEAR(double(summary.train.ports.at(d).out), 6.0 * all, 6 * 4 * 4);
  }
}

Event* find_phase(Trace& trace, const char* name, const char* key) {
  Event* found = nullptr;
  for (Event& event : trace.events) {
    if (event.is("phase") && event.name == name && event.args.contains(key)) {
      found = &event;
    }
  }
  return found;
}

TEST(PsMode, CheckRejectsDamagedTraces) {
  RunConfig config = nulls(2, 2, Consistency::ssp);
  const Trace whole = recorded(config);
  ASSERT_EQ(broken_laws_of(whole), std::set<std::string>{});
  for (const auto& [why, law] :
       {std::pair{"push", "push-bytes"}, {"pull", "pull-bytes"}}) {
    Trace trace = whole;
    for (Event& event : trace.events) {
      if (!event.is("copy")) continue;
      const auto copy = tracer::copy_facts(event);
      if (copy.why != why || copy.tensor == "initial weights") continue;
      event.args["shape"] = {copy.bytes / 2};
      event.args["bytes"] = copy.bytes * 2;
      break;
    }
    EXPECT_EQ(names_of_laws(trace), std::set<std::string>{law});
  }
  Trace trace = whole;
  Event* update = find_phase(trace, "optimizer", "version");
  update->args["version"] = tracer::int_arg(update->args, "version") + 1;
  EXPECT_EQ(names_of_laws(trace), std::set<std::string>{"version-order"});

  trace = whole;
  Event* push = find_phase(trace, "push", "server");
  push->args["read_version"] = tracer::int_arg(push->args, "read_version") - 1;
  EXPECT_EQ(names_of_laws(trace), std::set<std::string>{"read-version"});

  trace = whole;
  push = find_phase(trace, "push", "server");
  push->args["server"] = 1 - tracer::int_arg(push->args, "server");
  EXPECT_TRUE(names_of_laws(trace).contains("all-servers"));

  trace = whole;
  for (Event& event : trace.events) {
    if (event.is("phase") && event.name == "step") event.args.erase("servers");
  }
  EXPECT_EQ(names_of_laws(trace), std::set<std::string>{"servers"});

  trace = whole;  // an update that does not wait for the pulls before it
  std::set<int64_t> pulls;
  for (const Event& event : trace.events) {
    if (event.is("copy") && tracer::copy_facts(event).why == "pull") {
      pulls.insert(event.id);
    }
  }
  const auto waits = [&](const Event& event) {
    return event.is("kernel") &&
           std::any_of(event.deps.begin(), event.deps.end(),
                       [&](int64_t id) { return pulls.contains(id); });
  };
  const auto device_of = [](const Event& event) { return event.pid; };
  std::map<int64_t, Event*> first;  // of each device
  for (Event& event : trace.events) {
    if (waits(event)) first.try_emplace(device_of(event), &event);
  }
  ASSERT_EQ(first.size(), 4u) << "two workers that read, two servers that write";
  Event* server_kernel = first.rbegin()->second;
  server_kernel->deps.clear();
  EXPECT_EQ(names_of_laws(trace), std::set<std::string>{"pull-before-update"});

  trace = whole;  // an update that begins while the weights are being pulled
  for (Event& event : trace.events) {
    if (event.id != server_kernel->id || !event.is("kernel")) continue;
    for (Event& copy : trace.events) {
      if (!pulls.contains(copy.id) || std::find(event.deps.begin(), event.deps.end(),
                                                copy.id) == event.deps.end()) {
        continue;
      }
      copy.dur = event.end() - copy.ts + 1;
    }
  }
  EXPECT_TRUE(names_of_laws(trace).contains("pull-before-update"));

  trace = recorded(nulls(2, 1, Consistency::async));  // passed off as ssp
  ASSERT_EQ(broken_laws_of(trace), std::set<std::string>{});
  Event* pull = nullptr;
  for (Event& event : trace.events) {
    if (event.is("phase") && event.name == "step") {
      event.args["consistency"] = "ssp";
      event.args["staleness"] = 0;
    }
    if (event.is("phase") && event.name == "pull" && event.step == 3) pull = &event;
  }
  for (Event& event : trace.events) {  // worker 0 pushes late
    if (event.is("phase") && event.name == "push" && event.step == 2) {
      event.dur += pull->end() - event.ts;
    }
  }
  EXPECT_TRUE(names_of_laws(trace).contains("ssp-bound"));
}

TEST(PsMode, CheckpointsResumeBitEqual) {
  const PsFolder folder;
  RunConfig config = toy(Mode::ps, 2);
  config.ps.servers = 3;
  config.recipe.epochs = 3;
  config.output.save = folder.path / "whole.safetensors";
  ASSERT_EQ(run_training(config), 0);
  RunConfig begin = config;
  begin.recipe.epochs = 2;
  begin.output.save = "";
  begin.checkpoint.folder = folder.path / "c";
  ASSERT_EQ(run_training(begin), 0);
  RunConfig rest = config;
  rest.given = {"--epochs"};
  rest.checkpoint.resume = folder.path / "c" / "checkpoint.safetensors";
  rest.output.save = folder.path / "resumed.safetensors";
  ASSERT_EQ(run_training(rest), 0);
  const auto a = data::read_safetensors(config.output.save);
  const auto b = data::read_safetensors(rest.output.save);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].data, b[i].data) << a[i].name;
}

void expect_refused(RunConfig config, const std::string& part) {
  try {
    run_training(config);
    FAIL() << part;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(PsMode, RefusesWhatItCannotDo) {
  const RunConfig valid = toy(Mode::ps, 2);
  RunConfig config = valid;
  config.given = {"--staleness"};
  expect_refused(config, "fix: add --consistency ssp");
  config = valid;
  config.ps.backup = 2;
  expect_refused(config, "--backup 2 would discard every gradient of 2 workers");
  config.ps.backup = 1;
  config.ps.consistency = Consistency::async;
  expect_refused(config, "fix: omit it, or --consistency");
  for (const char* wrong : {"2", "1:3", "1:0.5x", "1:3xx", "-1:3x", ":3x"}) {
    config = valid;
    config.ps.slow_rank = wrong;
    expect_refused(config, "must be RANK:FACTORx");
  }
  config = valid;
  config.ps.slow_rank = "2:3x";
  expect_refused(config, "there are only 2 workers; fix: name one from 0 to 1");
  config = valid;
  config.recipe.clip_grad_norm = 1;
  expect_refused(config, "--clip-grad-norm clips the mean gradient");
  config = toy(Mode::ddp, 2);
  config.given = {"--servers"};
  expect_refused(config, "--servers has no effect on --mode ddp");
}

}  // namespace
}  // namespace lockstep::run
