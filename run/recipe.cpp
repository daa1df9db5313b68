#include "run/recipe.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <type_traits>

#include "engine/optim/schedule.h"
#include "engine/train/checkpoint.h"
#include "run/words.h"

namespace lockstep::run {
namespace {

using Json = nlohmann::json;

/// Calls `visit(flag, value)` for every hyperparameter except the data, the devices and
/// the number of steps.
template <typename Config, typename Visit>
void for_each_in_recipe(Config& c, Visit visit) {
  visit("--arch", c.model.arch);
  visit("--stem", c.model.stem);
  visit("--dropout", c.model.dropout);
  visit("--epochs", c.recipe.epochs);
  visit("--batch-size", c.recipe.batch_size);
  visit("--optimizer", c.recipe.optimizer);
  visit("--lr", c.recipe.lr);
  visit("--momentum", c.recipe.momentum);
  visit("--weight-decay", c.recipe.weight_decay);
  visit("--beta1", c.recipe.beta1);
  visit("--beta2", c.recipe.beta2);
  visit("--alpha", c.recipe.alpha);
  visit("--eps", c.recipe.eps);
  visit("--amsgrad", c.recipe.amsgrad);
  visit("--centered", c.recipe.centered);
  visit("--nesterov", c.recipe.nesterov);
  visit("--norm-weight-decay", c.recipe.norm_weight_decay);
  visit("--bias-weight-decay", c.recipe.bias_weight_decay);
  visit("--schedule", c.recipe.schedule);
  visit("--lr-step-size", c.recipe.lr_step_size);
  visit("--lr-gamma", c.recipe.lr_gamma);
  visit("--lr-milestones", c.recipe.lr_milestones);
  visit("--pct-start", c.recipe.pct_start);
  visit("--div-factor", c.recipe.div_factor);
  visit("--final-div-factor", c.recipe.final_div_factor);
  visit("--warmup-epochs", c.recipe.warmup_epochs);
  visit("--scale-lr", c.recipe.scale_lr);
  visit("--label-smoothing", c.recipe.label_smoothing);
  visit("--accumulate", c.recipe.accumulate);
  visit("--recompute", c.recipe.recompute);
  visit("--clip-grad-norm", c.recipe.clip_grad_norm);
  visit("--ema", c.recipe.ema);
  visit("--ema-steps", c.recipe.ema_steps);
  visit("--amp", c.device.amp);
  visit("--seed", c.recipe.seed);
  visit("--no-shuffle", c.data.no_shuffle);
  visit("--no-augment", c.data.no_augment);
  if (mode_of(c) != train::Mode::local_sgd) return;
  visit("--local-steps", c.local_sgd.steps);
  visit("--warmup-steps", c.local_sgd.warmup);
}

/// Converts values to JSON: enums become their words; an unset optional enum becomes
/// "", an unset optional number null.
template <typename T>
Json json_of(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return word(value);
  } else {
    return value;
  }
}
Json json_of(const std::optional<models::Stem>& value) {
  return value ? word(*value) : "";
}
Json json_of(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

std::runtime_error damaged(const std::string& file) {
  return std::runtime_error(
      file + ": has a damaged header; fix: resume from another checkpoint");
}

template <typename T>
void read_value(const Json& json, T& value) {
  if constexpr (std::is_enum_v<T>) {
    value = value_of<T>(json.get<std::string>()).value();
  } else {
    value = json.get<T>();
  }
}
void read_value(const Json& json, std::optional<models::Stem>& value) {
  const auto text = json.get<std::string>();
  value =
      text.empty() ? std::nullopt : std::optional(value_of<models::Stem>(text).value());
}
void read_value(const Json& json, std::optional<double>& value) {
  value = json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

}  // namespace

std::string recipe_of(const RunConfig& c) {
  Json recipe = Json::object();
  for_each_in_recipe(
      c, [&](const char* flag, const auto& value) { recipe[flag] = json_of(value); });
  return recipe.dump();
}

void adopt_checkpoint(RunConfig& c) {
  const std::string& file = c.checkpoint.resume;
  const train::Progress progress = train::read_progress(file);
  const Json recipe = Json::parse(progress.recipe);
  std::string changed;
  const auto adopt = [&](const char* flag, auto& value) {
    if (!recipe.contains(flag)) return;
    std::decay_t<decltype(value)> theirs{};
    read_value(recipe[flag], theirs);
    const Json mine = json_of(value);
    if (!c.given.contains(flag)) {
      value = theirs;
    } else if (mine != recipe[flag]) {
      changed += fmt::format("{}{} {} (was {})", changed.empty() ? "" : ", ", flag,
                             mine.dump(), recipe[flag].dump());
    }
  };
  try {
    for_each_in_recipe(c, adopt);
  } catch (const Json::exception&) {
    throw damaged(file);
  } catch (const std::bad_optional_access&) {
    throw damaged(file);
  }
  if (c.model.arch != progress.arch) {
    throw std::runtime_error(
        fmt::format("{} is a checkpoint of {}; fix: resume it with -a {}", file,
                    progress.arch, progress.arch));
  }
  if (c.recipe.batch_size < 1 || c.recipe.accumulate < 1 || c.recipe.lr_step_size < 1) {
    throw damaged(file);
  }
  c.recipe.start_epoch = progress.epoch;
  c.checkpoint.start_samples = progress.samples;
  if (recipe.contains("--seed")) c.draws_seed = false;
  c.checkpoint.changed_recipe = changed;
}

namespace {

optim::Schedule schedule_of(const RecipeConfig& recipe) {
  optim::Schedule schedule;
  schedule.kind = recipe.schedule;
  schedule.step_size = recipe.lr_step_size;
  schedule.gamma = recipe.lr_gamma;
  schedule.milestones = recipe.lr_milestones;
  schedule.epochs = recipe.epochs;
  schedule.warmup_epochs = recipe.warmup_epochs;
  schedule.pct_start = recipe.pct_start;
  schedule.div_factor = recipe.div_factor;
  schedule.final_div_factor = recipe.final_div_factor;
  return schedule;
}

/// --lr, for the whole batch of an optimizer step.
double base_lr(const RecipeConfig& recipe, int64_t global_batch) {
  const double batch = static_cast<double>(global_batch) * recipe.accumulate;
  return recipe.scale_lr ? optim::scaled_lr(recipe.lr, batch) : recipe.lr;
}

}  // namespace

double lr_of_epoch(const RecipeConfig& recipe, int64_t global_batch, int epoch) {
  return optim::lr_of_epoch(schedule_of(recipe), base_lr(recipe, global_batch), epoch);
}

optim::OneCycle one_cycle_at(const RecipeConfig& recipe, int64_t global_batch,
                             int64_t update, int64_t updates) {
  return optim::one_cycle_at(schedule_of(recipe), base_lr(recipe, global_batch), update,
                             updates);
}

}  // namespace lockstep::run
