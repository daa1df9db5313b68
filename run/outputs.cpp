#include "run/outputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/file.h"
#include "engine/data/cifar10.h"
#include "engine/data/image_folder.h"
#include "engine/train/checkpoint.h"
#include "run/resume.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;

/// A flag and the file that it makes the run write.
using Output = std::pair<std::string, fs::path>;

std::vector<Output> outputs_of(const RunConfig& c, bool main) {
  const OutputConfig& output = c.output;
  std::vector<Output> all{{"--trace", output.trace}};
  if (main) {
    all.emplace_back("--summary", output.summary);
    all.emplace_back("--save", output.save);
    all.emplace_back("--save-ema", output.save_ema);
  }
  std::erase_if(all, [](const Output& o) { return o.second.empty(); });
  return all;
}

/// Returns the files that the run reads, except images.
std::vector<fs::path> inputs_of(const RunConfig& c) {
  std::vector<fs::path> files{c.checkpoint.resume, c.model.pretrained};
  const auto folder =
      data::find_cifar10(c.data.dir.empty() ? std::nullopt : std::optional(c.data.dir));
  if (!folder) return files;
  for (const data::Split split : {data::Split::train, data::Split::test}) {
    for (const fs::path& path : data::cifar10_paths(*folder, split)) {
      files.push_back(path);
    }
  }
  return files;
}

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code none;
  return fs::is_regular_file(a, none) && fs::equivalent(a, b, none);
}

/// Returns whether `file` exists below `folder`.
bool is_inside(const fs::path& file, const fs::path& folder) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  const fs::path top = fs::canonical(folder, error) / "";
  return !error && fs::canonical(file, error).native().starts_with(top.native());
}

[[noreturn]] void refuse_to_replace(const Output& output, const char* what) {
  throw std::runtime_error(
      fmt::format("{} {}: {} and would be overwritten; fix: choose another file",
                  output.first, output.second.string(), what));
}

void require_not_an_input(const RunConfig& c, const Output& output) {
  for (const fs::path& input : inputs_of(c)) {
    if (is_same_file(output.second, input)) {
      refuse_to_replace(output, "is read by this run");
    }
  }
  if (c.data.dir.empty() || !data::has_image_folders(c.data.dir)) return;
  for (const char* part : {"train", "val"}) {
    if (is_inside(output.second, fs::path(c.data.dir) / part)) {
      refuse_to_replace(output, "is in the data set");
    }
  }
}

/// Two paths that do not exist yet are the same if they are equal as text.
void require_different(const std::vector<Output>& outputs) {
  std::error_code none;
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const fs::path &a = outputs[i].second, &b = outputs[j].second;
      const bool equal =
          fs::absolute(a).lexically_normal() == fs::absolute(b).lexically_normal();
      const bool is_new = equal && !fs::exists(a, none);
      if (!is_new && !is_same_file(a, b)) continue;
      throw std::runtime_error(
          fmt::format("{} and {} would both write {}; fix: choose different files",
                      outputs[j].first, outputs[i].first, a.string()));
    }
  }
}

/// Creates and removes a temporary file where `path` would be written.
void require_writable(const fs::path& path) {
  std::error_code none;
  const fs::path folder = path.parent_path();
  if (!folder.empty() && !fs::is_directory(folder, none)) {
    throw std::runtime_error(path.string() + ": no such folder: " + folder.string() +
                             "; fix: create it first");
  }
  if (fs::is_fifo(path, none)) return;  // opening it would wait for a reader
  AtomicFile{path};
}

/// The folder is created only when the training begins; until then, it is enough that
/// it can be.
void require_creatable(const fs::path& folder) {
  fs::path existing = fs::absolute(folder).lexically_normal();
  std::error_code none;
  while (!fs::exists(existing, none) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  const bool is_folder = fs::is_directory(existing, none);
  if (is_folder && ::access(existing.c_str(), W_OK | X_OK) == 0) return;
  throw std::runtime_error(fmt::format(
      "--checkpoint {}: cannot be created in {}: {}; fix: choose another folder",
      folder.string(), existing.string(), std::strerror(is_folder ? errno : ENOTDIR)));
}

}  // namespace

void require_writable_outputs(const RunConfig& c, bool main) {
  std::vector<Output> outputs = outputs_of(c, main);
  for (const Output& output : outputs) {
    require_not_an_input(c, output);
    require_writable(output.second);
  }
  const fs::path folder = c.checkpoint.folder;
  std::error_code none;
  if (main && !c.checkpoint.folder.empty()) {
    const bool exists = fs::is_directory(folder, none);
    if (!exists) require_creatable(folder);
    for (const char* name : {train::kNewestFile, train::kBestFile}) {
      outputs.emplace_back("--checkpoint", folder / name);
      if (exists) require_writable(folder / name);
    }
    require_no_newer_checkpoint(c);
  }
  require_different(outputs);
}

void require_other_file(const std::string& input, const std::string& out) {
  if (!is_same_file(input, out)) return;
  throw std::runtime_error(input +
                           ": is also the output file and would be overwritten; fix: "
                           "choose another file with -o");
}

}  // namespace lockstep::run
