#include "gui/render/fonts.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <vector>

#include "base/program.h"
#include "tracer/format/file_io.h"

namespace lockstep::gui {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> system_folders() {
  std::vector<fs::path> folders{"/usr/share/fonts", "/usr/local/share/fonts"};
  folders.push_back(installed("share/lockstep/fonts"));
  if (const char* home = std::getenv("HOME")) {
    folders.push_back(fs::path(home) / ".local/share/fonts");
  }
  return folders;
}

using Paths = std::map<std::string, std::string>;  ///< by file name

/// Returns all files in the folders, recursively. Of files with the same name, prefers
/// the one in the first folder, and there the first by path.
Paths files_below(const std::vector<fs::path>& folders) {
  Paths found;
  for (const fs::path& folder : folders) {
    Paths here;
    std::error_code error;
    fs::recursive_directory_iterator file(
        folder, fs::directory_options::skip_permission_denied, error);
    for (; !error && file != fs::end(file); file.increment(error)) {
      std::string& path = here[file->path().filename().string()];
      if (path.empty() || file->path().string() < path) path = file->path().string();
    }
    found.merge(here);
  }
  return found;
}

}  // namespace

FontReader font_files(const std::string& folder) {
  const auto folders =
      folder.empty() ? system_folders() : std::vector<fs::path>{folder};
  return [paths = files_below(folders)](const std::string& name) -> std::string {
    const auto path = paths.find(name);
    if (path == paths.end()) return "";
    try {
      return tracer::read_whole_file(path->second);
    } catch (const std::runtime_error&) {
      return "";
    }
  };
}

Fonts load_fonts(ImFontAtlas& atlas, float scale, const std::string& folder) {
  return load_fonts(atlas, scale, font_files(folder));
}

bool load_wanted(Fonts& fonts, ImFontAtlas& atlas, float scale,
                 const std::string& folder) {
  if (fonts.wanted.empty()) return false;
  std::set<ImWchar> more = std::move(fonts.more);
  more.merge(fonts.wanted);
  atlas.Clear();
  fonts = load_fonts(atlas, scale, font_files(folder), more);
  return true;
}

}  // namespace lockstep::gui
