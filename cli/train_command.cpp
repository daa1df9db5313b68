// `lockstep train`: the ImageNet example's main.py.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/cuda_devices.h"
#include "cli/image_folders.h"
#include "cli/rank_process.h"
#include "cli/rank_threads.h"
#include "cli/recording.h"
#include "cli/train_command.h"
#include "cli/training_flags.h"
#include "engine/backends/backend.h"
#include "engine/distributed/collectives/small_collectives.h"
#include "engine/ops/ops.h"
#include "engine/plan/chunk.h"
#include "engine/plan/launch_arithmetic.h"
#include "engine/runtime/device_context.h"
#include "engine/train/checkpoint_folder.h"
#include "engine/train/weights.h"
#include "tracer/analysis/summary.h"

namespace lockstep::cli {

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
  backend_options().tf32 = !o.no_tf32;
  backend_options().amp = o.amp;
  ops::manual_seed(o.seed);
  using namespace distributed;
  gradient_sync_factory().set_reference(o.ddp_sync == "naive"      ? make_naive_sync
                                        : o.ddp_sync == "bucketed" ? make_bucketed_sync
                                                                   : make_reducer);
}

namespace {

data::LoaderOptions loader_options(const RunOptions& o, const RankPlace& place) {
  data::LoaderOptions loader;
  loader.batch_size = rank_batch(o, place);
  loader.workers = plan::per_process_workers(o.workers, place.local_world);
  loader.seed = o.seed;
  loader.timeout = o.loader_timeout;
  loader.on_bad_sample = on_bad_image(o);
  return loader;
}

std::unique_ptr<data::DataLoader> train_loader(const RunOptions& o,
                                               const DataSets& data,
                                               const RankPlace& place) {
  data::LoaderOptions loader = loader_options(o, place);
  loader.shuffle = !o.no_shuffle;
  if (place.group) {
    std::shared_ptr<const data::Sampler> all;
    if (o.no_shuffle) {
      all = std::make_shared<data::SequentialSampler>(data.train->size());
    } else {
      all = std::make_shared<data::RandomSampler>(data.train->size(), o.seed);
    }
    loader.shuffle = false;
    loader.sampler =
        std::make_shared<data::DistributedSampler>(all, place.rank, place.world);
  }
  return std::make_unique<data::DataLoader>(data.train, loader);
}

/// What is evaluated: in DDP one rank's share and, as `rest`, what everybody does.
struct TestLoaders {
  std::unique_ptr<data::DataLoader> share, rest;
};
TestLoaders test_loaders(const RunOptions& o, const DataSets& data,
                         const RankPlace& place) {
  data::LoaderOptions loader = loader_options(o, place);
  if (!place.group) return {std::make_unique<data::DataLoader>(data.test, loader), {}};
  const auto all = std::make_shared<data::SequentialSampler>(data.test->size());
  const auto share = std::make_shared<data::DistributedSampler>(
      all, place.rank, place.world, /*drop_last=*/true);
  loader.sampler = share;
  TestLoaders loaders{std::make_unique<data::DataLoader>(data.test, loader), {}};
  const int64_t shared = share->size() * place.world;
  if (shared < data.test->size()) {
    loader.sampler = std::make_shared<data::RangeSampler>(shared, data.test->size());
    loaders.rest = std::make_unique<data::DataLoader>(data.test, loader);
  }
  return loaders;
}

/// "4 chunks of 32", "3 chunks of 36 and one of 35"; and who gets none.
std::string describe_chunks(int64_t batch, size_t devices) {
  const auto sizes = plan::chunk_sizes(batch, static_cast<int64_t>(devices));
  const size_t equal = std::count(sizes.begin(), sizes.end(), sizes[0]);
  std::string text =
      fmt::format("{} chunk{} of {}", equal, equal == 1 ? "" : "s", sizes[0]);
  if (equal < sizes.size()) text += fmt::format(" and one of {}", sizes.back());
  if (sizes.size() < devices) {
    text += fmt::format(" ({} of {} devices idle)", devices - sizes.size(), devices);
  }
  return text;
}

}  // namespace

void say_what_runs(const RunOptions& o, const DataSets& data,
                   const parallel::Devices& devices, const RankPlace& place) {
  if (o.gpu) std::printf("Use GPU: %d for training\n", *o.gpu);  // as main.py prints it
  fmt::print("=> creating model '{}'\n", o.arch);
  fmt::print("=> data: {} ({} training, {} test images{}{})\n", data.place,
             data.train->size(), data.test->size(),
             data.name == "generated" ? ", generated" : "", data.classes);
  std::string where = devices[0].str();
  if (devices.size() > 1) where += " to " + devices.back().str();
  const int threads = runtime::options().threads_per_device;
  std::string batch = std::to_string(o.batch_size);
  if (place.group) {
    const int64_t each = rank_batch(o, place);
    batch = fmt::format("{}, {} on each", global_batch(o, place), each);
    if (each * place.local_world != o.batch_size) {
      batch += fmt::format(" (-b {} shared by {} and rounded down)", o.batch_size,
                           place.local_world);
    }
  } else if (mode_of(o) != train::Mode::single) {
    batch += " in " + describe_chunks(o.batch_size, devices.size());
  }
  fmt::print("=> mode {}, {} device{} ({}), batch {}, {} thread{} per device\n",
             train::name(mode_of(o)), devices.size(), devices.size() == 1 ? "" : "s",
             where, batch, threads, threads == 1 ? "" : "s");
  fmt::print("{}", describe_gpus(devices));
}

namespace {

/// `--resume`: prints what main.py prints. How far training has come.
train::Progress resume(const RunOptions& o, train::Trainer& trainer,
                       const RankPlace& place) {
  train::Progress progress;
  const bool says = place.main() && !o.quiet;
  if (!o.resume.empty()) {
    if (says) std::printf("=> loading checkpoint '%s'\n", o.resume.c_str());
    progress = train::load_checkpoint(o.resume, trainer);
    if (says) {
      std::printf("=> loaded checkpoint '%s' (epoch %d)\n", o.resume.c_str(),
                  progress.epoch);
    }
    if (says && !o.changed_recipe.empty()) {
      std::printf("=> not as in the checkpoint: %s\n", o.changed_recipe.c_str());
    }
    if (says && !o.evaluate && progress.epoch >= o.epochs) {
      std::printf("=> all %d epochs are done; --epochs N goes on\n", o.epochs);
    }
  }
  progress.arch = o.arch;
  progress.recipe = recipe_of(o);
  return progress;
}

/// A full disk does not end the training: the older checkpoint is still there, and the
/// next epoch tries again. Returns false then.
bool keep_checkpoint(const train::CheckpointFolder& folder,
                     const train::Snapshot& snapshot, bool is_best) {
  // The best one first: whoever is killed in between resumes before it, and finds it
  // again.
  bool kept = true;
  for (const auto& path : {folder.best(), folder.newest()}) {
    if (path == folder.best() && !is_best) continue;
    try {
      train::save_checkpoint(path, snapshot);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "lockstep: %s; training goes on with the older checkpoint\n",
                   error.what());
      kept = false;
    }
  }
  return kept;
}

/// Returns false if the last checkpoint could not be written.
bool train_epochs(const RunOptions& o, train::Trainer& trainer, const DataSets& data,
                  const RankPlace& place) {
  const auto loader = train_loader(o, data, place);
  const TestLoaders test = test_loaders(o, data, place);
  train::Progress progress = resume(o, trainer, place);
  if (o.evaluate) {
    trainer.validate(*test.share, test.rest.get());
    return true;
  }
  std::optional<train::CheckpointFolder> folder;
  if (!o.checkpoint.empty() && place.main()) folder.emplace(o.checkpoint);
  if (o.checkpoint.empty() && o.steps < 0 && place.main() && !o.quiet) {
    std::puts("=> no checkpoint is kept; --checkpoint DIR keeps one after every epoch");
  }
  bool kept = true;
  for (int epoch = o.start_epoch; epoch < o.epochs; ++epoch) {
    trainer.set_lr(lr_of_epoch(o, global_batch(o, place), epoch));
    const train::EpochResult result = trainer.train_epoch(*loader, epoch, o.steps);
    const bool all_steps_done = o.steps >= 0 && trainer.steps_done() >= o.steps;
    if (!result.complete || all_steps_done) return kept;
    const train::EpochResult tested = trainer.validate(*test.share, test.rest.get());
    if (!tested.complete) return kept;
    progress.epoch = epoch + 1;
    const bool is_best = tested.acc1 > progress.best_acc1;
    progress.best_acc1 = std::max(tested.acc1, progress.best_acc1);
    if (o.checkpoint.empty()) continue;
    const train::Snapshot snapshot = train::take_snapshot(progress, trainer);
    if (folder) kept = keep_checkpoint(*folder, snapshot, is_best);
  }
  return kept;
}

/// How many steps `train_epochs` or the notebook will take, evaluation included.
int64_t planned_steps(const RunOptions& o, const DataSets& data,
                      const RankPlace& place) {
  const int64_t batch = global_batch(o, place);
  const auto batches = [batch](const data::Dataset& set) {
    return (set.size() + batch - 1) / batch;
  };
  const int64_t limit = o.steps >= 0 ? o.steps : INT64_MAX;
  if (o.arch == "toy" && !place.group) return std::min(limit, batches(*data.train));
  if (o.evaluate) return batches(*data.test);
  int64_t steps = 0;
  for (int epoch = o.start_epoch; epoch < o.epochs; ++epoch) {
    steps += batches(*data.train);
    if (steps >= limit) return limit;
    steps += batches(*data.test);
    if (steps >= limit) return steps;
  }
  return steps;
}

/// The notebook: a model that prints what it sees, forward passes only.
void run_notebook(const RunOptions& o, train::Trainer& trainer, const DataSets& data,
                  size_t devices) {
  if (devices > 1) std::printf("Let's use %zu GPUs!\n", devices);  // as it prints it
  const auto loader = train_loader(o, data, {});
  trainer.forward_only(*loader, o.steps);
}

/// In this process, or, where ranks are processes, in all of them.
int64_t skipped_by_all(const RunOptions& o, const RankPlace& place, Device device) {
  if (!place.is_process || o.on_bad_image != "skip") return skipped_images();
  int64_t skipped = 0;
  for (const auto& of_rank : distributed::gather_integers(
           *place.group, device, {skipped_images()}, "summary")) {
    skipped += of_rank[0];
  }
  return skipped;
}

/// What there is to say after the last step.
int finish(const RunOptions& o, const train::Trainer& trainer, int64_t skipped) {
  if (!o.save.empty()) {
    train::save_weights(*trainer.model(), o.save);
    if (!o.quiet) std::printf("=> weights written: %s\n", o.save.c_str());
  }
  if (skipped > 0) {
    fmt::print(stderr, "lockstep: bad images were skipped {} times\n", skipped);
  }
  if (device_type(o) == DeviceType::null && !o.quiet) {
    std::printf("=> %s\n", tracer::kNullSentence);
  }
  if (!trainer.told_to_stop() && !train::Trainer::stop) return 0;
  const int64_t steps = trainer.steps_done();
  std::fprintf(stderr, "lockstep: %sinterrupted after %ld step%s\n",
               train::Trainer::stop ? "" : "another rank was ",
               static_cast<long>(steps), steps == 1 ? "" : "s");
  return 130;
}

/// Ranks other than 0 speak only where rank 0 may be in another terminal.
int end_quietly(const RankPlace& place, const train::Trainer& trainer) {
  if (!trainer.told_to_stop() && !train::Trainer::stop) return 0;
  if (place.is_process && !train::Trainer::stop) {
    std::fprintf(stderr, "lockstep: rank %d ends: another rank was interrupted\n",
                 place.rank);
  }
  return 130;
}

}  // namespace

train::TrainerOptions trainer_options(const RunOptions& o, const RankPlace& place) {
  train::TrainerOptions options;
  options.mode = mode_of(o);
  options.devices = devices_of(o);
  options.input_on_device0 = o.input_on == "device0" || o.arch == "toy";
  options.dtype = o.dtype == "float64" ? DType::f64 : DType::f32;
  options.print_freq = o.print_freq;
  options.quiet = o.quiet || !place.main();
  options.sgd = {o.lr, o.momentum, o.weight_decay};
  options.norm_weight_decay = o.norm_weight_decay;
  options.bias_weight_decay = o.bias_weight_decay;
  options.label_smoothing = o.label_smoothing;
  options.accumulate = o.accumulate;
  options.clip_grad_norm = o.clip_grad_norm;
  options.graph = o.cuda_graph;
  if (!place.group) return options;
  options.devices = {{device_type(o), place.rank}};
  options.group = place.group;
  options.ddp.broadcast_buffers = !o.no_broadcast_buffers;
  options.sync_bn = o.sync_bn;
  distributed::ReducerOptions& reducer = options.ddp.reducer;
  reducer.bucket_cap = o.bucket_cap_mb << 20;
  reducer.rule = o.bucket_rule == "1.11" ? plan::BucketRule::torch_1_11
                                         : plan::BucketRule::current;
  reducer.find_unused_parameters = o.find_unused_parameters;
  reducer.gradient_as_bucket_view = o.gradient_as_bucket_view;
  return options;
}

int train_rank(const RunOptions& o, const DataSets& data, const RankPlace& place,
               const RecordingHooks& hooks, tracer::Trace* trace) {
  train::TrainerOptions options = trainer_options(o, place);
  const auto devices = place.is_process ? options.devices : devices_of(o);
  train::Trainer trainer(make_model(o, data), options);
  std::optional<Recording> recording;
  if (hooks.records) {
    recording.emplace(o, trainer, data, devices, place, planned_steps(o, data, place));
  }
  hooks.around(trainer);
  bool kept = true;
  try {
    if (o.arch == "toy" && !place.group) {
      run_notebook(o, trainer, data, devices.size());
    } else {
      kept = train_epochs(o, trainer, data, place);
    }
  } catch (...) {
    if (recording && (place.is_process || !place.group)) recording->rescue();
    throw;
  }
  const int64_t skipped = skipped_by_all(o, place, devices[0]);
  if (recording) {
    if (place.is_process) {
      const auto peaks = distributed::gather_integers(
          *place.group, devices[0], recording->measure_peaks(), "summary");
      std::vector<int64_t> of_ranks;
      for (const auto& peak : peaks) of_ranks.push_back(peak[0]);
      recording->set_peaks(of_ranks);
      recording->set_skipped_images(skipped);
    }
    recording->finish();
    if (trace) *trace = recording->trace();
  }
  const int code =
      place.main() ? finish(o, trainer, skipped) : end_quietly(place, trainer);
  return code == 0 && !kept ? 1 : code;
}

int run_training(RunOptions& o, tracer::Trace* trace) {
  if (!o.resume.empty()) adopt_checkpoint(o);
  validate(o);
  if (const auto rank = process_rank(o)) return train_in_process(o, *rank);
  if (o.multiprocessing_distributed) return spawn_ranks(o);
  const DataSets data = open_data(o);
  configure(o);
  if (mode_of(o) == train::Mode::ddp) return train_in_threads(o, data, trace);
  if (o.arch != "toy" && !o.quiet) say_what_runs(o, data, devices_of(o), {});
  return train_rank(o, data, {}, {}, trace);
}

void add_train(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("train", "train a model, as the ImageNet example");
  auto options = std::make_shared<RunOptions>();
  add_run_flags(*command, *options);
  command->callback([options, command, &action] {
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() == 0) continue;
      for (const std::string& name : option->get_lnames()) {
        options->given.insert("--" + name);
      }
    }
    action = [options] { return run_training(*options); };
  });
}

}  // namespace lockstep::cli
