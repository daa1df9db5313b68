#include "run/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "run/recipe.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;

/// A checkpoint, and how far the training was.
struct Found {
  std::string file;
  train::Progress progress;
};

Found found_at(const fs::path& file) {
  return {file.string(), train::read_progress(file.string())};
}

/// Same, for a file that nobody has named. A damaged one ends the run: to begin again
/// would replace what may still be restored.
Found found_in(const fs::path& folder, const std::string& name) {
  try {
    return found_at(folder / name);
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    const char* other =
        name == train::kBestFile ? train::kNewestFile : train::kBestFile;
    throw std::runtime_error(
        fmt::format("{}; fix: restore the file, or remove it: --resume auto then {}",
                    text.substr(0, text.find("; fix: ")),
                    fs::exists(folder / other) ? fmt::format("continues from {}", other)
                                               : "starts from the beginning"));
  }
}

/// Returns the newest checkpoint of a folder. A run that is killed while it writes the
/// checkpoints of an epoch may leave the best one newer than the newest.
std::optional<Found> newest_in(const fs::path& folder) {
  std::optional<Found> newest;
  for (const char* name : {train::kNewestFile, train::kBestFile}) {
    if (!fs::exists(folder / name)) continue;
    const Found found = found_in(folder, name);
    if (!newest || newest->progress.before(found.progress)) newest = found;
  }
  return newest;
}

std::string position_text(int epoch, int64_t samples) {
  return samples == 0 ? fmt::format("epoch {}", epoch)
                      : fmt::format("epoch {}, after {} samples", epoch, samples);
}

void refuse_to_look(const RunConfig& c) {
  if (c.checkpoint.folder.empty()) {
    throw UsageError(
        "--resume auto looks for a checkpoint in the folder of --checkpoint; fix: add "
        "--checkpoint DIR");
  }
}

}  // namespace

void choose_checkpoint(RunConfig& c) {
  CheckpointConfig& checkpoint = c.checkpoint;
  const bool automatic = checkpoint.resume == kResumeAuto;
  const bool restarted = c.environment.number(variable::kRestart, 0) > 0;
  if (automatic) refuse_to_look(c);
  if (!automatic && (!restarted || checkpoint.folder.empty() || c.evaluate)) return;
  if (automatic) checkpoint.resume.clear();
  checkpoint.looked = true;

  const std::optional<Found> newest = newest_in(checkpoint.folder);
  if (!newest) {
    if (!c.evaluate) return;
    throw UsageError(fmt::format(
        "--evaluate --resume auto: there is no checkpoint in {}", checkpoint.folder));
  }
  int64_t begun_at = 0;  // steps made before the first of the runs
  if (!checkpoint.resume.empty()) {
    const train::Progress given = train::read_progress(checkpoint.resume);
    std::error_code none;
    if (c.steps >= 0 && fs::equivalent(checkpoint.resume, newest->file, none)) {
      throw UsageError(fmt::format(
          "--resume {}: this run has replaced the file since it began, so how many of "
          "its --steps are left is unknown; fix: use --resume auto, which counts all",
          checkpoint.resume));
    }
    if (!given.before(newest->progress)) return;
    begun_at = given.steps;
  }
  checkpoint.resume = newest->file;
  c.model.pretrained.clear();
  if (c.steps < 0) return;
  c.steps = std::max<int64_t>(0, c.steps - (newest->progress.steps - begun_at));
}

void require_no_newer_checkpoint(const RunConfig& c) {
  const fs::path folder = c.checkpoint.folder;
  if (c.checkpoint.folder.empty() || c.evaluate) return;
  for (const char* name : {train::kNewestFile, train::kBestFile}) {
    std::error_code none;
    if (!fs::exists(folder / name, none)) continue;
    train::Progress kept, start;
    try {
      kept = train::read_progress((folder / name).string());
    } catch (const std::runtime_error&) {
      continue;  // a damaged file may be replaced
    }
    start.epoch = c.recipe.start_epoch;
    start.samples = c.checkpoint.start_samples;
    if (!start.before(kept)) return;
    throw UsageError(
        fmt::format("--checkpoint {}: contains the checkpoint of {}, which this run, "
                    "beginning at {}, would replace by an older one; fix: continue it "
                    "with --resume auto, or choose another folder",
                    folder.string(), position_text(kept.epoch, kept.samples),
                    position_text(start.epoch, start.samples)));
  }
}

train::Progress resume(const RunConfig& c, train::Trainer& trainer,
                       const RankPlace& place) {
  train::Progress progress;
  const CheckpointConfig& checkpoint = c.checkpoint;
  const char* file = checkpoint.resume.c_str();
  const bool says = place.main() && !c.output.quiet;
  if (says && checkpoint.looked && checkpoint.resume.empty()) {
    fmt::print("=> no checkpoint in {}: training starts from the beginning\n",
               checkpoint.folder);
  }
  if (!checkpoint.resume.empty()) {
    if (says) std::printf("=> loading checkpoint '%s'\n", file);
    progress = train::load_checkpoint(file, trainer);
    if (progress.epoch != c.recipe.start_epoch ||
        progress.samples != checkpoint.start_samples) {
      throw std::runtime_error(fmt::format(
          "{}: was replaced while this run started; fix: start it again", file));
    }
    if (says) {
      fmt::print("=> loaded checkpoint '{}' ({})\n", file,
                 position_text(progress.epoch, progress.samples));
    }
    const std::string& changed = checkpoint.changed_recipe;
    if (says && !changed.empty()) {
      std::printf("=> options that differ from the checkpoint: %s\n", changed.c_str());
    }
    if (says && !c.evaluate && progress.epoch >= c.recipe.epochs) {
      std::printf("=> all %d epochs are done; use --epochs N to continue\n",
                  c.recipe.epochs);
    } else if (says && !c.evaluate && c.steps == 0) {
      std::puts("=> all steps are done; use --steps N to continue");
    }
  }
  progress.arch = c.model.arch;
  progress.recipe = recipe_of(c);
  return progress;
}

bool resumes_within_epochs(const RunConfig& c) {
  const train::Mode mode = mode_of(c);
  return !train::shares_memory(mode) && mode != train::Mode::ps;
}

int64_t first_batch(const RunConfig& c, const DataSets& data, const RankPlace& place) {
  const int64_t samples = c.checkpoint.start_samples;
  if (samples == 0) return 0;
  const std::string& file = c.checkpoint.resume;
  if (!resumes_within_epochs(c)) {
    throw std::runtime_error(fmt::format(
        "{}: was written in the middle of an epoch, and with --mode {} each rank is at "
        "another batch; fix: resume it in the mode of its run, or use a checkpoint of "
        "the end of an epoch",
        file, train::name(mode_of(c))));
  }
  const int64_t batch = global_batch(c, place);
  const int64_t whole = images_per_epoch(c, data, place);
  if (samples >= whole) return (whole + batch - 1) / batch;
  if (samples % batch == 0) return samples / batch;
  throw std::runtime_error(fmt::format(
      "{}: was written in the middle of an epoch, after {} samples, where no batch of "
      "{} begins; fix: resume it with the batch size and the number of ranks of its "
      "run, or use a checkpoint of the end of an epoch",
      file, samples, batch));
}

}  // namespace lockstep::run
