// `lockstep demo`: the same few steps on one device and in DataParallel on four, on
// both clocks, in one table.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "engine/data/cifar10.h"
#include "engine/data/fetch.h"
#include "engine/data/generated.h"
#include "tracer/analysis/summary.h"
#include "tracer/analysis/units.h"
#include "tracer/emulate/emulate.h"

namespace lockstep::cli {
namespace {

struct DemoOptions {
  std::string data, out = "traces", arch = "resnet18";
  int devices = 4;
  int64_t batch = 64, steps = 3;
};

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

/// Real pictures if there are any or they can be fetched, else generated ones in the
/// same format.
std::string find_data(const DemoOptions& o) {
  if (!o.data.empty()) return o.data;
  if (const auto found = data::find_cifar10(std::nullopt)) return found->string();
  try {
    say("CIFAR-10 is not in ./data or ~/data; trying the official download … ");
    const std::string folder = data::cifar10_fetch("data").string();
    say("done\n");
    return folder;
  } catch (const std::exception&) {
    say("no network\n");
  }
  const std::string folder = "data/generated/cifar-10-batches-bin";
  if (!data::cifar10_folder(folder)) data::generate_cifar10(folder, 5000, 1000, 0);
  say("using a generated, learnable set in CIFAR-10's format: " + folder + "\n");
  return folder;
}

/// One way of training, on both clocks.
struct Run {
  std::string name, file;
  tracer::Summary measured, emulated;
};

Run train_and_trace(const DemoOptions& o, const std::string& data,
                    const std::string& mode) {
  Run run{mode == "single" ? "1 device" : fmt::format("dp, {} devices", o.devices),
          o.out + "/" + o.arch + "_" + mode + ".trace.json.gz",
          {},
          {}};
  RunOptions options;
  options.dir = data;
  options.arch = o.arch;
  options.mode = mode;
  options.devices = mode == "single" ? 1 : o.devices;
  options.threads_per_device = 1;  // the same hardware for every device
  options.batch_size = o.batch;
  options.steps = o.steps + 1;  // the first one builds kernels and is not shown
  options.lr = 0.01;
  options.workers = 2;
  options.quiet = true;
  options.trace = run.file;
  options.trace_steps = fmt::format("1:{}", o.steps + 1);
  say(fmt::format("training {} steps with {} … ", o.steps + 1, run.name));
  tracer::Trace trace;
  const int64_t start = static_cast<int64_t>(time(nullptr));
  run_training(options, &trace);
  run.measured = tracer::summarize(trace);
  run.emulated = tracer::summarize(tracer::emulate(trace));
  say(fmt::format("{} s\n", static_cast<int64_t>(time(nullptr)) - start));
  return run;
}

std::string cell(int64_t nanoseconds) {
  return nanoseconds > 0 ? tracer::human_time(nanoseconds) : "–";
}

/// `text` at the right of `width` columns (UTF-8 aware for our few signs).
std::string right(const std::string& text, int width) {
  int columns = 0;
  for (unsigned char c : text) columns += (c & 0xC0) != 0x80;
  return std::string(std::max(0, width - columns), ' ') + text;
}

void print_times(const std::vector<Run>& runs, int64_t batch) {
  say("\n" + std::string(18, ' ') + "measured on this machine" + std::string(6, ' ') +
      "emulated: hardware of its own per device\n" + std::string(18, ' '));
  for (int clock = 0; clock < 2; ++clock) {
    for (const Run& run : runs) say(right(run.name, 14));
    say("  ");
  }
  say("\n");
  auto row = [&](const std::string& name, auto value) {
    std::string line = fmt::format("  {:<16}", name);
    for (int clock = 0; clock < 2; ++clock) {
      for (const Run& run : runs) {
        line += right(value(clock ? run.emulated.train : run.measured.train), 14);
      }
      line += "  ";
    }
    say(line + "\n");
  };
  using Group = tracer::StepGroup;
  row("one step", [](const Group& g) { return cell(g.mean_length()); });
  row("images/s", [batch](const Group& g) {
    const double seconds = static_cast<double>(g.mean_length()) / 1e9;
    return seconds > 0 ? fmt::format("{:.1f}", batch / seconds) : "–";
  });
  for (const char* phase : {"h2d", "scatter", "replicate", "forward", "parallel_apply",
                            "gather", "loss", "backward", "reduce", "optimizer"}) {
    row(phase, [phase](const Group& g) -> std::string {
      for (const tracer::NamedPhase& p : g.mean_phases()) {
        if (p.name == phase) return cell(p.cost.cost());
      }
      return "–";
    });
  }
}

void print_bytes(const std::vector<Run>& runs) {
  say("\n  bytes per step, by port, in and out; and peak memory\n");
  for (const Run& run : runs) {
    const auto& group = run.measured.train;
    const auto steps = static_cast<int64_t>(std::max<size_t>(1, group.steps.size()));
    for (const auto& [device, port] : group.ports) {
      const auto memory = run.measured.memory.find(device);
      say(fmt::format("  {:<16}{:<10}", run.name,
                      device < 0 ? "host" : fmt::format("device {}", device)) +
          right(tracer::human_bytes(port.in / steps), 12) +
          right(tracer::human_bytes(port.out / steps), 12) +
          (memory == run.measured.memory.end()
               ? ""
               : right(tracer::human_bytes(memory->second.total), 12)) +
          "\n");
    }
  }
}

int run(const DemoOptions& o) {
  const std::string data = find_data(o);
  std::filesystem::create_directories(o.out);
  say(fmt::format("{} on {}, batch {}, on {} cores\n", o.arch, data, o.batch,
                  std::thread::hardware_concurrency()));
  std::vector<Run> runs;
  for (const char* mode : {"single", "dp"}) {
    runs.push_back(train_and_trace(o, data, mode));
  }
  print_times(runs, o.batch);
  print_bytes(runs);
  say("\n" + tracer::limiting_sentence(runs[1].measured, &runs[0].measured) + "\n" +
      tracer::limiting_sentence(runs[1].emulated, &runs[0].emulated) + "\n\n");
  for (const Run& run : runs) say("  " + run.file + "\n");
  say("\nNext: lockstep trace summary --calls " + runs[1].file +
      "   (who calls forward?)\n      lockstep trace check " + runs[1].file +
      "\n      or drop a file into https://ui.perfetto.dev\n");
  return 0;
}

}  // namespace

void add_demo(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "demo", "a few steps on one device and in DataParallel, side by side");
  auto o = std::make_shared<DemoOptions>();
  command->add_option("--data", o->data, "CIFAR-10's folder");
  command->add_option("--out", o->out, "folder for the traces");
  command->add_option("-a,--arch", o->arch);
  command->add_option("--devices", o->devices)->check(CLI::Range(1, 64));
  command->add_option("-b,--batch-size", o->batch)->check(CLI::Range(1, 65536));
  command->add_option("--steps", o->steps)->check(CLI::Range(1, 1000));
  command->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace lockstep::cli
