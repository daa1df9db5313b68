// Which pictures lie in a folder of class folders, in little memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::data {

/// The pictures below `root`/<class>/, as torchvision's ImageFolder lists them: classes
/// sorted by name (by bytes), in each its folders sorted by path, in each the files
/// sorted by name. Pictures end in .jpg, .jpeg or .png, in whatever case; other files
/// do not count.
///
/// A picture costs its name and 8 bytes: names lie one behind the other in one string,
/// and the class is found by bisection. 1,000,000 pictures named as ImageNet's take
/// about 35 MB. Const calls are thread-safe.
class FolderIndex {
 public:
  /// Lists the folder. Throws std::runtime_error, one line with the fix, where `root`
  /// is no folder, has no class folders, or a class has no picture.
  explicit FolderIndex(const std::filesystem::path& root);

  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  const std::vector<std::string>& classes() const { return classes_; }

  std::string path(int64_t index) const;
  /// Position of the picture's class in `classes()`.
  int64_t label(int64_t index) const;

  /// Bytes of memory that pictures take.
  int64_t memory() const;

 private:
  void list(const std::filesystem::path& folder, size_t prefix);

  std::filesystem::path root_;
  std::vector<std::string> classes_;
  std::vector<int64_t> class_ends_;  ///< a class's last picture is the one before
  std::string names_;                ///< relative to the class's folder
  std::vector<uint64_t> ends_;       ///< of each picture's name in `names_`
};

}  // namespace lockstep::data
