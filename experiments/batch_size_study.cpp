// `lockstep experiment batch-size`: small and large batches, equal numbers of epochs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "engine/data/cifar10.h"
#include "engine/data/generated.h"
#include "experiments/batch_size.h"
#include "experiments/studies.h"
#include "run/environment.h"
#include "run/words.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/trace.h"

namespace lockstep::experiments {
namespace fs = std::filesystem;
namespace {

/// Returns the data set given, or the one in ./data or ~/data; otherwise a generated
/// one in `out`.
std::string find_set(const BatchSizeStudy& o) {
  const std::string& named = o.common.data;
  const auto found =
      data::find_cifar10(named.empty() ? std::nullopt : std::optional(named));
  if (found) return found->string();
  if (!named.empty()) {
    throw std::runtime_error("--data " + named +
                             ": does not contain CIFAR-10's binary version, as "
                             "`data fetch` and `data make` write it");
  }
  const std::string folder =
      o.common.out + fmt::format("/generated-{}/cifar-10-batches-bin", o.length);
  if (!data::is_generated(folder)) {
    fmt::print("CIFAR-10 is not in ./data or ~/data; using a generated data set: {}\n",
               folder);
    data::generate_cifar10(folder, o.length, std::max<int64_t>(1, o.length / 5), 0);
  }
  return folder;
}

std::vector<std::string> words_for_all(const BatchSizeStudy& o) {
  const StudyOptions& c = o.common;
  std::vector<std::string> words{"-p", "1", "--workers", "2"};
  const auto seed = seed_words(c);
  words.insert(words.end(), seed.begin(), seed.end());
  // At 32 pixels, ImageNet's stem reduces the work of a net to a sixteenth.
  if (c.arch.starts_with("resnet"))
    words.insert(words.end(), {"--stem", std::string(run::word(o.stem))});
  if (!o.augment) words.push_back("--no-augment");
  if (c.device_type != DeviceType::cpu) {
    words.insert(words.end(), {"--device-type", std::string(run::word(c.device_type))});
  }
  if (c.threads_per_device > 0) {
    words.insert(words.end(),
                 {"--threads-per-device", fmt::to_string(c.threads_per_device)});
  }
  words.insert(words.end(), c.more.begin(), c.more.end());
  return words;
}

}  // namespace

int run_batch_size(const BatchSizeStudy& o) {
  if (o.batches.size() < 2 || !std::is_sorted(o.batches.begin(), o.batches.end())) {
    throw run::UsageError("--batches requires at least two sizes in ascending order");
  }
  if (o.warmup_epochs >= o.common.epochs) {
    throw run::UsageError(
        fmt::format("--warmup-epochs {}: must be less than --epochs {}",
                    o.warmup_epochs, o.common.epochs));
  }
  check_folders(o.common);
  const std::string folder = find_set(o);
  const int64_t pictures = data::Cifar10(folder, data::Split::train, false).size();
  const BatchSizeRuns plan{o.common.arch,   o.batches,       o.lr,
                           o.common.epochs, o.warmup_epochs, folder,
                           words_for_all(o)};
  std::vector<BatchSizeResult> results;
  for (const auto& run : batch_size_runs(plan)) {
    LoggedRun one{run.name, run.words};
    const std::string trace = o.common.out + "/" + run.name + ".trace.json.gz";
    if (o.common.device_type == DeviceType::cpu) {
      one.words.insert(one.words.end(), {"--trace", trace, "--trace-steps", "1:3"});
    }
    int code = 0;
    const auto log = run_or_read(o.common, one, code);
    if (!log) return code;
    results.push_back({run, *log, pictures % run.batch != 0, {}});
    if (!fs::exists(trace)) continue;
    results.back().measured =
        step_shares(tracer::summarize(tracer::read_trace(trace)).train);
  }
  const bool generated = data::is_generated(folder);
  const auto seed = seed_words(o.common);
  StudyOptions machine = o.common;
  machine.devices = 1;
  Findings findings;
  findings.rows = batch_size_rows(results);
  findings.notes = {
      fmt::format("{} on {} ({} training images{}), {} epochs each, {}; {}",
                  o.common.arch, generated ? "a generated data set" : "CIFAR-10",
                  pictures, generated ? "" : " of the full set's 50000",
                  o.common.epochs, o.augment ? "cropped and flipped" : "not augmented",
                  machine_note(machine)),
      fmt::format("--lr {:g} is meant for batches of 256; constant: the corresponding "
                  "rate for batches of {} is used for all; scaled: proportional to the "
                  "batch size; warm-up: {} epoch{}; then half a cosine",
                  o.lr, o.batches.front(), o.warmup_epochs,
                  o.warmup_epochs == 1 ? "" : "s"),
      "train: measured over the batches of the last epoch, while the weights still "
      "changed; gap: train minus test; behind: test accuracy lost relative to the "
      "first row",
      "s/iteration: the mean over all iterations except the first of each run and "
      "those "
      "with a smaller batch; least and most: the shortest and the longest of them; "
      "forward, backward: their shares of what the second and third steps waited for",
      fmt::format("one run each, {}: differences of one or two points are within the "
                  "noise",
                  seed.empty() ? "each with a seed of its own" : "seed " + seed[1])};
  if (generated) {
    findings.notes.push_back(
        "accuracies on generated images say nothing about CIFAR-10");
  }
  findings.json = batch_size_json(results, findings.notes);
  findings.plot = batch_size_plot(
      results, fmt::format("{} on {}, batches of {}, {} epochs", o.common.arch,
                           generated ? "a generated data set" : "CIFAR-10",
                           fmt::join(o.batches, ", "), o.common.epochs));
  return report(o.common, findings);
}

}  // namespace lockstep::experiments
