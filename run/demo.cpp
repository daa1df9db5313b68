#include "run/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/container.h"
#include "base/program.h"
#include "base/units.h"
#include "engine/data/cifar10.h"
#include "engine/data/generated.h"
#include "run/train.h"
#include "tracer/analysis/speedup.h"
#include "tracer/analysis/summary.h"
#include "tracer/emulate/emulate.h"

namespace lockstep::run {
namespace {

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

/// Returns real images if they exist or can be downloaded, otherwise generated ones in
/// the same format.
std::string find_data(const DemoOptions& o) {
  if (!o.data.empty()) return o.data;
  if (const auto found = data::find_cifar10(std::nullopt)) return found->string();
  try {
    say("CIFAR-10 is not in ./data or ~/data; trying the official download … ");
    const std::string folder = data::cifar10_fetch("data").string();
    say("done\n");
    return folder;
  } catch (const std::exception& error) {
    say(std::string("failed\n  ") + error.what() + "\n");
  }
  const std::string folder = "data/generated/cifar-10-batches-bin";
  if (train::Trainer::stop) return folder;
  if (!data::cifar10_folder(folder)) data::generate_cifar10(folder, 5000, 1000, 0);
  say("using a generated, learnable data set in CIFAR-10's format: " + folder + "\n");
  return folder;
}

/// What a GPU reaches in training: an NVIDIA RTX 2080 Ti trains VGG16 (30.9 GFLOP
/// forward and twice that backward for an image of 224x224) on 12 images in 85.4 ms,
/// in PyTorch and float32, over PCIe 3.0.
/// Source: github.com/ryujaehun/pytorch-gpu-benchmark, folder 2080ti(2).
constexpr double kGpuFlopsPerSecond = 13e12;
constexpr char kGpu[] = "an RTX 2080 Ti";

/// One training mode, on both clocks.
struct ComparedRun {
  std::string name, file;
  tracer::Trace trace;
  tracer::Summary measured, emulated;
  bool complete = false;  ///< not interrupted by Ctrl-C
};

ComparedRun train_and_trace(const DemoOptions& o, const std::string& data,
                            const Environment& environment, train::Mode mode) {
  const bool single = mode == train::Mode::single;
  ComparedRun run;
  run.name = single ? "1 device" : fmt::format("{}, {}", train::name(mode), o.devices);
  run.file = fmt::format("{}/{}_{}.trace.json.gz", o.out, o.arch, train::name(mode));
  RunConfig config;
  config.environment = environment;
  config.mode = mode;
  config.data.dir = data;
  config.data.workers = 2;
  config.model.arch = o.arch;
  config.device.count = single ? 1 : o.devices;
  config.device.threads = 1;  // the same hardware for each device
  config.recipe.batch_size = o.batch;
  config.recipe.lr = 0.01;
  config.steps = o.steps + 1;  // the first builds kernels and is not shown
  config.output.quiet = true;
  config.output.trace = run.file;
  config.output.trace_steps = fmt::format("1:{}", o.steps + 1);
  say(fmt::format("training {} steps with {} … ", o.steps + 1, run.name));
  const int64_t start = static_cast<int64_t>(time(nullptr));
  run.complete = run_training(config, &run.trace) == 0;
  if (!run.complete) return run;
  run.measured = tracer::summarize(run.trace);
  run.emulated = tracer::summarize(tracer::emulate(run.trace));
  say(fmt::format("{} s\n", static_cast<int64_t>(time(nullptr)) - start));
  return run;
}

std::string cell(int64_t nanoseconds) {
  return nanoseconds > 0 ? human_time(nanoseconds) : "–";
}

/// Right-aligns `text` in `width` columns (handles only the UTF-8 symbols used here).
std::string right(const std::string& text, int width) {
  int columns = 0;
  for (unsigned char c : text) columns += (c & 0xC0) != 0x80;
  return std::string(std::max(0, width - columns), ' ') + text;
}

using Group = tracer::StepGroup;

/// Returns a phase's time on the devices. Host time is separate and not shown here.
std::string phase_cell(const Group& group, const std::string& phase) {
  for (const tracer::NamedPhase& p : group.mean_phases()) {
    if (p.name == phase) return cell(p.cost.device);
  }
  return cell(0);
}

void print_times(const std::vector<ComparedRun>& runs, int64_t batch) {
  say("\n" + std::string(18, ' ') + right("measured on this machine", 33) + "  " +
      right("emulated, own hardware each", 33) + "\n");
  auto row = [&](const std::string& name, auto value) {
    std::string line = fmt::format("  {:<16}", name);
    for (const bool emulated : {false, true}) {
      for (const ComparedRun& run : runs) line += right(value(run, emulated), 11);
      line += emulated ? "\n" : "  ";
    }
    say(line);
  };
  auto timed = [&](const std::string& name, auto value) {
    row(name, [&](const ComparedRun& run, bool emulated) {
      return value(emulated ? run.emulated.train : run.measured.train);
    });
  };
  row("", [](const ComparedRun& run, bool) { return run.name; });
  timed("one step", [](const Group& g) { return cell(g.mean_length()); });
  timed("images/s", [batch](const Group& g) {
    const double seconds = static_cast<double>(g.mean_length()) / 1e9;
    return seconds > 0 ? fmt::format("{:.1f}", batch / seconds) : cell(0);
  });
  for (const char* phase : {"h2d", "scatter", "replicate", "forward", "parallel_apply",
                            "gather", "broadcast", "loss", "backward", "reduce",
                            "all_reduce", "optimizer", "metrics"}) {
    timed(phase, [phase](const Group& g) { return phase_cell(g, phase); });
  }
  say("\n"
      "  Phases: from the first kernel or copy to the end of the last. They overlap, "
      "so they do\n"
      "  not add up to a step. DataParallel's forward is scatter, replicate, "
      "parallel_apply and\n"
      "  gather; its reduce runs after backward, whereas ddp's all_reduce runs during "
      "backward.\n"
      "  Emulated: " +
      runs[0].emulated.assumed + ".\n");
}

void print_bytes(const std::vector<ComparedRun>& runs) {
  say("\n  bytes per step, by port" + std::string(3, ' ') + right("in", 12) +
      right("out", 12) + right("peak memory", 14) + "\n");
  for (const ComparedRun& run : runs) {
    const auto& group = run.measured.train;
    const auto steps = static_cast<int64_t>(std::max<size_t>(1, group.steps.size()));
    for (const auto& [device, port] : group.ports) {
      const auto memory = run.measured.memory.find(device);
      const bool none = memory == run.measured.memory.end();
      say(fmt::format("  {:<16}{:<10}", run.name,
                      device < 0 ? "host" : fmt::format("device {}", device)) +
          right(human_bytes(port.in / steps), 12) +
          right(human_bytes(port.out / steps), 12) +
          right(none ? "–" : human_bytes(memory->second.total), 14) + "\n");
    }
  }
}

/// What N devices would give on three kinds of hardware, on the emulated clock.
struct Emulation {
  double scale = 0;  ///< how many times a GPU is as fast as one core here; 0: unknown
  tracer::Link link, faster{.gb_per_s = 10 * link.gb_per_s};
  std::optional<tracer::Scaling> dp, ddp;
};

/// Returns the speedup of a run over a single device with the same hardware.
std::optional<tracer::Scaling> scale(const ComparedRun& single, const ComparedRun& run,
                                     const Emulation& emulation) {
  const auto on = [&](const tracer::EmulateOptions& hardware) {
    return tracer::divide_speedup(
        tracer::summarize(tracer::emulate(run.trace, hardware)),
        tracer::summarize(tracer::emulate(single.trace, hardware)));
  };
  const double scale = emulation.scale;
  const auto here = on({.link = emulation.link});
  const auto faster = on({.link = emulation.link, .compute_scale = scale});
  const auto linked = on({.link = emulation.faster, .compute_scale = scale});
  if (!here || !faster || !linked) return std::nullopt;
  return tracer::Scaling{*here, *faster, *linked};
}

Emulation emulate_hardware(const std::vector<ComparedRun>& runs) {
  Emulation emulation;
  const double rate = tracer::kernel_flops_per_second(runs[0].trace);
  if (rate <= 0) return emulation;
  emulation.scale = kGpuFlopsPerSecond / rate;
  emulation.dp = scale(runs[0], runs[1], emulation);
  emulation.ddp = scale(runs[0], runs[2], emulation);
  return emulation;
}

void print_lesson(const std::vector<ComparedRun>& runs, const Emulation& emulation) {
  const std::string gpu = fmt::format("{:.0f} TFLOP/s, as {} reaches in training VGG16",
                                      kGpuFlopsPerSecond / 1e12, kGpu);
  say("\n" +
      tracer::scaling_lesson({runs[0].measured, runs[1].measured, runs[2].measured,
                              emulation.dp, emulation.ddp, gpu, emulation.link.gb_per_s,
                              emulation.faster.gb_per_s}));
}

/// Prints what keeps each mode from being N times as fast as one device.
void print_speedups(const std::vector<ComparedRun>& runs, const Emulation& emulation) {
  if (!emulation.dp || !emulation.ddp) return;
  const auto print = [&](const std::string& hardware,
                         tracer::Speedup tracer::Scaling::* speedup) {
    say(fmt::format("\n  {}\n    {:<7} {}\n    {:<7} {}\n", hardware, runs[1].name,
                    tracer::speedup_line(*emulation.dp.*speedup), runs[2].name,
                    tracer::speedup_line(*emulation.ddp.*speedup)));
  };
  const int64_t devices = runs[1].measured.devices;
  say("On the emulated clock:\n");
  print(fmt::format("{} devices as fast as one core here, links of {} GB/s", devices,
                    emulation.link.gb_per_s),
        &tracer::Scaling::here);
  print(fmt::format("{} devices {:.0f} times as fast; same links", devices,
                    emulation.scale),
        &tracer::Scaling::faster_devices);
  print(fmt::format("{} such devices, links of {} GB/s", devices,
                    emulation.faster.gb_per_s),
        &tracer::Scaling::faster_links);
  say("\n"
      "  smaller kernels: forward, loss and backward take more than one N-th of one "
      "device's time.\n"
      "  host: no device has work until the host launches some. The host is not faster "
      "with faster\n"
      "  devices or links, so its time is a larger part of a shorter step.\n"
      "  wake-ups: everything awaited has ended, but a thread still wakes up.\n"
      "  bucket copies: kernels copy the means from ddp's buckets back to the "
      "gradients.\n\n");
}

/// Prints what limits each mode, on both clocks.
void print_limits(const std::vector<ComparedRun>& runs) {
  for (size_t i = 1; i < runs.size(); ++i) {
    say(runs[i].name + ": " +
        tracer::limiting_sentence(runs[i].measured, &runs[0].measured) + "\n" +
        tracer::limiting_sentence(runs[i].emulated, &runs[0].emulated) + "\n\n");
  }
}

}  // namespace

std::optional<std::vector<std::string>> compare_modes(const DemoOptions& o,
                                                      const Environment& environment) {
  const std::string data = find_data(o);
  if (train::Trainer::stop) return std::nullopt;
  std::filesystem::create_directories(o.out);
  const bool generated = data::is_generated(data::cifar10_folder(data).value_or(data));
  say(fmt::format("{} on {}{}, batch {}, on {} cores\n", o.arch, data,
                  generated ? " (generated)" : "", o.batch, visible_cores()));
  std::vector<ComparedRun> runs;
  for (const train::Mode mode :
       {train::Mode::single, train::Mode::dp, train::Mode::ddp}) {
    runs.push_back(train_and_trace(o, data, environment, mode));
    if (!runs.back().complete) return std::nullopt;
  }
  const Emulation emulation = emulate_hardware(runs);
  print_lesson(runs, emulation);
  print_times(runs, o.batch);
  print_bytes(runs);
  const bool disturbed = std::any_of(
      runs.begin(), runs.end(),
      [](const ComparedRun& run) { return tracer::is_disturbed(run.measured); });
  say("\n");
  if (!disturbed) {
    print_limits(runs);
    print_speedups(runs, emulation);
  }
  for (const ComparedRun& run : runs) say("  " + run.file + "\n");
  say("\nNext: " + program() + " trace summary --calls " + runs[1].file +
      "   (who calls forward?)\n      " + program() + " trace check " + runs[1].file +
      "\n      " + program() + " view " + shell_word(runs[1].file) +
      "\n\nFour GPUs gave you 1.96x? Why, and what to change: docs/four-cards.md\n");
  std::vector<std::string> files;
  for (const ComparedRun& run : runs) files.push_back(run.file);
  return files;
}

}  // namespace lockstep::run
