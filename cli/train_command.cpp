// `lockstep train`: the ImageNet example's main.py.
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/recording.h"
#include "engine/backends/backend.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "engine/train/weights.h"

namespace lockstep::cli {
namespace {

void configure(const RunOptions& o) {
  runtime::Options& runtime = runtime::options();
  if (o.threads_per_device > 0) {
    runtime.threads_per_device = o.threads_per_device;
  } else {  // one device may use the whole machine, several share it
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    runtime.threads_per_device = mode_of(o) == train::Mode::single ? cores : 1;
  }
  runtime.launch_blocking = o.launch_blocking;
  backend_options().conv =
      o.conv == "direct" ? ConvAlgorithm::direct : ConvAlgorithm::automatic;
  backend_options().benchmark = o.benchmark;
  backend_options().deterministic = o.deterministic;
  ops::manual_seed(o.seed);
}

data::LoaderOptions loader_options(const RunOptions& o, bool train) {
  data::LoaderOptions loader;
  loader.batch_size = o.batch_size;
  loader.workers = o.workers;
  loader.shuffle = train && !o.no_shuffle;
  loader.seed = o.seed;
  return loader;
}

/// The notebook: a model that prints what it sees, forward passes only.
int run_notebook(const RunOptions& o, train::Trainer& trainer, const DataSets& data,
                 Recording& recording, size_t devices) {
  if (devices > 1) std::printf("Let's use %zu GPUs!\n", devices);
  data::DataLoader loader(data.train, loader_options(o, true));
  trainer.forward_only(loader);
  recording.finish();
  return 0;
}

void train_epochs(const RunOptions& o, train::Trainer& trainer, const DataSets& data) {
  data::DataLoader train_loader(data.train, loader_options(o, true));
  data::DataLoader test_loader(data.test, loader_options(o, false));
  if (o.evaluate) {
    trainer.validate(test_loader);
    return;
  }
  for (int epoch = o.start_epoch; epoch < o.epochs; ++epoch) {
    trainer.set_lr(optim::step_lr(o.lr, epoch));
    const train::EpochResult result = trainer.train_epoch(train_loader, epoch, o.steps);
    const bool all_steps_done = o.steps >= 0 && trainer.steps_done() >= o.steps;
    if (!result.complete || all_steps_done) return;
    trainer.validate(test_loader);
    if (train::Trainer::stop) return;
  }
}

int64_t planned_steps(const RunOptions& o, const DataSets& data) {
  const int64_t per_epoch = (data.train->size() + o.batch_size - 1) / o.batch_size;
  if (o.arch == "toy") return per_epoch;
  const int64_t in_epochs = per_epoch * std::max(0, o.epochs - o.start_epoch);
  return o.steps >= 0 ? std::min(o.steps, in_epochs) : in_epochs;
}

}  // namespace

int run_training(RunOptions& o, tracer::Trace* trace) {
  validate(o);
  const DataSets data = open_data(o);
  configure(o);
  const auto devices = devices_of(o);
  const bool notebook = o.arch == "toy";
  if (!notebook && !o.quiet) {
    if (o.gpu) std::printf("Use GPU: %d for training\n", *o.gpu);
    std::printf("=> creating model '%s'\n", o.arch.c_str());
  }
  nn::ModulePtr model = make_model(o, data);

  train::TrainerOptions options;
  options.mode = mode_of(o);
  options.devices = devices;
  options.input_on_device0 = o.input_on == "device0" || notebook;
  options.dtype = o.dtype == "float64" ? DType::f64 : DType::f32;
  options.print_freq = o.print_freq;
  options.quiet = o.quiet;
  options.sgd = {o.lr, o.momentum, o.weight_decay};
  train::Trainer trainer(model, options);
  Recording recording(o, trainer, data, devices, planned_steps(o, data));
  if (notebook) return run_notebook(o, trainer, data, recording, devices.size());

  train_epochs(o, trainer, data);
  recording.finish();
  if (trace) *trace = recording.trace();
  if (!o.save.empty()) train::save_weights(*model, o.save);
  if (train::Trainer::stop) {
    std::fprintf(stderr, "lockstep: interrupted after %ld steps%s\n",
                 static_cast<long>(trainer.steps_done()),
                 o.trace.empty() ? "" : "; the trace holds what was recorded");
    return 130;
  }
  return 0;
}

void add_train(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("train", "train a model, as the ImageNet example");
  auto options = std::make_shared<RunOptions>();
  add_run_flags(*command, *options);
  command->callback(
      [options, &action] { action = [options] { return run_training(*options); }; });
}

}  // namespace lockstep::cli
