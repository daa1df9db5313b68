#include "run/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <span>

#include "run/resume.h"
#include "run/writing.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;

template <typename T>
bool all_finite(std::span<const std::byte> bytes) {
  T value;
  for (size_t at = 0; at + sizeof value <= bytes.size(); at += sizeof value) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

/// The loss of a step is computed before its update, so it may be finite although the
/// weights no longer are.
bool is_finite(const train::Snapshot& snapshot) {
  return std::all_of(snapshot.tensors.begin(), snapshot.tensors.end(),
                     [](const data::TensorFileEntry& tensor) {
                       if (tensor.dtype == "F64")
                         return all_finite<double>(tensor.data);
                       return tensor.dtype != "F32" || all_finite<float>(tensor.data);
                     });
}

/// Tells where `--resume auto` continues with a checkpoint of the end of an epoch.
std::string where_auto_begins(const fs::path& newest) {
  if (!fs::exists(newest)) return "there is none yet";
  return fmt::format("--resume auto begins epoch {} again",
                     train::read_progress(newest.string()).epoch);
}

}  // namespace

Checkpoints::Checkpoints(const RunConfig& config, train::Trainer& trainer,
                         const DataSets& data, const RankPlace& place,
                         const train::Progress& progress)
    : config_(config),
      trainer_(trainer),
      keeps_(!config.checkpoint.folder.empty()),
      says_(place.main() && !config.output.quiet),
      batch_(global_batch(config, place)),
      epoch_(images_per_epoch(config, data, place)),
      steps_before_(progress.steps),
      now_(progress),
      written_(progress) {
  if (!keeps_) return;
  if (place.main()) folder_.emplace(config.checkpoint.folder);
  if (config.checkpoint.every == 0) return;
  trainer.after_update = [this](const train::StepResult& result, int64_t next) {
    after_update(result, next);
  };
}

Checkpoints::~Checkpoints() { trainer_.after_update = nullptr; }

void Checkpoints::begin_epoch(int epoch) { now_.epoch = epoch; }

int64_t Checkpoints::samples_before(int64_t batch) const {
  return std::min(batch * batch_, epoch_);
}

void Checkpoints::after_update(const train::StepResult& result, int64_t next) {
  if (++updates_ % config_.checkpoint.every != 0) return;
  const bool has_values = computes(config_.device.type);
  if (!has_values || std::isfinite(result.loss)) {
    return keep_within_epoch(next, trainer_.steps_done());
  }
  warn_of_loss(fmt::format("the loss of step {} is not finite", result.step));
}

void Checkpoints::keep_within_epoch(int64_t next, int64_t steps) {
  now_.samples = samples_before(next);
  now_.steps = steps_before_ + steps;
  if (!written_.before(now_)) return;  // no step since
  written_ = now_;
  const train::Snapshot snapshot = train::take_snapshot(now_, trainer_);
  if (!folder_) return;
  const bool has_values = computes(config_.device.type);
  if (has_values && !is_finite(snapshot)) {
    return warn_of_loss("the weights are not finite");
  }
  kept_ = true;
  save(folder_->newest(), snapshot);
}

void Checkpoints::stop_in_epoch(int64_t next, int64_t steps) {
  if (!keeps_) return;
  if (!resumes_within_epochs(config_)) {
    if (!says_) return;
    fmt::print(
        "=> no checkpoint in the middle of an epoch with --mode {}, where each rank is "
        "at another batch; {}\n",
        train::name(mode_of(config_)), where_auto_begins(folder_->newest()));
    return;
  }
  keep_within_epoch(next, steps);
  if (!says_ || !in_file_ || in_file_->before(now_)) return;
  fmt::print(
      "=> checkpoint written: {} (epoch {}, {} of {} samples); --resume auto "
      "continues from there\n",
      folder_->newest().string(), now_.epoch, now_.samples, epoch_);
}

void Checkpoints::end_epoch(const train::EpochResult& tested) {
  const int epoch = now_.epoch++;
  now_.samples = 0;
  now_.steps = steps_before_ + trainer_.steps_done();
  if (!std::isfinite(tested.loss)) {
    return warn_of_loss(fmt::format("epoch {} ended with a test loss of {}", epoch,
                                    std::isnan(tested.loss) ? "nan" : "inf"));
  }
  const bool is_best = tested.acc1 > now_.best_acc1;
  now_.best_acc1 = std::max(tested.acc1, now_.best_acc1);
  if (!keeps_) return;
  written_ = now_;
  const train::Snapshot snapshot = train::take_snapshot(now_, trainer_);
  if (!folder_) return;
  // Writes the best one first: a run killed between the two writes continues from it,
  // or resumes before the end of this epoch and reproduces it.
  kept_ = true;
  if (is_best) save(folder_->best(), snapshot);
  save(folder_->newest(), snapshot);
}

void Checkpoints::save(const fs::path& path, const train::Snapshot& snapshot) {
  const Writing writing;
  try {
    train::save_checkpoint(path, snapshot);
    if (path == folder_->newest()) in_file_ = now_;
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "lockstep: %s%s\n", error.what(),
                 fs::exists(path) ? "; the older checkpoint is kept" : "");
    kept_ = false;
  }
}

/// Weights that are not finite are of no use.
void Checkpoints::warn_of_loss(const std::string& what) const {
  if (!folder_) return;
  const bool older = fs::exists(folder_->newest());
  std::fprintf(stderr, "lockstep: warning: %s: no checkpoint is written%s%s\n",
               what.c_str(), older ? "; the last finite one is " : "",
               older ? folder_->newest().c_str() : "");
}

}  // namespace lockstep::run
