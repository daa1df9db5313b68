#include "engine/data/image_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace lockstep::data {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail_at(const fs::path& path, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", path.string(), what));
}

/// Returns the name's ending in lower case, without the dot.
std::string ending_of(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == name.npos) return "";
  std::string ending(name.substr(dot + 1));
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<uint8_t>(c)));
  return ending;
}

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Returns the folder's real path, with a slash at its end. `above` holds the real
/// paths of the folders through which it was reached. Throws if the folder is one of
/// these or contains one.
std::string enter(const fs::path& folder, const std::vector<std::string>& above) {
  std::string real = (fs::canonical(folder) / "").native();
  for (const std::string& outer : above) {
    if (outer.starts_with(real)) {
      fail_at(folder, "a symbolic link to a folder that contains it");
    }
  }
  return real;
}

/// The sorted contents of one folder.
struct Listing {
  std::vector<std::string> folders, pictures;
  std::map<std::string, int64_t> left_out;

  explicit Listing(const fs::path& folder) {
    std::error_code error;
    fs::directory_iterator at(folder, error);
    for (; !error && at != fs::directory_iterator(); at.increment(error)) {
      std::string name = at->path().filename().string();
      std::error_code unreadable;  // a broken link is not a folder
      if (at->is_directory(unreadable)) {
        folders.push_back(std::move(name));
        continue;
      }
      const std::string ending = ending_of(name);
      if (is_one_of(ending, {"jpeg", "jpg", "png"})) {
        pictures.push_back(std::move(name));
      } else if (is_one_of(ending, {"bmp", "pgm", "ppm", "tif", "tiff", "webp"})) {
        ++left_out[ending];
      }
    }
    if (error) fail_at(folder, "cannot be listed: " + error.message());
    std::sort(folders.begin(), folders.end());
    std::sort(pictures.begin(), pictures.end());
  }
};

}  // namespace

FolderIndex::FolderIndex(const fs::path& root) : root_(root) {
  if (!fs::is_directory(root)) {
    fail_at(root, fs::exists(root) ? "is a file, not a folder of class folders"
                                   : "no such folder");
  }
  classes_ = Listing(root).folders;
  if (classes_.empty()) {
    fail_at(root,
            "contains no class folders; fix: put the images of each class into a "
            "folder named after the class");
  }
  std::vector<std::string> empty, above{(fs::canonical(root) / "").native()};
  for (const std::string& name : classes_) {
    const int64_t before = size();
    const fs::path folder = root / name;
    list(folder, folder.native().size() + 1, above);
    class_ends_.push_back(size());
    if (size() == before) empty.push_back(name);
  }
  if (!empty.empty()) {
    fail_at(root / empty[0],
            fmt::format("no images (.jpeg, .jpg, .png) in this class folder{}; fix: "
                        "add images or remove it",
                        empty.size() == 1
                            ? ""
                            : fmt::format(" and in {} other{}", empty.size() - 1,
                                          empty.size() == 2 ? "" : "s")));
  }
  names_.shrink_to_fit();
  ends_.shrink_to_fit();
}

void FolderIndex::list(const fs::path& folder, size_t prefix,
                       std::vector<std::string>& above) {
  above.push_back(enter(folder, above));
  const Listing here(folder);
  for (const auto& [ending, count] : here.left_out) left_out_[ending] += count;
  for (const std::string& name : here.pictures) {
    names_ += folder.native().substr(std::min(prefix, folder.native().size()));
    if (folder.native().size() > prefix) names_ += '/';
    names_ += name;
    ends_.push_back(names_.size());
  }
  for (const std::string& name : here.folders) list(folder / name, prefix, above);
  above.pop_back();
}

int64_t FolderIndex::label(int64_t index) const {
  return std::upper_bound(class_ends_.begin(), class_ends_.end(), index) -
         class_ends_.begin();
}

std::string FolderIndex::path(int64_t index) const {
  const uint64_t begin = index == 0 ? 0 : ends_[index - 1];
  return fmt::format("{}/{}/{}", root_.native(), classes_[label(index)],
                     std::string_view(names_).substr(begin, ends_[index] - begin));
}

int64_t FolderIndex::memory() const {
  return static_cast<int64_t>(names_.capacity() + ends_.capacity() * sizeof(ends_[0]));
}

}  // namespace lockstep::data
