#include "run/data_sets.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/program.h"
#include "engine/backends/backend.h"
#include "engine/data/cifar10.h"
#include "engine/data/generated.h"
#include "engine/data/image_folder.h"
#include "engine/data/rank_sampler.h"
#include "engine/data/sparse.h"
#include "engine/plan/launch_arithmetic.h"
#include "engine/runtime/pinned_memory.h"
#include "run/environment.h"
#include "run/printable.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;

/// Throws UsageError for options that this kind of data would ignore.
void refuse_unread(const char* what,
                   std::initializer_list<std::pair<const char*, int64_t>> unread) {
  for (const auto& [flag, value] : unread) {
    if (value == 0) continue;
    throw UsageError(fmt::format("{} has no effect on {}; fix: omit it", flag, what));
  }
}

DataSets open_random(const RunConfig& c) {
  refuse_unread("random samples",
                {{"--image-size", c.data.image_size},
                 {"--classes", c.data.classes},
                 {"--normalize-on-device", c.data.normalize_on_device}});
  const int64_t length = c.data.length > 0 ? c.data.length : 100;
  auto samples = std::make_shared<data::RandomDataset>(length, 5, c.recipe.seed);
  return {"random", "random samples", samples, samples};
}

DataSets open_generated(const RunConfig& c) {
  const int64_t size = c.data.image_size > 0 ? c.data.image_size : 32;
  const int64_t classes = c.data.classes > 0 ? c.data.classes : 10;
  const int64_t length = c.data.length > 0 ? c.data.length : 5000;
  const uint64_t seed = c.recipe.seed;
  const std::vector<int64_t> shape{3, size, size};
  DataSets sets{"generated", "images generated on the fly", nullptr, nullptr};
  sets.train = std::make_shared<data::Generated>(shape, classes, length, seed);
  sets.test = std::make_shared<data::Generated>(
      shape, classes, std::max<int64_t>(1, length / 5), seed + 1);
  return sets;
}

DataSets open_sparse(const RunConfig& c) {
  refuse_unread("sparse samples",
                {{"--image-size", c.data.image_size},
                 {"--classes", c.data.classes},
                 {"--normalize-on-device", c.data.normalize_on_device}});
  data::SparseShape shape;
  if (c.data.features > 0) shape.features = c.data.features;
  if (c.data.nonzeros > 0) shape.nonzeros = c.data.nonzeros;
  if (shape.nonzeros > shape.features) {
    throw UsageError(
        fmt::format("--nonzeros {}: a sample has only {} features; fix: increase "
                    "--features",
                    shape.nonzeros, shape.features));
  }
  const int64_t length = c.data.length > 0 ? c.data.length : 5000;
  const uint64_t seed = c.recipe.seed;
  DataSets sets{"sparse",
                fmt::format("vectors of {} features, {} of them not 0 ({:.3g} %)",
                            shape.features, shape.nonzeros,
                            100.0 * double(shape.nonzeros) / double(shape.features)),
                nullptr, nullptr};
  sets.train = std::make_shared<data::SparseLogistic>(shape, length, seed);
  sets.test = std::make_shared<data::SparseLogistic>(
      shape, std::max<int64_t>(1, length / 5), seed, length);
  return sets;
}

bool has_both_parts(const fs::path& folder) {
  std::error_code none;
  return fs::is_directory(folder / "train", none) &&
         fs::is_directory(folder / "val", none);
}

/// Returns the folder one level above or below that contains train/ and val/, or "".
fs::path one_level_off(const fs::path& folder) {
  std::error_code none;
  if (!fs::is_directory(folder, none)) return {};
  const fs::path above = fs::absolute(folder / "").lexically_normal().parent_path();
  if (has_both_parts(above.parent_path())) return above.parent_path();
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (has_both_parts(entry.path())) return entry.path();
  }
  return {};
}

/// Throws an error stating what the folder lacks to be CIFAR-10 or image folders.
[[noreturn]] void refuse_folder(const DataConfig& c) {
  const fs::path other =
      c.kind == DataKind::cifar10 ? fs::path() : one_level_off(c.dir);
  if (!other.empty()) {
    throw std::runtime_error(
        fmt::format("{0}: contains no train/ and val/, but {1} does; fix: train {1}",
                    c.dir, other.string()));
  }
  if (fs::is_directory(c.dir) && c.kind != DataKind::cifar10) {
    throw std::runtime_error(fmt::format(
        "{0}: contains no {1}train/ (image folders: {0}/train/<class>/* and "
        "{0}/val/<class>/*) and no CIFAR-10 (data_batch_1.bin, …); fix: use the folder "
        "that contains them, or download CIFAR-10 with `{2} data fetch`",
        c.dir, fs::is_directory(c.dir + "/val") ? "folder beside val/ named " : "",
        program()));
  }
  data::Cifar10(c.dir, data::Split::train, false);  // reports what is missing
  throw std::logic_error(c.dir + " contains CIFAR-10");
}

DataSets open_cifar10(const DataConfig& c) {
  const auto folder =
      data::find_cifar10(c.dir.empty() ? std::nullopt : std::optional(c.dir));
  if (!folder && !c.dir.empty()) refuse_folder(c);
  refuse_unread("CIFAR-10, which has 10 classes, 32 pixels and its own length",
                {{"--image-size", c.image_size},
                 {"--classes", c.classes},
                 {"--length", c.length}});
  if (!folder) {
    throw std::runtime_error(
        "CIFAR-10 was not found in ./data or ~/data; fix: specify its folder (train "
        "DIR), download it (" +
        program() + " data fetch), or use --dataset generated");
  }
  const bool generated = data::is_generated(*folder);
  DataSets sets{generated ? "generated" : "cifar10", folder->string(), nullptr,
                nullptr};
  sets.train =
      std::make_shared<data::Cifar10>(*folder, data::Split::train, !c.no_augment);
  sets.test = std::make_shared<data::Cifar10>(*folder, data::Split::test, false);
  return sets;
}

/// Returns how many images of formats that torchvision reads were not listed, and why;
/// empty if there are none.
std::string describe_left_out(std::initializer_list<const data::FolderIndex*> parts) {
  std::map<std::string, int64_t> by_ending;
  int64_t files = 0;
  for (const data::FolderIndex* part : parts) {
    for (const auto& [ending, count] : part->left_out()) {
      by_ending[ending] += count;
      files += count;
    }
  }
  std::string kinds;
  for (const auto& [ending, count] : by_ending) {
    kinds += fmt::format("{}{} .{}", kinds.empty() ? "" : ", ", count, ending);
  }
  if (files == 0) return "";
  return fmt::format(
      "{} file{} ({}): only .jpeg, .jpg and .png are read; fix: convert them", files,
      files == 1 ? "" : "s", kinds);
}

DataSets open_image_folders(const DataConfig& c) {
  if (c.dir.empty()) {
    throw UsageError(
        "--dataset imagefolder requires a folder (DIR) with train/ and val/");
  }
  refuse_unread("image folders", {{"--length", c.length}});
  const fs::path folder = c.dir;
  for (const char* part : {"train", "val"}) {
    if (fs::is_directory(folder / part)) continue;
    const bool neither = std::string_view(part) == "train";
    if (neither && !one_level_off(folder).empty()) refuse_folder(c);
    throw std::runtime_error(fmt::format(
        "{}: no such folder; expected {}/train/<class>/* and {}/val/<class>/*",
        (folder / part).string(), c.dir, c.dir));
  }
  data::ImageFolderOptions options;
  if (c.image_size > 0) options.size = c.image_size;
  if (c.classes > 0) options.classes = c.classes;
  options.augment = !c.no_augment;
  DataSets sets{"imagefolder", c.dir, nullptr, nullptr};
  const auto train = std::make_shared<data::ImageFolder>(folder / "train", options);
  const bool generated = data::is_generated(folder);
  if (generated) sets.name = "generated";
  sets.classes =
      fmt::format("{} of {} classes; the model has {} outputs", generated ? "," : "",
                  train->class_names().size(), train->classes());
  options.augment = false;
  sets.train = train;
  const auto test = std::make_shared<data::ImageFolder>(folder / "val", options,
                                                        train->class_names());
  sets.test = test;
  sets.left_out = describe_left_out({&train->index(), &test->index()});
  for (const std::string& name : train->class_names()) {
    if (name.starts_with('.'))
      sets.hidden_classes += (sets.hidden_classes.empty() ? "" : ", ") + name;
  }
  return sets;
}

DataKind kind_of(const RunConfig& c) {
  if (c.data.kind) return *c.data.kind;
  if (is_toy(c)) return DataKind::random;
  if (is_sparse(c)) return DataKind::sparse;
  const bool folders = !c.data.dir.empty() && fs::is_directory(c.data.dir + "/train");
  return folders ? DataKind::image_folder : DataKind::cifar10;
}

constexpr size_t kNamedFiles = 20;

/// Counts the images skipped in this process.
struct Skipped {
  std::mutex mutex;
  int64_t count = 0;
  std::set<std::string> named;  ///< files already reported
};

Skipped& skipped() {
  static Skipped all;
  return all;
}

/// Counts a skipped image, and reports each file once (at most kNamedFiles files).
/// Thread-safe: ranks may be threads.
void skip(const std::string& why) {
  Skipped& all = skipped();
  std::lock_guard lock(all.mutex);
  ++all.count;
  if (all.named.size() > kNamedFiles || !all.named.insert(why).second) return;
  if (all.named.size() > kNamedFiles) {
    std::fputs("lockstep: further bad images are skipped without a message\n", stderr);
    return;
  }
  std::fprintf(stderr, "lockstep: skipped %s\n", printable(why).c_str());
}

/// Returns pinned memory for GPUs, which copy from it without a buffer.
std::pmr::memory_resource* memory_of_batches(const RunConfig& c) {
  runtime::PinnedMemory* pinned = nullptr;
  if (c.device.type == DeviceType::cuda) {
    pinned = backend_of(DeviceType::cuda).driver()->pinned_memory();
  }
  return pinned ? pinned : std::pmr::new_delete_resource();
}

data::LoaderOptions loader_options(const RunConfig& c, const RankPlace& place) {
  data::LoaderOptions loader;
  loader.batch_size = rank_batch(c, place);
  loader.workers = plan::per_process_workers(c.data.workers, place.local_world);
  loader.seed = c.recipe.seed;
  loader.timeout = c.data.loader_timeout;
  loader.memory = memory_of_batches(c);
  loader.as_bytes = c.data.normalize_on_device;
  if (c.data.on_bad_image == OnBadImage::skip) loader.on_bad_sample = skip;
  return loader;
}

/// Returns whether every rank visits all samples in an epoch, in an order of its own.
bool visits_all(const RunConfig& c, const RankPlace& place) {
  return place.group && train::shares_memory(mode_of(c)) &&
         c.shared.partition == Partition::all;
}

}  // namespace

DataSets open_data(const RunConfig& c) {
  switch (kind_of(c)) {
    case DataKind::random:
      return open_random(c);
    case DataKind::generated:
      return open_generated(c);
    case DataKind::sparse:
      return open_sparse(c);
    case DataKind::image_folder:
      return open_image_folders(c.data);
    default:
      return open_cifar10(c.data);
  }
}

void require_fitting_data(const RunConfig& c, const DataSets& data) {
  for (const auto& [arch, dataset] :
       {std::pair{"toy", "random"}, std::pair{"sparse", "sparse"}}) {
    if ((c.model.arch == arch) == (data.name == dataset)) continue;
    throw UsageError(c.model.arch == arch
                         ? fmt::format("-a {} requires --dataset {}", arch, dataset)
                         : fmt::format("--dataset {} requires -a {}", dataset, arch));
  }
}

std::unique_ptr<data::DataLoader> train_loader(const RunConfig& c, const DataSets& data,
                                               const RankPlace& place) {
  data::LoaderOptions loader = loader_options(c, place);
  loader.shuffle = !c.data.no_shuffle;
  if (shares_batch(c, place)) {
    const int64_t length = data.train->size();
    const bool shuffle = !c.data.no_shuffle;
    loader.shuffle = false;
    if (!visits_all(c, place)) {
      loader.sampler = data::rank_sampler()(
          {length, place.rank, place.world, shuffle, c.recipe.seed});
    } else if (shuffle) {
      loader.sampler =
          std::make_shared<data::RandomSampler>(length, c.recipe.seed + place.rank);
    }
  }
  return std::make_unique<data::DataLoader>(data.train, loader);
}

int64_t images_per_epoch(const RunConfig& c, const DataSets& data,
                         const RankPlace& place) {
  return data.train->size() * (visits_all(c, place) ? place.world : 1);
}

TestLoaders test_loaders(const RunConfig& c, const DataSets& data,
                         const RankPlace& place) {
  data::LoaderOptions loader = loader_options(c, place);
  if (!shares_batch(c, place)) {
    return {std::make_unique<data::DataLoader>(data.test, loader), {}};
  }
  const auto share = data::rank_sampler()({.length = data.test->size(),
                                           .rank = place.rank,
                                           .world = place.world,
                                           .shuffle = false,
                                           .drop_last = true});
  loader.sampler = share;
  TestLoaders loaders{std::make_unique<data::DataLoader>(data.test, loader), {}};
  const int64_t shared = share->size() * place.world;
  if (shared < data.test->size()) {
    loader.sampler = std::make_shared<data::RangeSampler>(shared, data.test->size());
    loaders.rest = std::make_unique<data::DataLoader>(data.test, loader);
  }
  return loaders;
}

int64_t skipped_images() {
  std::lock_guard lock(skipped().mutex);
  return skipped().count;
}

}  // namespace lockstep::run
