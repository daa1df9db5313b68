#include "tracer/analysis/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/units.h"

namespace lockstep::tracer {

namespace {

constexpr double kWorthHelping = 0.02;  ///< of the step

/// Which class of time the longest path's shares of a name belong to.
Spent class_of(std::string_view what) {
  static const std::map<std::string_view, Spent> classes = {
      {kWaitingForCore, Spent::core},
      {kWaitingForGpu, Spent::gpu},
      {reasons::scatter, Spent::scatter},
      {reasons::targets, Spent::scatter},
      {reasons::grad_scatter, Spent::scatter},
      {reasons::replicate, Spent::replicate},
      {reasons::gather, Spent::gather},
      {reasons::reduce, Spent::reduce},
      {reasons::activation, Spent::activations},
      {reasons::activation_grad, Spent::activations},
      {reasons::push, Spent::push_pull},
      {reasons::pull, Spent::push_pull},
      {"bucket copies", Spent::bucket_copies},
      {reasons::all_reduce, Spent::collectives},
      {"waiting for ranks", Spent::imbalance},
      {phases::data, Spent::loader},
      {"host", Spent::host}};
  const auto found = classes.find(what);
  return found == classes.end() ? Spent::other : found->second;
}

/// Returns the times of all devices, or of the workers alone: a parameter server is
/// idle while they compute.
SpentTimes times_of_workers(const Split& split, const Summary& summary) {
  const auto servers = static_cast<size_t>(summary.servers);
  if (servers == 0 || servers >= split.devices.size()) return split.spent;
  SpentTimes times;
  for (size_t i = 0; i + servers < split.devices.size(); ++i) {
    for (size_t k = 0; k < kSpents; ++k) {
      times.times[k] += split.devices[i].spent.times[k];
    }
  }
  return times;
}

/// Returns what stages of different speed would need, or a schedule with gaps.
Remedy remedy_for_bubble(const std::vector<const Pipeline*>& pipelines) {
  int64_t of_schedule = 0, of_stages = 0;
  for (const Pipeline* pipeline : pipelines) {
    const SlotTimes& times = pipeline->times;
    of_schedule += times[Slot::fill] + times[Slot::drain] + times[Slot::order];
    of_stages += times[Slot::uneven];
  }
  return of_schedule >= of_stages ? Remedy::micro_batches : Remedy::another_split;
}

/// Returns whether the host works on replicas for most of the time in which devices
/// wait for it.
bool host_makes_replicas(const Split& split, const Summary& summary) {
  const auto devices = static_cast<int64_t>(std::max<size_t>(1, split.devices.size()));
  for (const NamedPhase& phase : summary.train.mean_phases()) {
    if (phase.name != phases::replicate) continue;
    return 2 * phase.cost.host >= split.spent[Spent::host] / devices;
  }
  return false;
}

Remedy remedy_for(Spent spent, const Split& split,
                  const std::vector<const Pipeline*>& pipelines,
                  const Summary& summary) {
  const bool dp = summary.mode.starts_with("dp");
  switch (spent) {
    case Spent::core:
      return Remedy::core;
    case Spent::gpu:
      return summary.processor == Processor::shared_gpus ? Remedy::shared_gpu
                                                         : Remedy::gpu;
    case Spent::scatter:
    case Spent::replicate:
    case Spent::gather:
    case Spent::reduce:
      return dp ? Remedy::ddp : Remedy::links;
    case Spent::activations:
    case Spent::push_pull:
    case Spent::collectives:
      return Remedy::links;
    case Spent::bucket_copies:
      return Remedy::bucket_views;
    case Spent::imbalance:
      return pipelines.empty() ? Remedy::even_work : remedy_for_bubble(pipelines);
    case Spent::lock:
      return Remedy::unlocked;
    case Spent::loader:
      return Remedy::loader;
    case Spent::host:
      return dp && host_makes_replicas(split, summary) ? Remedy::no_replicas
                                                       : Remedy::larger_batch;
    case Spent::undivided:
      return Remedy::undivided;
    case Spent::computing:
    case Spent::other:
    case Spent::wake_ups:
    case Spent::unknown:
      break;
  }
  return Remedy::none;
}

std::string joined(const std::vector<Spent>& classes) {
  std::string text;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (i > 0) text += i + 1 == classes.size() ? " and " : ", ";
    text += classes[i] == Spent::host     ? "the host's work"
            : classes[i] == Spent::loader ? "waiting for the loader"
                                          : words_of(classes[i]).name;
  }
  return text;
}

/// Returns how much faster the step would be, where that has a bound.
std::string bound_of(const Cause& cause, double of_step) {
  if (of_step < kWorthHelping || of_step >= 1) return "";
  return fmt::format(" Without {}, this step would be at most {:.2f}x as fast.",
                     cause.classes.size() > 1 ? "them" : "it", 1 / (1 - of_step));
}

}  // namespace

std::string_view words_of(Remedy remedy) {
  switch (remedy) {
    case Remedy::ddp:
      return " DistributedDataParallel sends no weights, and sums gradients while "
             "backward runs (`train --mode ddp`; `emulate --mode ddp` shows it from a "
             "recording of one device).";
    case Remedy::no_replicas:
      return " Most of it makes the replicas of each step; DistributedDataParallel "
             "makes none (`train --mode ddp`).";
    case Remedy::links:
      return " Faster links shorten it (`emulate --link-gb-per-s`).";
    case Remedy::bucket_views:
      return " `--gradient-as-bucket-view` avoids them.";
    case Remedy::core:
      return " Fewer devices, or devices with cores of their own (`emulate`), wait "
             "less.";
    case Remedy::gpu:
      return " Fewer, larger kernels wait less: a larger batch or, on one device, a "
             "step in one launch (`--cuda-graph`).";
    case Remedy::shared_gpu:
      return " One GPU per device, or fewer, larger kernels (a larger batch; on one "
             "device, `--cuda-graph`), wait less.";
    case Remedy::micro_batches:
      return " More micro-batches fill the gaps of the schedule (`--micro-batches`).";
    case Remedy::another_split:
      return " Stages that take the same time do not wait for each other (`--split "
             "auto`).";
    case Remedy::even_work:
      return " The devices that come last decide: look at what they run.";
    case Remedy::unlocked:
      return " Workers that do not lock the model do not wait (`--mode hogwild`).";
    case Remedy::larger_batch:
      return " With larger batches, kernels take longer, and the calls that launch "
             "them do not.";
    case Remedy::loader:
      return " More workers (`-j`), if there are cores for them, prepare batches "
             "earlier; smaller pictures, or a format that needs no decoding, give them "
             "less to do.";
    case Remedy::undivided:
      return " Whether faster links or more even work would shorten it, the trace does "
             "not say.";
    case Remedy::none:
      break;
  }
  return "";
}

std::optional<Cause> main_cause(const Split& split, const std::vector<PathShare>& path,
                                const std::vector<const Pipeline*>& pipelines,
                                const Summary& summary) {
  const SpentTimes times = times_of_workers(split, summary);
  const auto all = static_cast<double>(times.sum());
  if (!split.known || all <= 0) return std::nullopt;
  // Classes without a remedy stay apart: the largest decides, also if nothing helps.
  std::map<std::pair<Remedy, Spent>, Cause> causes;
  std::array<Remedy, kSpents> remedies{};
  for (size_t i = 0; i < kSpents; ++i) {
    const auto spent = static_cast<Spent>(i);
    remedies[i] = remedy_for(spent, split, pipelines, summary);
    if (spent == Spent::computing || times[spent] <= 0) continue;
    const bool helps = remedies[i] != Remedy::none;
    Cause& cause = causes[{remedies[i], helps ? Spent::computing : spent}];
    cause.remedy = remedies[i];
    cause.classes.push_back(spent);
    cause.of_time += static_cast<double>(times[spent]) / all;
  }
  if (causes.empty()) return std::nullopt;
  Cause most = std::ranges::max_element(causes, {}, [](const auto& entry) {
                 return entry.second.of_time;
               })->second;
  std::ranges::stable_sort(most.classes, std::greater<>(),
                           [&](Spent spent) { return times[spent]; });
  const int64_t largest = times[most.classes.front()];
  std::erase_if(most.classes, [&](Spent spent) { return times[spent] < largest / 20; });
  most.of_largest = static_cast<double>(largest) / all;
  double whole = 0, part = 0;
  for (const PathShare& share : path) {
    whole += static_cast<double>(share.nanoseconds);
    const auto spent = static_cast<size_t>(class_of(share.what));
    const bool named = most.remedy != Remedy::none && remedies[spent] == most.remedy;
    if (is_computing(share.what) || !named) continue;
    part += static_cast<double>(share.nanoseconds);
  }
  if (whole > 0) most.of_path = part / whole;
  return most;
}

std::string help_sentence(const StepSummary& step, const Summary& summary) {
  const bool unknown = summary.devices < 2 || summary.null_devices ||
                       summary.imported || step.own_pace || step.path <= 0 ||
                       step.length <= 0;
  if (unknown) return {};
  if (!step.split.known) return {};
  std::vector<const Pipeline*> pipelines;
  if (step.pipeline != nullptr) pipelines.push_back(step.pipeline.get());
  const auto cause = main_cause(step.split, step.path_shares, pipelines, summary);
  if (!cause || cause->of_time < kWorthHelping) {
    if (is_disturbed(summary)) return {};
    return "What would help: faster devices. No kind of wait or transfer reaches 2 % "
           "of their time.";
  }
  if (cause->remedy == Remedy::none) {
    return fmt::format("What would help is not known: {} {} {} of the devices' time.",
                       joined(cause->classes),
                       cause->classes.size() > 1 ? "take" : "takes",
                       percent(cause->of_time));
  }
  const double of_step = cause->of_path * static_cast<double>(step.path) /
                         static_cast<double>(step.length);
  return fmt::format(
      "What would help: {} {} {} of the devices' time.{}{}", joined(cause->classes),
      cause->classes.size() > 1 ? "take" : "takes", percent(cause->of_time),
      words_of(cause->remedy),
      is_disturbed(summary) ? " How much faster the step would be is unknown, because "
                              "other programs used the cores."
                            : bound_of(*cause, of_step));
}

}  // namespace lockstep::tracer
