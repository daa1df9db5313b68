#include "run/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/container.h"
#include "engine/backends/backend.h"
#include "engine/data/pixels.h"
#include "engine/models/alexnet.h"
#include "engine/ops/ops.h"
#include "engine/plan/chunk.h"
#include "engine/runtime/device_context.h"
#include "engine/train/named_tensors.h"
#include "run/devices.h"
#include "run/emulated_devices.h"
#include "run/environment.h"
#include "run/launch.h"
#include "run/outputs.h"
#include "run/pipeline.h"
#include "run/printable.h"
#include "run/rank_totals.h"
#include "run/recipe.h"
#include "run/recording.h"
#include "run/resume.h"
#include "run/sharing.h"
#include "run/words.h"
#include "tracer/analysis/summary.h"

namespace lockstep::run {
namespace {

/// Batch systems and containers send SIGTERM: it gets the handler of Ctrl-C, which is
/// already set. A process that is PID 1 has no other default than to ignore it.
void handle_termination() {
  struct sigaction as_interrupt{};
  ::sigaction(SIGINT, nullptr, &as_interrupt);
  ::sigaction(SIGTERM, &as_interrupt, nullptr);
}

}  // namespace

int run_training(RunConfig c, tracer::Trace* trace) {
  handle_termination();
  resolve_switches(c);
  adopt_number_of_ranks(c);
  adopt_number_of_workers(c);
  choose_checkpoint(c);
  if (!c.checkpoint.resume.empty()) adopt_checkpoint(c);
  validate(c);
  resolve_seed(c);
  const auto place = rank_of_process(c);
  require_writable_outputs(c, place ? place->main() : c.distributed.rank <= 0);
  if (place) return train_in_process(c, *place);
  if (c.distributed.multiprocessing) return spawn_ranks(c);
  const DataSets data = open_data(c);
  configure(c);
  prepare_emulated_devices(c, data);
  if (train::has_ranks(mode_of(c))) return train_in_threads(c, data, trace);
  if (!is_toy(c) && !c.output.quiet) say_what_runs(c, data, devices_of(c), {});
  return train_rank(c, data, {}, {}, trace);
}

void configure(const RunConfig& c) {
  runtime::Options& runtime = runtime::options();
  if (c.device.threads > 0) {
    runtime.threads_per_device = c.device.threads;
  } else {  // a single device may use all cores; several share them
    const int cores = usable_cores();
    runtime.threads_per_device = mode_of(c) == train::Mode::single ? cores : 1;
  }
  runtime.launch_blocking = c.device.launch_blocking;
  runtime.device_groups = !c.device.cuda_graph;  // see docs/cuda.md
  backend_options().conv = c.device.conv;
  backend_options().benchmark = c.device.benchmark;
  backend_options().deterministic = c.device.deterministic;
  backend_options().tf32 = !c.device.no_tf32;
  backend_options().amp = c.device.amp;
  ops::manual_seed(c.recipe.seed);
  using namespace distributed;
  gradient_sync_factory().set_reference(c.ddp.sync == DdpSync::naive ? make_naive_sync
                                        : c.ddp.sync == DdpSync::bucketed
                                            ? make_bucketed_sync
                                            : make_reducer);
}

namespace {

/// Returns "4 chunks of 32" or "3 chunks of 36 and one of 35", plus any idle devices.
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

std::string describe_batch(const RunConfig& c, size_t devices, const RankPlace& place) {
  const int64_t whole = c.recipe.batch_size;
  if (shares_batch(c, place)) {
    const int64_t each = rank_batch(c, place);
    std::string text = fmt::format("{}, {} on each", global_batch(c, place), each);
    if (each * place.local_world != whole) {
      text += fmt::format(" (-b {} divided by {} and rounded down)", whole,
                          place.local_world);
    }
    return text;
  }
  if (mode_of(c) == train::Mode::single) return std::to_string(whole);
  if (mode_of(c) == train::Mode::model_parallel) return describe_pipeline(c);
  if (mode_of(c) == train::Mode::hybrid) {
    return fmt::format("{} in {} for the features; the classifier has all of it", whole,
                       describe_chunks(whole, devices - 1));
  }
  return fmt::format("{} in {}", whole, describe_chunks(whole, devices));
}

}  // namespace

void say_what_runs(const RunConfig& c, const DataSets& data,
                   const parallel::Devices& devices, const RankPlace& place) {
  if (const auto gpu = c.device.gpu) {
    std::printf("Use GPU: %d for training\n", *gpu);  // as in main.py
  }
  fmt::print("=> creating model '{}'\n", c.model.arch);
  fmt::print("=> data: {} ({} training, {} test images{}{})\n", printable(data.place),
             data.train->size(), data.test->size(),
             data.name == "generated" ? ", generated" : "", data.classes);
  if (!data.left_out.empty()) fmt::print("=> left out: {}\n", data.left_out);
  if (!data.hidden_classes.empty()) {
    fmt::print(
        "=> warning: hidden folders count as classes, as in torchvision, and move the "
        "labels of those after them: {}; fix: remove them\n",
        printable(data.hidden_classes));
  }
  std::string where = devices[0].str();
  if (devices.size() > 1) where += " to " + devices.back().str();
  const int threads = runtime::options().threads_per_device;
  const bool serves = mode_of(c) == train::Mode::ps;
  fmt::print("=> mode {}, {} {}{} ({}){}, batch {}, {} thread{} per device\n",
             train::name(mode_of(c)), devices.size(), serves ? "worker" : "device",
             devices.size() == 1 ? "" : "s", where,
             describe_servers(c, static_cast<int>(devices.size())),
             describe_batch(c, devices.size(), place), threads,
             threads == 1 ? "" : "s");
  if (train::shares_memory(mode_of(c))) {
    fmt::print(
        "=> {} worker{} of one model, each at its own pace; the metrics of "
        "training are worker 0's\n",
        devices.size(), devices.size() == 1 ? "" : "s");
  }
  if (c.recipe.optimizer != OptimizerKind::sgd) {
    fmt::print("=> optimizer {}, lr {}, weight decay {}\n", word(c.recipe.optimizer),
               c.recipe.lr, c.recipe.weight_decay);
  }
  fmt::print("{}", describe_gpus(devices, place));
  if (c.draws_seed) {
    fmt::print("=> seed {}, drawn; to use it again: --seed {}\n", c.recipe.seed,
               c.recipe.seed);
  } else if (c.device.deterministic && c.given.contains("--seed") &&
             c.device.type == DeviceType::cuda) {  // main.py warns, too
    fmt::print(stderr,
               "lockstep: --seed allows only deterministic algorithms of cuDNN, which "
               "can make training considerably slower\n");
  }
}

namespace {

/// `--pretrained`: for training, a file may have a different number of classes.
void load_pretrained(const RunConfig& c, nn::Module& model, bool says) {
  const std::string& file = c.model.pretrained;
  const auto classes = c.evaluate ? train::Classes::same : train::Classes::any;
  const auto left_out = train::load_weights(model, file, classes);
  if (!says) return;
  fmt::print("=> loaded weights '{}'\n", file);
  if (left_out.empty()) return;
  fmt::print("=> left out: {}, whose number of classes differs in the file\n",
             fmt::join(left_out, ", "));
}

/// PyTorch would fail in the last pooling layer: "Output size is too small".
void require_large_enough(const RunConfig& c, int64_t pixels) {
  constexpr int64_t kSmallest = models::AlexNet::kSmallestImage;
  if (c.model.arch != "alexnet" || pixels >= kSmallest) return;
  throw UsageError(
      fmt::format("-a alexnet requires images of at least {} pixels, since its three "
                  "pooling layers leave nothing of {}; fix: use image folders, or "
                  "--dataset generated --image-size 64",
                  kSmallest, pixels));
}

}  // namespace

nn::ModulePtr make_model(const RunConfig& c, const DataSets& data,
                         const RankPlace& place) {
  require_fitting_data(c, data);
  const bool features = data.train->sample_shape().size() == 1;
  if (!features) require_large_enough(c, data.train->sample_shape()[1]);
  models::ZooOptions zoo;
  zoo.classes = data.train->classes();
  zoo.dropout = c.model.dropout;
  zoo.features = data.train->sample_shape()[0];
  const bool small = !features && data.train->sample_shape()[1] <= 64;
  zoo.stem =
      c.model.stem.value_or(small ? models::Stem::cifar : models::Stem::imagenet);
  nn::Construction construction;
  construction.seed = c.recipe.seed;
  construction.fill = computes(c.device.type);
  construction.dtype = c.device.dtype;
  nn::construction() = construction;  // replicas use the same dtype
  nn::ModulePtr model = models::make(c.model.arch, zoo);
  if (!c.model.pretrained.empty()) {
    load_pretrained(c, *model, place.main() && !c.output.quiet);
  }
  return model;
}

optim::AnyOptions optimizer_options(const RecipeConfig& r) {
  const bool cycles = r.schedule == optim::Schedule::Kind::one_cycle;
  const double momentum = cycles ? optim::kOneCycleMomentum : r.momentum;
  const double beta1 = cycles ? optim::kOneCycleMomentum : r.beta1;
  switch (r.optimizer) {
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
      return optim::AdamOptions{r.lr,
                                beta1,
                                r.beta2,
                                r.eps,
                                r.weight_decay,
                                r.amsgrad,
                                r.optimizer == OptimizerKind::adamw};
    case OptimizerKind::rmsprop:
      return optim::RmspropOptions{r.lr,           r.alpha,  r.eps,
                                   r.weight_decay, momentum, r.centered};
    default:
      return optim::SgdOptions{r.lr, momentum, r.weight_decay, r.nesterov};
  }
}

namespace {

train::TrainerOptions trainer_options(const RunConfig& c, const RankPlace& place) {
  train::TrainerOptions options;
  options.mode = mode_of(c);
  options.devices = devices_of(c);
  const InputOn by_default = is_toy(c) ? InputOn::device0 : InputOn::host;
  options.input_on_device0 = c.device.input_on.value_or(by_default) == InputOn::device0;
  if (const auto output = c.device.output_device) {
    options.output_device = {c.device.type, *output};
  }
  options.dtype = c.device.dtype;
  options.print_freq = c.output.print_freq;
  options.quiet = c.output.quiet || !place.main();
  options.warn = place.main();
  options.skips_batches = c.data.on_bad_image == OnBadImage::skip;
  options.optimizer = optimizer_options(c.recipe);
  options.norm_weight_decay = c.recipe.norm_weight_decay;
  options.bias_weight_decay = c.recipe.bias_weight_decay;
  options.label_smoothing = c.recipe.label_smoothing;
  options.accumulate = c.recipe.accumulate;
  options.recompute = c.recipe.recompute;
  options.ema = c.recipe.ema;
  options.ema_steps = c.recipe.ema_steps;
  options.clip_grad_norm = c.recipe.clip_grad_norm;
  options.graph = c.device.cuda_graph;
  options.loss_in_forward = c.loss_in_forward;
  if (!place.group) return options;
  options.devices = {{c.device.type, place.rank}};
  options.group = place.group;
  options.make_sharing = sharing_of(c, place);
  options.stop_notice = place.stop_notice;
  options.ddp.broadcast_buffers = !c.ddp.no_broadcast_buffers;
  options.sync_bn = c.ddp.sync_bn;
  distributed::ReducerOptions& reducer = options.ddp.reducer;
  reducer.bucket_cap = c.ddp.bucket_cap_mb << 20;
  reducer.rule = c.ddp.bucket_rule;
  reducer.find_unused_parameters = c.ddp.find_unused_parameters;
  reducer.gradient_as_bucket_view = c.ddp.gradient_as_bucket_view;
  return options;
}

/// Returns the signal that ended the run; 0 if none did. Ranks may have finished before
/// they learnt of it.
int signal_of(const train::Trainer& trainer) {
  if (train::Trainer::stop) return train::Trainer::stop_signal;
  return trainer.stopped_by();
}

/// Prints the results after the last step.
int finish(const RunConfig& c, train::Trainer& trainer, int64_t skipped) {
  const OutputConfig& output = c.output;
  const auto save = [&](const std::string& file) {
    if (file.empty()) return;
    train::save_weights(*trainer.model(), file);
    if (!output.quiet) std::printf("=> weights written: %s\n", file.c_str());
  };
  save(output.save);
  if (!output.save_ema.empty() && !trainer.average()->exists()) {
    fmt::print(stderr,
               "lockstep: {} is not written: there is no average before {} optimizer "
               "steps; fix: lower --ema-steps\n",
               output.save_ema, c.recipe.ema_steps);
  } else if (!output.save_ema.empty()) {
    const optim::WeightAverage::InModel average(*trainer.average());
    save(output.save_ema);
  }
  const std::string shared = trainer.sharing() ? trainer.sharing()->report() : "";
  if (!shared.empty() && !output.quiet && !c.evaluate) {
    fmt::print("=> shared model: {}\n", shared);
  }
  if (c.device.cuda_graph && !output.quiet && !c.evaluate) {
    fmt::print("=> steps replayed as a CUDA graph: {}\n", trainer.graph().replays());
  }
  if (skipped > 0) {
    fmt::print(stderr, "lockstep: skipped bad images {} times\n", skipped);
  }
  if (c.device.type == DeviceType::null && !output.quiet) {
    std::printf("=> %s\n", tracer::kNullSentence);
  }
  const int signal = signal_of(trainer);
  if (signal == 0) return 0;
  const int64_t steps = trainer.steps_done();
  std::fprintf(stderr, "lockstep: %sinterrupted %safter %ld step%s\n",
               train::Trainer::stop ? "" : "another rank was ",
               signal == SIGTERM ? "by SIGTERM " : "", static_cast<long>(steps),
               steps == 1 ? "" : "s");
  return 128 + signal;
}

/// Ranks other than 0 print only if rank 0 may be in another terminal.
int end_quietly(const RankPlace& place, const train::Trainer& trainer) {
  const int signal = signal_of(trainer);
  if (signal == 0) return 0;
  if (place.is_process && !train::Trainer::stop) {
    std::fprintf(stderr,
                 "lockstep: rank %d is stopping because another rank was interrupted\n",
                 place.rank);
  }
  return 128 + signal;
}

/// Returns every device of this process that the run uses, in ascending order.
parallel::Devices all_devices(const train::TrainerOptions& options,
                              const RunConfig& c) {
  parallel::Devices devices = devices_of(c);
  for (const Device server : server_devices(c)) devices.push_back(server);
  if (options.output_device) devices.push_back(*options.output_device);
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

}  // namespace

int train_rank(const RunConfig& c, const DataSets& data, const RankPlace& place,
               const RecordingHooks& hooks, tracer::Trace* trace) {
  train::TrainerOptions options = trainer_options(c, place);
  if (c.data.normalize_on_device) {
    const auto* images = dynamic_cast<const data::ImageDataset*>(data.train.get());
    if (images) options.normalization = images->normalize().constants();
  }
  options.prefetch_to_device = c.data.prefetch_to_device;
  if (!c.output.trace.empty()) {
    const int64_t planned = planned_steps(c, data, place);
    options.first_traced = Recording::traced_steps(c, planned).first;
  }
  const auto devices = place.is_process ? options.devices : all_devices(options, c);
  const nn::ModulePtr model = make_model(c, data, place);
  if (options.mode == train::Mode::model_parallel) {
    options.pipeline = pipeline_of(c, *model, data.train->sample_shape(), place);
  }
  train::Trainer trainer(model, options);
  std::optional<Recording> recording;
  if (hooks.records) {
    recording.emplace(c, trainer, data, devices, place, planned_steps(c, data, place));
  }
  hooks.around(trainer);
  const bool notebook = is_toy(c) && !place.group;  // it prints the model itself
  if (c.output.print_model && place.main() && !notebook) {
    std::puts(trainer.callable()->repr().c_str());
  }
  bool kept = true;
  try {
    if (notebook) {
      run_notebook(c, trainer, data);
    } else {
      kept = train_epochs(c, trainer, data, place);
    }
  } catch (const std::exception& error) {
    if (recording && (place.is_process || !place.group)) {
      recording->rescue(error.what());
    }
    throw;
  } catch (...) {
    if (recording && (place.is_process || !place.group)) {
      recording->rescue("not a std::exception");
    }
    throw;
  }
  trainer.leave();
  hooks.ended();
  const int64_t skipped = skipped_by_all(c, place, devices[0]);
  if (recording) {
    share_with_ranks(*recording, place, devices[0], skipped);
  }
  hooks.meet();  // nothing is recorded while the files are written
  if (recording) {
    recording->finish();
    if (trace) *trace = recording->trace();
  }
  hooks.meet();
  if (place.main()) trainer.fetch_result();
  if (is_saved(c, place, devices[0])) trainer.collect_stages();
  const int code =
      place.main() ? finish(c, trainer, skipped) : end_quietly(place, trainer);
  return kept ? code : 1;
}

}  // namespace lockstep::run
