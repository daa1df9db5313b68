// `lockstep bench-step`: times training steps for tests/bench; prints one JSON line.
// With --serve, one process answers many requests, so that peers can take turns without
// paying for a new process and, on a GPU, a new context each time.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/flags.h"
#include "engine/backends/backend.h"
#include "engine/models/zoo.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/optim/sgd.h"
#include "engine/runtime/device_context.h"
#include "engine/train/input_hooks.h"
#include "engine/train/train_step.h"
#include "tracer/format/trace.h"
#include "tracer/record/collect.h"
#include "tracer/record/recorder.h"

namespace lockstep::cli {
namespace {

struct BenchOptions {
  std::string arch = "resnet18";
  ConvAlgorithm conv = ConvAlgorithm::automatic;
  int64_t batch = 128, size = 0, classes = 0;  ///< 0: the default of the model
  int threads = 1, steps = 7, warmup = 2;
  double warmup_seconds = 0;         ///< at least so long: an idle GPU has a low clock
  std::optional<models::Stem> stem;  ///< default: cifar up to 64 pixels
  DeviceType device_type = DeviceType::cpu;
  bool trace = false, amp = false, benchmark = false, cuda_graph = false;
  bool serve = false;
};

double process_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) { return t.tv_sec + t.tv_usec * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Returns the CPU seconds used by all processes, from /proc/stat (no idle or iowait).
double machine_busy_seconds() {
  std::ifstream stat("/proc/stat");
  std::string cpu;
  stat >> cpu;
  double busy = 0, value = 0;
  for (int i = 0; i < 8 && stat >> value; ++i) {
    if (i != 3 && i != 4) busy += value;
  }
  return busy / static_cast<double>(sysconf(_SC_CLK_TCK));
}

struct Samples {
  std::vector<double> seconds, foreign, cpu;
};

/// A model and a batch on a device, and the training step to be timed.
class Bench {
 public:
  explicit Bench(const BenchOptions& o) : device_{o.device_type, 0} {
    models::ZooOptions zoo;
    zoo.classes = o.classes;
    zoo.stem =
        o.stem.value_or(o.size <= 64 ? models::Stem::cifar : models::Stem::imagenet);
    const nn::ModulePtr model = models::make(o.arch, zoo);
    model->to(device_);
    if (device_.type == DeviceType::cuda) train::reorder_at_once(*model);
    step_ = std::make_unique<train::TrainStep>(
        model, model, optim::SgdOptions{0.001, 0.9, 1e-4},
        train::TrainStepOptions{.accuracy = false,
                                .graph_devices = o.cuda_graph
                                                     ? parallel::Devices{device_}
                                                     : parallel::Devices{}});
    const nn::Init normal = nn::Init::normal(1);
    images_ = ops::copy_to(nn::initial({o.batch, 3, o.size, o.size}, normal), device_,
                           {"h2d", "images"});
    std::vector<double> labels(o.batch);
    for (int64_t i = 0; i < o.batch; ++i)
      labels[i] = static_cast<double>(i % o.classes);
    labels_ = ops::copy_to(Tensor::from(labels, {o.batch}, DType::i64), device_,
                           {"h2d", "labels"});
  }

  void step() {
    ops::item(step_->run(images_, labels_).loss);
    runtime::context(device_).synchronize();
  }

 private:
  const Device device_;
  std::unique_ptr<train::TrainStep> step_;
  Tensor images_, labels_;
};

Samples measure(Bench& bench, int steps) {
  Samples samples;
  const double cores = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  for (int i = 0; i < steps; ++i) {
    const double busy = machine_busy_seconds(), cpu = process_cpu_seconds();
    const int64_t start = tracer::now_ns();
    bench.step();
    const double seconds = static_cast<double>(tracer::now_ns() - start) / 1e9;
    const double mine = process_cpu_seconds() - cpu;
    const double others = machine_busy_seconds() - busy - mine;
    samples.seconds.push_back(seconds);
    samples.cpu.push_back(mine);
    samples.foreign.push_back(std::max(0.0, others) / (seconds * cores));
  }
  return samples;
}

/// Returns the kernels that ran in one recorded step, named by their libraries.
tracer::Json kernels_of_a_step(Bench& bench, int64_t& events) {
  tracer::start_recording();
  tracer::set_step(0);
  bench.step();
  tracer::stop_recording();
  events = tracer::recorded_events();
  std::map<std::string, int64_t> counts;
  for (const tracer::Event& event : tracer::collect()) {
    if (event.is(tracer::categories::kernel))
      ++counts[event.args["impl"].get<std::string>()];
  }
  return counts;
}

/// Returns the nanoseconds it takes to record one nested event with typical arguments.
double nanoseconds_per_event() {
  constexpr int kEvents = 100'000;
  tracer::start_recording();
  const int64_t start = tracer::thread_cpu_ns();
  for (int i = 0; i < kEvents; ++i) {
    tracer::HostEvent event("op", "aten::conv2d");
    event.arg({"file", "engine/nn/layers.cpp"}).arg({"line", int64_t{1}});
    const int64_t shape[] = {4, 128, 64, 32, 32};
    event.arg(tracer::Arg::shapes("shapes", shape));
  }
  const int64_t spent = tracer::thread_cpu_ns() - start;
  tracer::stop_recording();
  tracer::collect();
  return static_cast<double>(spent) / kEvents;
}

/// Steps until both warm-ups are over.
void warm_up(Bench& bench, const BenchOptions& o) {
  const int64_t start = tracer::now_ns();
  measure(bench, o.warmup);
  while (static_cast<double>(tracer::now_ns() - start) / 1e9 < o.warmup_seconds) {
    bench.step();
  }
}

int run(BenchOptions o) {
  if (o.cuda_graph && o.device_type != DeviceType::cuda) {
    throw UsageError("--cuda-graph requires --device-type cuda");
  }
  const bool imagenet = o.arch == "resnet50";
  if (o.size == 0) o.size = imagenet ? 224 : 32;
  if (o.classes == 0) o.classes = imagenet ? 1000 : 10;
  runtime::options().threads_per_device = o.threads;
  backend_options().conv = o.conv;
  backend_options().amp = o.amp;
  backend_options().benchmark = o.benchmark;
  Bench bench(o);
  warm_up(bench, o);
  if (o.trace) {
    tracer::start_recording();
    tracer::set_step(0);
  }
  const Samples samples = measure(bench, o.steps);
  tracer::stop_recording();
  tracer::collect();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  int64_t events = 0;
  const tracer::Json impls = kernels_of_a_step(bench, events);
  std::vector<double> sorted = samples.seconds;
  std::sort(sorted.begin(), sorted.end());
  const tracer::Json result{{"peer", "lockstep"},
                            {"median_s", sorted[sorted.size() / 2]},
                            {"samples", samples.seconds},
                            {"foreign", samples.foreign},
                            {"cpu", samples.cpu},
                            {"peak_rss_mib", usage.ru_maxrss / 1024.0},
                            {"events_per_step", events},
                            {"ns_per_event", nanoseconds_per_event()},
                            {"impls", impls}};
  std::printf("%s\n", result.dump().c_str());
  std::fflush(stdout);
  return 0;
}

/// Returns `o` changed by a request: a JSON object of flags' names, such as
/// {"batch": 128, "amp": true}. Throws UsageError for unknown names and wrong types.
BenchOptions requested(BenchOptions o, const std::string& line) {
  try {
    const tracer::Json request = tracer::Json::parse(line);
    for (const auto& [name, value] : request.items()) {
      if (name == "arch") {
        value.get_to(o.arch);
      } else if (name == "batch") {
        value.get_to(o.batch);
      } else if (name == "size") {
        value.get_to(o.size);
      } else if (name == "classes") {
        value.get_to(o.classes);
      } else if (name == "steps") {
        value.get_to(o.steps);
      } else if (name == "warmup-seconds") {
        value.get_to(o.warmup_seconds);
      } else if (name == "amp") {
        value.get_to(o.amp);
      } else if (name == "cuda-graph") {
        value.get_to(o.cuda_graph);
      } else if (name == "trace") {
        value.get_to(o.trace);
      } else {
        throw UsageError("bench-step --serve: no option " + name);
      }
    }
  } catch (const tracer::Json::exception& error) {
    throw UsageError("bench-step --serve: " + std::string(error.what()));
  }
  return o;
}

/// Answers each line of standard input with a line; an error is {"error": …}.
int serve(const BenchOptions& o) {
  char* line = nullptr;
  size_t capacity = 0;
  while (getline(&line, &capacity, stdin) > 0) {
    try {
      backend_of(o.device_type).clear_cache();  // --amp changes the plans
      run(requested(o, line));
    } catch (const std::exception& error) {
      const tracer::Json failed{{"error", error.what()}};
      std::printf("%s\n", failed.dump().c_str());
      std::fflush(stdout);
    }
  }
  std::free(line);
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("bench-step",
                                     "time training steps and print the times as JSON");
  auto o = std::make_shared<BenchOptions>();
  command->add_option("--arch", o->arch);
  command->add_option("--batch", o->batch)->check(CLI::Range(1, 1 << 20));
  command->add_option("--size", o->size)->check(CLI::Range(1, 4096));
  command->add_option("--classes", o->classes)->check(CLI::Range(1, 1 << 20));
  command->add_option("--threads", o->threads)->check(CLI::Range(1, 256));
  add_choice<models::Stem>(*command, "--stem", o->stem, "");
  add_choice<ConvAlgorithm>(*command, "--conv", o->conv, "");
  command->add_option("--steps", o->steps)->check(CLI::Range(1, 1 << 20));
  command->add_option("--warmup", o->warmup)->check(CLI::Range(0, 1000));
  add_choice<DeviceType>(*command, "--device-type", o->device_type, "",
                         {{"cpu", DeviceType::cpu}, {"cuda", DeviceType::cuda}});
  command->add_flag("--amp", o->amp, "cuda: compute in bfloat16");
  command->add_flag("--benchmark", o->benchmark,
                    "select convolution algorithms by measuring");
  command->add_flag("--cuda-graph", o->cuda_graph,
                    "cuda: launch each step as one graph");
  command->add_flag("--trace", o->trace, "record while timing");
  command->add_option("--warmup-seconds", o->warmup_seconds)
      ->check(CLI::Range(0.0, 3600.0));
  command->add_flag("--serve", o->serve,
                    "answer requests, JSON objects of flags, one per line");
  command->callback(
      [o, &action] { action = [o] { return o->serve ? serve(*o) : run(*o); }; });
}

}  // namespace lockstep::cli
