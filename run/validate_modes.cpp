#include "run/validate_modes.h"

#include <fmt/format.h>

#include "run/devices.h"
#include "run/environment.h"
#include "run/readers.h"
#include "run/sharing.h"
#include "run/words.h"

namespace lockstep::run {
namespace {

using train::Mode;

constexpr int kMaxDevices = 99;  ///< that a trace can number

const std::vector<Reader<Mode>>& readers() {
  static const std::vector<Reader<Mode>> all{
      {"--checkpoint-steps",
       {Mode::single, Mode::dp, Mode::dp_features, Mode::dp_criterion, Mode::ddp,
        Mode::local_sgd, Mode::model_parallel, Mode::hybrid}},
      {"--normalize-on-device",
       {Mode::single, Mode::dp, Mode::dp_features, Mode::dp_criterion, Mode::ddp,
        Mode::local_sgd, Mode::hogwild, Mode::locked, Mode::ps}},
      {"--prefetch-to-device",
       {Mode::single, Mode::dp, Mode::dp_features, Mode::dp_criterion, Mode::ddp,
        Mode::local_sgd, Mode::hogwild, Mode::locked, Mode::ps, Mode::model_parallel}},
      {"--ema",
       {Mode::single, Mode::dp, Mode::dp_features, Mode::dp_criterion, Mode::ddp,
        Mode::model_parallel}},
      {"--local-steps", {Mode::local_sgd}},
      {"--loss-in-forward", {Mode::dp_criterion}},
      {"--warmup-steps", {Mode::local_sgd}},
      {"--update", {Mode::hogwild}},
      {"--lock", {Mode::locked}},
      {"--partition", {Mode::hogwild, Mode::locked}},
      {"--servers", {Mode::ps}},
      {"--consistency", {Mode::ps}},
      {"--staleness", {Mode::ps}},
      {"--backup", {Mode::ps}},
      {"--slow-rank", {Mode::ps}},
      {"--split", {Mode::model_parallel}},
      {"--pipeline-schedule", {Mode::model_parallel}},
      {"--micro-batches", {Mode::model_parallel}},
      {"--virtual-stages", {Mode::model_parallel}},
      {"--schedule-file", {Mode::model_parallel}},
      {"--save-schedule", {Mode::model_parallel}},
  };
  return all;
}

/// The lock is not held between batches.
void validate_shared(const RunConfig& c) {
  const Mode mode = mode_of(c);
  if (mode == Mode::locked && c.shared.lock == sharing::LockFor::step &&
      c.recipe.accumulate > 1) {
    throw UsageError(
        "--lock step holds the lock for one batch, but --accumulate updates the "
        "weights after several; fix: omit it, or use --lock update");
  }
}

void validate_ps(const RunConfig& c) {
  const PsConfig& ps = c.ps;
  const int workers = static_cast<int>(devices_of(c).size());
  const auto slow = slow_rank_of(c);
  using sharing::Consistency;
  const auto require = [](bool holds, const std::string& problem) {
    if (!holds) throw UsageError(problem);
  };
  require(ps.consistency == Consistency::ssp || !c.given.contains("--staleness"),
          "--staleness bounds how far a worker may be ahead, which only --consistency "
          "ssp allows; fix: add --consistency ssp");
  require(ps.consistency == Consistency::sync || ps.backup == 0,
          "--backup lets an update of --consistency sync discard late gradients; fix: "
          "omit it, or --consistency");
  require(ps.backup < workers,
          fmt::format("--backup {} would discard every gradient of {} workers; fix: "
                      "use fewer",
                      ps.backup, workers));
  require(!slow || slow->first < workers,
          fmt::format("--slow-rank {}: there {} only {} worker{}; fix: name one from 0 "
                      "to {}",
                      ps.slow_rank, workers == 1 ? "is" : "are", workers,
                      workers == 1 ? "" : "s", workers - 1));
  require(!ranks_are_processes(c) || c.distributed.backend != DistBackend::mpi,
          "--dist-backend mpi has all processes in every collective, but the servers "
          "of --mode ps take part in none; fix: use --dist-backend ring");
  require(
      c.recipe.schedule != optim::Schedule::Kind::one_cycle,
      "--schedule one-cycle changes the momentum in every update, but with --mode ps "
      "the servers keep theirs; fix: use --schedule cosine");
  require(!c.recipe.clip_grad_norm,
          "--clip-grad-norm clips the mean gradient, which with --mode ps no worker "
          "has; fix: omit it");
  require(workers + ps.servers <= kMaxDevices,
          fmt::format("--devices {} and --servers {} are more than the {} devices that "
                      "a trace can number; fix: use fewer",
                      workers, ps.servers, kMaxDevices));
}

/// The classifier has a device of its own, beside at least one for the features.
void validate_hybrid(const RunConfig& c) {
  if (!has_features(c)) {
    throw UsageError(
        fmt::format("--mode hybrid separates a model's features from its classifier, "
                    "but -a {} has no such parts; fix: use -a vgg16, vgg16_bn or "
                    "alexnet",
                    c.model.arch));
  }
  const size_t devices = devices_of(c).size();
  if (devices >= 2) return;
  throw UsageError(fmt::format(
      "--mode hybrid needs a device for the classifier and at least one for "
      "the features, but there {} only {}; fix: add --devices 4",
      devices == 1 ? "is" : "are", devices));
}

}  // namespace

void validate_flags_of_modes(const RunConfig& c) {
  const Mode mode = mode_of(c);
  require_read(c, readers(), "--mode", mode, train::name);
  validate_shared(c);
  if (mode == Mode::ps) validate_ps(c);
  if (mode == Mode::hybrid) validate_hybrid(c);
}

}  // namespace lockstep::run
