#include "cli/image_folders.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <mutex>
#include <set>

#include "cli/commands.h"
#include "engine/data/generated.h"
#include "engine/data/image_folder.h"

namespace lockstep::cli {
namespace {

constexpr size_t kNamedFiles = 20;

/// What was skipped in this process.
struct Skipped {
  std::mutex mutex;
  int64_t count = 0;
  std::set<std::string> named;  ///< files that were said
};

Skipped& skipped() {
  static Skipped all;
  return all;
}

void skip(const std::string& why) {
  Skipped& all = skipped();
  std::lock_guard lock(all.mutex);
  ++all.count;
  if (all.named.size() > kNamedFiles || !all.named.insert(why).second) return;
  if (all.named.size() > kNamedFiles) {
    std::fputs("lockstep: further bad images are skipped without a word\n", stderr);
    return;
  }
  std::fprintf(stderr, "lockstep: skipped %s\n", why.c_str());
}

}  // namespace

DataSets open_image_folders(const RunOptions& o) {
  if (o.dir.empty()) {
    throw UsageError("--dataset imagefolder: name the folder with train/ and val/");
  }
  const std::filesystem::path folder = o.dir;
  for (const char* part : {"train", "val"}) {
    if (std::filesystem::is_directory(folder / part)) continue;
    throw std::runtime_error(
        fmt::format("{}: no such folder; image folders are {}/train/<class>/* and "
                    "{}/val/<class>/*",
                    (folder / part).string(), o.dir, o.dir));
  }
  data::ImageFolderOptions options;
  if (o.image_size > 0) options.size = o.image_size;
  if (o.classes > 0) options.classes = o.classes;
  options.augment = !o.no_augment;
  DataSets sets{"imagefolder", o.dir, nullptr, nullptr};
  const auto train = std::make_shared<data::ImageFolder>(folder / "train", options);
  const bool generated = data::is_generated(folder);
  if (generated) sets.name = "generated";
  sets.classes =
      fmt::format("{} of {} classes; the model has {} outputs", generated ? "," : "",
                  train->class_names().size(), train->classes());
  options.augment = false;
  sets.train = train;
  sets.test = std::make_shared<data::ImageFolder>(folder / "val", options,
                                                  train->class_names());
  return sets;
}

std::function<void(const std::string&)> on_bad_image(const RunOptions& o) {
  if (o.on_bad_image != "skip") return {};
  return skip;
}

int64_t skipped_images() {
  std::lock_guard lock(skipped().mutex);
  return skipped().count;
}

}  // namespace lockstep::cli
