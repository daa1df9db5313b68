// Any bytes as names of folders and files: an index whose paths all exist, or a
// one-line error.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "engine/data/image_folder.h"

using namespace lockstep::data;
namespace fs = std::filesystem;

namespace {

const fs::path& scratch() {
  static const fs::path folder = [] {
    std::string name = (fs::temp_directory_path() / "folder_fuzz-XXXXXX").string();
    if (!mkdtemp(name.data())) abort();
    return fs::path(name);
  }();
  return folder;
}

/// Creates a file at the path in `line` below the scratch folder. Ignores paths that
/// the file system rejects.
void make(std::string_view line) {
  const fs::path path = fs::path(line).relative_path().lexically_normal();
  if (path.empty() || *path.begin() == "..") return;
  std::error_code refused;
  fs::create_directories((scratch() / path).parent_path(), refused);
  std::ofstream(scratch() / path) << "x";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fs::remove_all(scratch());
  fs::create_directories(scratch());
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  for (size_t begin = 0; begin < size;) {
    const size_t end = std::min(text.find('\n', begin), size);
    if (text.substr(begin, end - begin).find('\0') == text.npos) {
      make(text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  try {
    const FolderIndex index(scratch());
    const auto classes = static_cast<int64_t>(index.classes().size());
    for (int64_t i = 0; i < index.size(); ++i) {
      if (!fs::is_regular_file(index.path(i))) abort();
      const int64_t label = index.label(i);
      if (label < 0 || label >= classes) abort();
      if (!index.path(i).starts_with((scratch() / index.classes()[label]).native()))
        abort();
    }
  } catch (const std::runtime_error&) {
  }
  return 0;
}
