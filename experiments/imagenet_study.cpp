// `lockstep experiment imagenet-table`: the seed's six runs and their table.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/container.h"
#include "engine/data/generated.h"
#include "engine/data/image_folder.h"
#include "engine/plan/chunk.h"
#include "experiments/imagenet.h"
#include "experiments/studies.h"
#include "run/environment.h"
#include "run/launch.h"
#include "run/words.h"
#include "tracer/analysis/summary.h"
#include "tracer/emulate/emulate.h"

namespace lockstep::experiments {
namespace fs = std::filesystem;
namespace {

/// On CPUs the images are 32 pixels wide by default: this is 1/49 of the work at 224,
/// so that the whole table takes only minutes.
int64_t image_size(const ImageNetStudy& o) {
  if (o.image_size > 0) return o.image_size;
  return o.common.device_type == DeviceType::cpu ? 32 : 224;
}

bool is_emulated(const ImageNetStudy& o) {
  return o.common.device_type == DeviceType::emulated;
}

/// Returns the given data set, or a generated one in `out`, created if it is missing.
/// Emulated devices do not look at their images, which are then made in memory: none.
std::string find_pictures(const ImageNetStudy& o) {
  if (!o.common.data.empty() || is_emulated(o)) return o.common.data;
  data::GeneratedFolders set;
  set.train = o.length;
  set.test = std::max<int64_t>(set.classes, o.length / 8);
  set.height = image_size(o) * 256 / 224;
  set.width = set.height * 4 / 3;  // the aspect ratio of a photograph
  const fs::path folder =
      fs::path(o.common.out) /
      fmt::format("pictures-{}x{}-{}", set.width, set.height, o.length);
  if (!data::is_generated(folder)) {
    fmt::print("generating {} images of {} x {} pixels: {}\n", set.train + set.test,
               set.width, set.height, folder.string());
    data::generate_image_folders(folder, set);
  }
  return folder.string();
}

/// Returns the arguments that all runs share, including those that set the seed.
std::vector<std::string> words_for_all(const ImageNetStudy& o) {
  const StudyOptions& c = o.common;
  std::vector<std::string> words{"--epochs",     fmt::to_string(c.epochs),
                                 "--image-size", fmt::to_string(image_size(o)),
                                 "-p",           "1"};
  const auto seed = seed_words(c);
  words.insert(words.end(), seed.begin(), seed.end());
  const auto add = [&words](const char* flag, const std::string& value) {
    words.insert(words.end(), {flag, value});
  };
  if (c.arch.starts_with("resnet")) add("--stem", "imagenet");
  if (c.device_type != DeviceType::cpu)
    add("--device-type", std::string(run::word(c.device_type)));
  if (is_emulated(o)) add("--hardware", c.hardware);
  if (is_emulated(o) && c.data.empty()) {
    words.insert(words.end(), {"--dataset", "generated", "--classes", "1000",
                               "--length", fmt::to_string(o.length)});
  }
  if (c.threads_per_device > 0) {
    add("--threads-per-device", fmt::to_string(c.threads_per_device));
  }
  if (o.steps > 0) add("--steps", fmt::to_string(o.steps));
  words.insert(words.end(), c.more.begin(), c.more.end());
  return words;
}

/// Return the number of all and of the counted iterations of a run (experiments/log.h).
int64_t iterations(const ImageNetStudy& o, int64_t pictures, int64_t batch) {
  const int64_t all = (pictures + batch - 1) / batch * o.common.epochs;
  return o.steps > 0 ? std::min(all, o.steps) : all;
}
int64_t counted(const ImageNetStudy& o, int64_t pictures, int64_t batch) {
  const int64_t in_epoch = (pictures + batch - 1) / batch;
  const int64_t all = iterations(o, pictures, batch);
  return all - 1 - (pictures % batch == 0 || in_epoch == 1 ? 0 : all / in_epoch);
}

/// Refuses batches that a device could not train on, before the first run. A batch norm
/// of one value per channel has no variance: with images of at most 32 pixels, the last
/// maps have one pixel.
void require_enough_for_each_device(const ImageNetStudy& o, const ImageNetRun& run) {
  const bool normalizes =
      o.common.arch.starts_with("resnet") || o.common.arch.ends_with("_bn");
  const int64_t least = normalizes && image_size(o) <= 32 ? 2 : 1;
  const int64_t devices = run.on_several ? o.common.devices : 1;
  if (run.batch >= devices && plan::chunk_sizes(run.batch, devices).back() >= least) {
    return;
  }
  throw run::UsageError(fmt::format(
      "--divide-batches {}: {} would leave a device with fewer than {} of {} "
      "images; fix: divide by less",
      o.divide_batches, run.name, least, run.batch));
}

/// Returns two iterations for the emulator, from the middle of the first epoch, when
/// the loader's workers have filled their queue and no longer compete for the cores; if
/// the epoch has only one or two iterations, the run's second and third.
std::string traced_steps(const ImageNetStudy& o, int64_t pictures, int64_t batch) {
  const int64_t all = iterations(o, pictures, batch);
  const int64_t whole = std::min(all, pictures / batch);
  if (whole < 3) return fmt::format("1:{}", std::min<int64_t>(3, all));
  return fmt::format("{}:{}", whole / 2, whole / 2 + 2);
}

std::string trace_of(const ImageNetStudy& o, const std::string& name) {
  return o.common.out + "/" + name + ".trace.json.gz";
}

/// Adds what the run's trace says, if there is one: the emulator's seconds per
/// iteration, and the shares of forward and backward as measured.
void add_traced(const std::string& file, ImageNetResult& result) {
  if (!fs::exists(file)) return;
  const tracer::Trace trace = tracer::read_trace(file);
  result.measured = step_shares(tracer::summarize(trace).train);
  const auto summary = tracer::summarize(tracer::emulate(trace));
  if (summary.train.steps.empty()) return;
  result.emulated = static_cast<double>(summary.train.mean_length()) / 1e9;
}

std::vector<std::string> notes(const ImageNetStudy& o, const std::string& data,
                               int64_t pictures, bool any_emulated) {
  const StudyOptions& c = o.common;
  const auto cores = visible_cores();
  std::vector<std::string> notes{
      fmt::format("{} on {} ({} training images{}), {} pixels, {} epoch{}{}; {}",
                  c.arch, data.empty() ? "images made in memory" : data, pictures,
                  !data.empty() && data::is_generated(data) ? ", generated" : "",
                  image_size(o), c.epochs, c.epochs == 1 ? "" : "s",
                  o.steps > 0 ? fmt::format(", at most {} iterations", o.steps) : "",
                  machine_note(c)),
      "s/iteration is the mean over all iterations except the first of each run and "
      "those with a smaller batch; least and most are the shortest and the longest of "
      "them; speed-ups compare images per second with the first row",
      "forward, backward: their shares of what the recorded steps waited for, with "
      "their copies; only these can be shared among devices"};
  if (c.device_type == DeviceType::cpu && c.threads_per_device == 1 &&
      c.devices > cores) {
    notes.push_back(
        fmt::format("one device is 1 core and {} devices share {}: no speed-up above "
                    "{}.0x can be measured here",
                    c.devices, cores, cores));
  } else if (c.device_type == DeviceType::cpu && c.threads_per_device == 0) {
    notes.push_back(
        "one device uses all cores and several devices share them: the total number of "
        "threads is the same, so no speed-up can be expected");
  }
  if (is_emulated(o)) {
    notes.push_back(fmt::format(
        "no device computes: each takes the published times of {} (the first lines of "
        "every log say whose), so losses and accuracies are unknown; host, loader and "
        "launches are this machine's; ranks of DDP are threads; 2 loader workers each",
        c.hardware));
    if (cores <= c.devices) {
      notes.push_back(fmt::format(
          "ranks of DDP, their loaders and their launches share {} core{} here, where "
          "{} processes would have cores of their own: DDP's rows are too long, the "
          "more so beside other programs",
          cores, cores == 1 ? "" : "s", c.devices));
    }
  }
  if (any_emulated) {
    notes.push_back(
        "emulated: the recorded steps on devices that each have their own hardware: " +
        tracer::assumptions({}));
  }
  notes.push_back(
      "original study: ResNet50 on ImageNet (1281167 images, 224 pixels) on 4 GPUs "
      "with PyTorch: batch 256, 0.742 s on one GPU, 0.378 s with DataParallel = "
      "1.963x");
  if (!data.empty() && data::is_generated(data)) {
    notes.push_back("accuracies on generated images say nothing about ImageNet");
  }
  return notes;
}

/// Emulated devices know no accuracy: no run reaches its evaluation.
ImageNetStudy with_enough_images(ImageNetStudy o) {
  constexpr int64_t kLargestBatch = 1024;
  if (o.steps == 0) o.steps = ImageNetStudy::kEmulatedSteps;
  o.length = std::max(o.length, o.steps * kLargestBatch / o.divide_batches);
  return o;
}

}  // namespace

int run_imagenet_table(const ImageNetStudy& given) {
  check_folders(given.common);
  const ImageNetStudy o = is_emulated(given) ? with_enough_images(given) : given;
  const std::string data = find_pictures(o);
  const int64_t pictures =
      data.empty() ? o.length : data::FolderIndex(fs::path(data) / "train").size();
  const ImageNetRuns words{o.common.arch,    data,
                           o.divide_batches, run::free_port(),
                           words_for_all(o), is_emulated(o)};
  const auto runs = imagenet_runs(words);
  for (const auto& run : runs) {
    require_enough_for_each_device(o, run);
    if (counted(o, pictures, run.batch) >= 1) continue;
    throw run::UsageError(
        fmt::format("{}: {} images in batches of {} give too few iterations (the first "
                    "one and those with a smaller batch are not counted); fix: use "
                    "more images, --epochs 3 or --divide-batches 16",
                    run.name, pictures, run.batch));
  }
  std::vector<ImageNetResult> results;
  bool any_emulated = false;
  for (ImageNetRun run : runs) {
    LoggedRun one{run.name, run.words};
    if (o.common.device_type == DeviceType::cpu) {
      one.words.insert(one.words.end(),
                       {"--trace", trace_of(o, run.name), "--trace-steps",
                        traced_steps(o, pictures, run.batch)});
    }
    if (run.on_several) {
      one.words.insert(one.words.end(),
                       {"--devices", fmt::to_string(o.common.devices)});
      run.how += fmt::format(", {}", o.common.devices);
    }
    int code = 0;
    const auto log = run_or_read(o.common, one, code);
    if (!log) return code;
    results.push_back(
        {run, *log, pictures % run.batch != 0 && pictures > run.batch, {}, {}});
    add_traced(trace_of(o, run.name), results.back());
    any_emulated = any_emulated || results.back().emulated;
  }
  Findings findings;
  findings.rows = imagenet_rows(results);
  findings.notes = notes(o, data, pictures, any_emulated);
  findings.json = imagenet_json(results, findings.notes);
  findings.plot =
      imagenet_plot(results, fmt::format("{} at {} pixels; {}", o.common.arch,
                                         image_size(o), machine_note(o.common)));
  return report(o.common, findings);
}

}  // namespace lockstep::experiments
