// State that the viewer keeps between runs: the recent files, and whether the tour was
// shown. A small text file under $XDG_STATE_HOME; safe to delete.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace lockstep::gui {

struct RecentFiles {
  std::vector<std::string> files;  ///< newest first
  bool toured = false;
};

inline constexpr size_t kMostFiles = 12;

inline std::filesystem::path state_file() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state) {
    return std::filesystem::path(state) / "lockstep" / "viewer";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return std::filesystem::path(home) / ".local" / "state" / "lockstep" / "viewer";
}

inline RecentFiles load_recent() {
  RecentFiles memory;
  std::ifstream in(state_file());
  for (std::string line; std::getline(in, line) && memory.files.size() < kMostFiles;) {
    if (line == "toured") memory.toured = true;
    if (line.starts_with("file ")) memory.files.push_back(line.substr(5));
  }
  return memory;
}

/// Ignores errors.
inline void save_recent(const RecentFiles& memory) {
  const std::filesystem::path path = state_file();
  if (path.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  const std::filesystem::path temporary = path.string() + ".tmp";
  {
    std::ofstream out(temporary);
    if (memory.toured) out << "toured\n";
    for (size_t i = 0; i < std::min(memory.files.size(), kMostFiles); ++i) {
      out << "file " << memory.files[i] << '\n';
    }
    if (!out.flush()) return;
  }
  std::filesystem::rename(temporary, path, ignored);
}

}  // namespace lockstep::gui
