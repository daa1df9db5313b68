#include "cli/training_flags.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "engine/optim/schedule.h"
#include "engine/train/checkpoint.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::json;
using Numbers = CLI::Range;

/// Calls `visit(flag, value)` for all that shapes the training besides the data, the
/// devices and the number of steps.
template <typename Options, typename Visit>
void for_each_in_recipe(Options& o, Visit visit) {
  visit("--arch", o.arch);
  visit("--stem", o.stem);
  visit("--dropout", o.dropout);
  visit("--epochs", o.epochs);
  visit("--batch-size", o.batch_size);
  visit("--lr", o.lr);
  visit("--momentum", o.momentum);
  visit("--weight-decay", o.weight_decay);
  visit("--norm-weight-decay", o.norm_weight_decay);
  visit("--bias-weight-decay", o.bias_weight_decay);
  visit("--schedule", o.schedule);
  visit("--lr-step-size", o.lr_step_size);
  visit("--lr-gamma", o.lr_gamma);
  visit("--warmup-epochs", o.warmup_epochs);
  visit("--scale-lr", o.scale_lr);
  visit("--label-smoothing", o.label_smoothing);
  visit("--accumulate", o.accumulate);
  visit("--clip-grad-norm", o.clip_grad_norm);
  visit("--seed", o.seed);
  visit("--no-shuffle", o.no_shuffle);
  visit("--no-augment", o.no_augment);
}

}  // namespace

void add_training_flags(CLI::App& c, RunOptions& o) {
  c.add_option("--checkpoint", o.checkpoint,
               "folder for checkpoint.safetensors, written after every epoch, and "
               "model_best.safetensors (default: none is kept)");
  c.add_option("--resume", o.resume,
               "checkpoint to go on from; flags not given come from it");
  c.add_option("--schedule", o.schedule,
               "of the learning rate: step (a tenth every 30 epochs) or cosine")
      ->check(CLI::IsMember({"step", "cosine"}));
  c.add_option("--lr-step-size", o.lr_step_size, "step: epochs between two steps")
      ->check(Numbers(1, 1 << 20));
  c.add_option("--lr-gamma", o.lr_gamma, "step: a step's factor");
  c.add_option("--warmup-epochs,--lr-warmup-epochs", o.warmup_epochs,
               "climb linearly from a hundredth of the learning rate")
      ->check(Numbers(0, 1 << 20));
  c.add_flag("--scale-lr", o.scale_lr,
             "--lr is meant for batches of 256: scale it with the whole batch");
  c.add_option("--label-smoothing", o.label_smoothing,
               "share of the target that is spread over all classes")
      ->check(Numbers(0.0, 1.0));
  c.add_option("--norm-weight-decay", o.norm_weight_decay,
               "of batch norms; the usual recipe for large batches says 0")
      ->default_str("--wd's");
  c.add_option("--bias-weight-decay", o.bias_weight_decay,
               "of the biases of all other layers")
      ->default_str("--wd's");
  c.add_option("--accumulate", o.accumulate,
               "batches whose gradients are added up to one optimizer step")
      ->check(Numbers(1, 1 << 20));
  c.add_option("--clip-grad-norm", o.clip_grad_norm,
               "largest norm of all gradients together")
      ->default_str("none");
  c.add_flag("--amp", o.amp, "mixed precision, on CUDA devices only");
}

void validate_training(const RunOptions& o) {
  if (o.amp && o.device_type != "cuda") {
    throw UsageError("--amp is mixed precision on CUDA devices; --device-type " +
                     o.device_type + " trains without it");
  }
  const auto require = [](const char* flag, std::optional<double> value,
                          bool positive) {
    if (!value ||
        (std::isfinite(*value) && *value >= 0 && !(positive && *value == 0))) {
      return;
    }
    throw UsageError(fmt::format("{} must be a number {} 0", flag,
                                 positive ? "above" : "of at least"));
  };
  require("--norm-weight-decay", o.norm_weight_decay, false);
  require("--bias-weight-decay", o.bias_weight_decay, false);
  require("--clip-grad-norm", o.clip_grad_norm, true);
  require("--lr-gamma", o.lr_gamma, false);
  if (o.warmup_epochs > 0 && o.warmup_epochs >= o.epochs) {
    throw UsageError(
        fmt::format("--warmup-epochs {}: nothing is left of --epochs {} after it",
                    o.warmup_epochs, o.epochs));
  }
  if (o.arch == "toy" && mode_of(o) != train::Mode::ddp &&
      !(o.checkpoint + o.resume).empty()) {
    throw UsageError("-a toy trains nothing without --mode ddp; it has no checkpoints");
  }
  if (!o.resume.empty() && !o.pretrained.empty()) {
    throw UsageError("--resume has weights of its own; leave out --pretrained");
  }
}

std::string recipe_of(const RunOptions& o) {
  Json recipe = Json::object();
  for_each_in_recipe(o, [&recipe]<typename T>(const char* flag, const T& value) {
    if constexpr (std::is_same_v<T, std::optional<double>>) {
      recipe[flag] = value ? Json(*value) : Json();
    } else {
      recipe[flag] = value;
    }
  });
  return recipe.dump();
}

void adopt_checkpoint(RunOptions& o) {
  const train::Progress progress = train::read_progress(o.resume);
  const Json recipe = Json::parse(progress.recipe);
  std::string others;
  const auto adopt = [&]<typename T>(const char* flag, T& value) {
    if (!recipe.contains(flag)) return;
    Json mine;
    T theirs{};
    if constexpr (std::is_same_v<T, std::optional<double>>) {
      if (value) mine = *value;
      if (!recipe[flag].is_null()) theirs = recipe[flag].get<double>();
    } else {
      mine = value;
      theirs = recipe[flag].get<T>();
    }
    if (o.given.count(flag) == 0) {
      value = theirs;
    } else if (mine != recipe[flag]) {
      others += fmt::format("{}{} {} (was {})", others.empty() ? "" : ", ", flag,
                            mine.dump(), recipe[flag].dump());
    }
  };
  try {
    for_each_in_recipe(o, adopt);
  } catch (const Json::exception&) {
    throw std::runtime_error(o.resume +
                             ": has a damaged header; resume from another checkpoint");
  }
  if (o.arch != progress.arch) {
    throw std::runtime_error(
        fmt::format("{} is a checkpoint of {}; resume it with -a {}", o.resume,
                    progress.arch, progress.arch));
  }
  if (o.batch_size < 1 || o.accumulate < 1 || o.lr_step_size < 1) {
    throw std::runtime_error(o.resume +
                             ": has a damaged header; resume from another checkpoint");
  }
  o.start_epoch = progress.epoch;
  o.changed_recipe = others;
}

double lr_of_epoch(const RunOptions& o, int64_t global_batch, int epoch) {
  optim::Schedule schedule;
  schedule.kind = o.schedule == "cosine" ? optim::Schedule::Kind::cosine
                                         : optim::Schedule::Kind::step;
  schedule.step_size = o.lr_step_size;
  schedule.gamma = o.lr_gamma;
  schedule.epochs = o.epochs;
  schedule.warmup_epochs = o.warmup_epochs;
  const double batch = static_cast<double>(global_batch) * o.accumulate;
  const double base = o.scale_lr ? optim::scaled_lr(o.lr, batch) : o.lr;
  return optim::lr_of_epoch(schedule, base, epoch);
}

}  // namespace lockstep::cli
