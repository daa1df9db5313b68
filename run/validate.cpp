// Checks that options are compatible: every request is honored or rejected.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/backends/backend.h"
#include "run/config.h"
#include "run/devices.h"
#include "run/emulated_devices.h"
#include "run/environment.h"
#include "run/pipeline.h"
#include "run/readers.h"
#include "run/validate_modes.h"
#include "run/words.h"

namespace lockstep::run {
namespace {

void validate_arch(const RunConfig& c) {
  const auto& archs = models::names();
  if (std::find(archs.begin(), archs.end(), c.model.arch) != archs.end()) return;
  try {
    models::make(c.model.arch, {});
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("-a: ") + error.what());
  }
}

/// Rejects flags that the selected mode would not read.
void validate_mode(const RunConfig& c) {
  const bool ddp = mode_of(c) == train::Mode::ddp;
  if (ddp && c.mode && !train::has_ranks(*c.mode)) {
    throw UsageError(
        fmt::format("--mode {} uses one process, but this is one of several ranks; "
                    "fix: omit --mode {}, since ranks train with ddp",
                    word(*c.mode), word(*c.mode)));
  }
  for (const char* flag :
       {"--ddp-sync", "--bucket-cap-mb", "--bucket-rule", "--find-unused-parameters",
        "--gradient-as-bucket-view", "--no-broadcast-buffers", "--check-weights"}) {
    if (ddp || !c.given.contains(flag)) continue;
    throw UsageError(std::string(flag) +
                     " requires DistributedDataParallel; fix: add --mode ddp or "
                     "--multiprocessing-distributed");
  }
  if (c.ddp.check_weights > 0 && !computes(c.device.type)) {
    throw UsageError(fmt::format(
        "--check-weights compares weights, and --device-type {} has none; fix: omit "
        "it, or use --device-type cpu",
        word(c.device.type)));
  }
  const bool threads = c.mode && train::has_ranks(*c.mode) && !ranks_are_processes(c);
  const DistBackend backend = c.distributed.backend;
  if (!threads || !c.given.contains("--dist-backend")) return;
  if (backend == DistBackend::gloo || backend == DistBackend::mpi) {
    throw UsageError(fmt::format(
        "--dist-backend {} requires processes, but without processes ranks are threads "
        "with a ring in memory; fix: omit it, or use {}",
        word(backend),
        backend == DistBackend::mpi ? "mpirun and --dist-url env://"
                                    : "--multiprocessing-distributed or launch"));
  }
}

void validate_kernels(const RunConfig& c) {
  const DeviceConfig& device = c.device;
  if (device.type == DeviceType::cuda) backend_of(DeviceType::cuda);  // may throw
  if (device.dtype == DType::f64 &&
      (device.type == DeviceType::cpu || device.type == DeviceType::cuda)) {
    throw UsageError(
        "--dtype float64 requires --device-type reference (oneDNN and cuDNN compute in "
        "float32)");
  }
  if (device.no_tf32 && device.type != DeviceType::cuda) {
    throw UsageError(fmt::format(
        "--no-tf32 requires --device-type cuda; {} has no TF32", word(device.type)));
  }
}

/// The updates of -a sparse must leave alone the weights whose gradient is 0.
void validate_sparse(const RunConfig& c) {
  if (!is_sparse(c)) {
    for (const char* flag : {"--features", "--nonzeros"}) {
      if (!c.given.contains(flag)) continue;
      throw UsageError(
          fmt::format("{} has no effect on -a {}; fix: omit it, or use -a sparse", flag,
                      c.model.arch));
    }
    return;
  }
  if (!c.data.dir.empty()) {
    throw UsageError("-a sparse generates its samples; it cannot use the folder " +
                     c.data.dir);
  }
  const RecipeConfig& recipe = c.recipe;
  const char* dense = recipe.optimizer != OptimizerKind::sgd ? "--optimizer"
                      : recipe.momentum > 0                  ? "--momentum"
                      : recipe.weight_decay > 0              ? "--weight-decay"
                                                             : nullptr;
  if (dense == nullptr) return;
  throw UsageError(fmt::format(
      "{} changes weights whose gradient is 0, but the updates of -a sparse "
      "are sparse; fix: omit it",
      dense));
}

/// Rejects data and trace options that would have no effect.
void validate_data(const RunConfig& c) {
  if (!c.data.dir.empty() && is_toy(c)) {
    throw UsageError("-a toy takes random samples; it cannot use the folder " +
                     c.data.dir);
  }
  validate_sparse(c);
  if (!c.data.dir.empty() &&
      (c.data.kind == DataKind::random || c.data.kind == DataKind::generated)) {
    throw UsageError(
        fmt::format("--dataset {} makes its own samples; it cannot use the folder {}",
                    word(*c.data.kind), c.data.dir));
  }
  if (!c.output.trace_steps.empty() && c.output.trace.empty()) {
    throw UsageError("--trace-steps requires --trace FILE");
  }
  if (c.data.loader_timeout > 0 && c.data.workers == 0) {
    throw UsageError(
        "--loader-timeout requires loader workers, but -j 0 has none; fix: use -j 1 or "
        "more");
  }
}

void require_number(const char* flag, std::optional<double> value,
                    bool positive = false) {
  if (!value || (std::isfinite(*value) && *value >= 0 && !(positive && *value == 0))) {
    return;
  }
  throw UsageError(fmt::format("{} must be a number {} 0", flag,
                               positive ? "greater than" : "of at least"));
}

void validate_amp(const RunConfig& c) {
  const DeviceType type = c.device.type;
  if (!c.device.amp || type == DeviceType::cuda) return;
  if (type != DeviceType::cpu) {
    throw UsageError(fmt::format(
        "--amp requires --device-type cuda or cpu; {} does not support mixed precision",
        word(type)));
  }
  if (!has_backend(type) || backend_of(type).has_bfloat16()) return;
  throw UsageError(
      "--amp computes in bfloat16, which this processor lacks (AVX512-BF16 or AMX); "
      "fix: omit it");
}

/// In which modes there is an average: validate_modes.cpp, and the trainer.
void validate_average(const RunConfig& c) {
  const RecipeConfig& recipe = c.recipe;
  if (!recipe.ema) {
    for (const char* flag : {"--ema-steps", "--save-ema"}) {
      if (!c.given.contains(flag)) continue;
      throw UsageError(fmt::format("{} requires --ema, such as 0.999", flag));
    }
    return;
  }
  if (!(*recipe.ema >= 0 && *recipe.ema < 1)) {
    throw UsageError("--ema must be at least 0 and less than 1; fix: such as 0.999");
  }
  if (c.device.cuda_graph) {
    throw UsageError(
        "--cuda-graph always replays the same step; fix: omit it, or --ema");
  }
}

void validate_recipe(const RunConfig& c) {
  const RecipeConfig& recipe = c.recipe;
  require_number("--lr", recipe.lr);
  require_number("--momentum", recipe.momentum);
  require_number("--weight-decay", recipe.weight_decay);
  require_number("--dropout", c.model.dropout);
  validate_amp(c);
  require_number("--norm-weight-decay", recipe.norm_weight_decay);
  require_number("--bias-weight-decay", recipe.bias_weight_decay);
  require_number("--clip-grad-norm", recipe.clip_grad_norm, true);
  require_number("--lr-gamma", recipe.lr_gamma);
  validate_average(c);
  if (recipe.warmup_epochs > 0 && recipe.warmup_epochs >= recipe.epochs) {
    throw UsageError(fmt::format("--warmup-epochs {}: must be less than --epochs {}",
                                 recipe.warmup_epochs, recipe.epochs));
  }
}

/// Rejects flags that the selected optimizer would not read.
void validate_optimizer(const RunConfig& c) {
  using Kind = OptimizerKind;
  const RecipeConfig& recipe = c.recipe;
  static const std::vector<Reader<Kind>> readers{
      {"--momentum", {Kind::sgd, Kind::rmsprop}},
      {"--nesterov", {Kind::sgd}},
      {"--beta1", {Kind::adam, Kind::adamw}},
      {"--beta2", {Kind::adam, Kind::adamw}},
      {"--amsgrad", {Kind::adam, Kind::adamw}},
      {"--eps", {Kind::adam, Kind::adamw, Kind::rmsprop}},
      {"--alpha", {Kind::rmsprop}},
      {"--centered", {Kind::rmsprop}}};
  require_read(c, readers, "--optimizer", recipe.optimizer, word<Kind>);
  if (recipe.nesterov && recipe.momentum == 0) {
    throw UsageError(
        "--nesterov requires --momentum greater than 0; fix: omit one of them");
  }
  require_number("--eps", recipe.eps);
  for (const auto& [flag, value] : {std::pair{"--beta1", recipe.beta1},
                                    {"--beta2", recipe.beta2},
                                    {"--alpha", recipe.alpha}}) {
    if (value >= 0 && value < 1) continue;
    throw UsageError(fmt::format("{} must be at least 0 and less than 1", flag));
  }
}

/// Rejects flags that the selected schedule would not read.
void validate_schedule(const RunConfig& c) {
  using Kind = optim::Schedule::Kind;
  const RecipeConfig& recipe = c.recipe;
  static const std::vector<Reader<Kind>> readers{
      {"--lr-step-size", {Kind::step}},
      {"--lr-gamma", {Kind::step, Kind::multi_step}},
      {"--lr-milestones", {Kind::multi_step}},
      {"--pct-start", {Kind::one_cycle}},
      {"--div-factor", {Kind::one_cycle}},
      {"--final-div-factor", {Kind::one_cycle}},
      {"--warmup-epochs", {Kind::step, Kind::multi_step, Kind::cosine}}};
  require_read(c, readers, "--schedule", recipe.schedule, word<Kind>);
  if (recipe.schedule == Kind::multi_step && recipe.lr_milestones.empty()) {
    throw UsageError(
        "--schedule multi-step requires --lr-milestones, such as 30,60,80");
  }
  if (recipe.schedule != Kind::one_cycle) return;
  require_number("--div-factor", recipe.div_factor, true);
  require_number("--final-div-factor", recipe.final_div_factor, true);
  for (const char* flag : {"--momentum", "--beta1"}) {
    if (!c.given.contains(flag)) continue;
    throw UsageError(fmt::format(
        "{} has no effect on --schedule one-cycle, which moves it between 0.95 and "
        "0.85, as OneCycleLR does; fix: omit it",
        flag));
  }
}

void validate_checkpoint(const RunConfig& c) {
  const CheckpointConfig& checkpoint = c.checkpoint;
  if (is_toy(c) && !train::has_ranks(mode_of(c)) &&
      !(checkpoint.folder + checkpoint.resume).empty()) {
    throw UsageError(
        "-a toy trains only with --mode ddp; without it there are no checkpoints");
  }
  if (checkpoint.every > 0 && checkpoint.folder.empty()) {
    throw UsageError("--checkpoint-steps requires --checkpoint DIR");
  }
  if (!checkpoint.resume.empty() && !c.model.pretrained.empty()) {
    throw UsageError("--resume and --pretrained are mutually exclusive");
  }
  const std::string& pretrained = c.model.pretrained;
  if (!pretrained.empty() && !std::filesystem::is_regular_file(pretrained)) {
    throw UsageError(fmt::format(
        "--pretrained {}: {}; fix: unlike main.py's, it takes a file of weights: "
        "--pretrained FILE DIR, such as torchvision's resnet18-f37072fd.pth",
        pretrained,
        std::filesystem::exists(pretrained) ? "is not a file" : "no such file"));
  }
}

void validate_devices(const RunConfig& c) {
  const std::optional<int>& gpu = c.device.gpu;
  const int count = c.device.count;
  if (gpu && c.mode && c.mode != train::Mode::single) {
    throw UsageError(fmt::format(
        "--gpu trains on one device and cannot be used with --mode {}", word(*c.mode)));
  }
  if (gpu && count > 0 && *gpu >= count) {
    throw UsageError(fmt::format(
        "--gpu {}: there {}", *gpu,
        count == 1 ? "is only 1 device" : fmt::format("are only {} devices", count)));
  }
  if (!gpu && c.mode == train::Mode::single && count > 1) {
    throw UsageError(
        fmt::format("--mode single trains on one device, not on --devices {}; fix: "
                    "choose one with --gpu N, or use all with --mode dp",
                    count));
  }
  if (c.ddp.sync_bn && mode_of(c) != train::Mode::ddp) {
    throw UsageError("--sync-bn shares statistics between ranks; fix: add --mode ddp");
  }
  if (c.mode == train::Mode::dp_features && !has_features(c)) {
    throw UsageError(
        "--mode dp-features requires a model with features; fix: use -a vgg16");
  }
}

/// Rejects arguments of DataParallel that the run would ignore or could not obey.
void validate_data_parallel(const RunConfig& c) {
  const DeviceConfig& device = c.device;
  const train::Mode mode = mode_of(c);
  const bool parallel = train::is_data_parallel(mode);
  if (device.input_on && !parallel) {
    throw UsageError(
        fmt::format("--input-on says where DataParallel finds its input, but --mode {} "
                    "copies the input to its device; fix: omit --input-on, or use "
                    "--mode dp",
                    train::name(mode_of(c))));
  }
  if (mode == train::Mode::dp_criterion && is_toy(c)) {
    throw UsageError(
        "-a toy runs forward passes only and prints the gathered output, but --mode "
        "dp-criterion gathers none; fix: use --mode dp, or another model");
  }
  if (device.device_ids.empty() && !device.output_device) return;
  const char* flag = device.device_ids.empty() ? "--output-device" : "--device-ids";
  if (!is_toy(c) || mode_of(c) != train::Mode::dp) {
    throw UsageError(fmt::format(
        "{} requires -a toy with DataParallel: a training run uses devices 0, 1, … in "
        "this order; fix: choose their number with --devices",
        flag));
  }
  RunConfig all = c;
  all.device.device_ids.clear();
  const int count = static_cast<int>(devices_of(all).size());
  std::vector<int> used = device.device_ids;
  if (device.output_device) used.push_back(*device.output_device);
  for (const int id : used) {
    if (id >= 0 && id < count) continue;
    throw UsageError(
        fmt::format("{}: Invalid device id {}: there {} {} device{}; fix: "
                    "increase --devices",
                    flag, id, count == 1 ? "is" : "are", count, count == 1 ? "" : "s"));
  }
}

/// Without ranks, the toy runs forward passes only, whose input is on its device.
void refuse_for_toy(const RunConfig& c, const char* flag) {
  if (!is_toy(c) || train::has_ranks(mode_of(c))) return;
  throw UsageError(fmt::format(
      "{} has no effect on -a toy, which trains only with --mode ddp; fix: omit it",
      flag));
}

/// Recorded steps ignore the flag.
void refuse_with_summary(const RunConfig& c, const char* flag) {
  if (c.output.summary.empty()) return;
  throw UsageError(
      fmt::format("{} has no effect on recorded steps, and --summary records all; fix: "
                  "omit one of them",
                  flag));
}

void validate_prefetch(const RunConfig& c) {
  if (!c.data.prefetch_to_device) return;
  refuse_for_toy(c, "--prefetch-to-device");
  refuse_with_summary(c, "--prefetch-to-device");
  if (c.data.on_bad_image == OnBadImage::skip) {
    throw UsageError(
        "--prefetch-to-device cannot copy a batch before it is known whether "
        "--on-bad-image skip leaves it out; fix: omit one of them");
  }
  if (train::is_data_parallel(mode_of(c)) && c.device.input_on != InputOn::device0) {
    throw UsageError(
        "--prefetch-to-device has no effect on images that DataParallel scatters from "
        "the host; fix: add --input-on device0");
  }
}

void validate_graph(const RunConfig& c) {
  if (!c.device.cuda_graph) return;
  if (c.device.type != DeviceType::cuda) {
    throw UsageError(
        fmt::format("--cuda-graph requires --device-type cuda; {} has no graphs",
                    word(c.device.type)));
  }
  refuse_for_toy(c, "--cuda-graph");
  refuse_with_summary(c, "--cuda-graph");
  const train::Mode mode = mode_of(c);
  const bool parallel = train::is_data_parallel(mode);
  if (mode != train::Mode::single && mode != train::Mode::ddp && !parallel) {
    throw UsageError(
        fmt::format("--cuda-graph cannot capture the steps of --mode {}; "
                    "fix: omit it, or use single, dp or ddp",
                    train::name(mode)));
  }
  if (parallel && c.device.input_on != InputOn::device0) {
    throw UsageError(
        "--cuda-graph captures what happens on GPUs, but DataParallel scatters from "
        "the host; fix: add --input-on device0, or --gpu 0 to use one GPU");
  }
  if (mode == train::Mode::ddp && c.data.on_bad_image == OnBadImage::skip) {
    throw UsageError(
        "--cuda-graph requires batches of the same size on all ranks, but "
        "--on-bad-image skip makes one smaller; fix: omit one of them");
  }
  if (c.ddp.find_unused_parameters) {
    throw UsageError(
        "--cuda-graph captures no step that reads a result, as each step with "
        "--find-unused-parameters does; fix: omit one of them");
  }
  if (c.device.launch_blocking) {
    throw UsageError(
        "--cuda-graph launches a step at once, --launch-blocking each kernel; fix: "
        "omit one of them");
  }
  if (c.recipe.schedule == optim::Schedule::Kind::one_cycle) {
    throw UsageError(
        "--cuda-graph always replays the same step, but --schedule one-cycle changes "
        "the learning rate in each; fix: omit one of them");
  }
  if (c.recipe.optimizer == OptimizerKind::adam ||
      c.recipe.optimizer == OptimizerKind::adamw) {
    throw UsageError(
        "--cuda-graph always replays the same step, but Adam's bias correction differs "
        "in each; fix: omit it, or use --optimizer sgd");
  }
  if (c.recipe.accumulate > 1 || c.recipe.clip_grad_norm) {
    throw UsageError(
        fmt::format("--cuda-graph always replays the same step; fix: omit {}",
                    c.recipe.accumulate > 1 ? "--accumulate" : "--clip-grad-norm"));
  }
}

}  // namespace

void validate(const RunConfig& c) {
  validate_arch(c);
  validate_mode(c);
  validate_kernels(c);
  validate_emulated_devices(c);
  validate_data(c);
  validate_recipe(c);
  validate_optimizer(c);
  validate_schedule(c);
  validate_checkpoint(c);
  validate_devices(c);
  validate_data_parallel(c);
  validate_prefetch(c);
  validate_graph(c);
  validate_flags_of_modes(c);
  validate_pipeline(c);
}

}  // namespace lockstep::run
