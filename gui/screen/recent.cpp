#include "gui/screen/recent.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace lockstep::gui {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostFiles = 12;

fs::path state_file() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state) {
    return fs::path(state) / "lockstep" / "viewer";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return fs::path(home) / ".local" / "state" / "lockstep" / "viewer";
}

}  // namespace

RecentFiles load_recent() {
  RecentFiles memory;
  std::ifstream in(state_file());
  for (std::string line; std::getline(in, line) && memory.files.size() < kMostFiles;) {
    if (line == "toured") memory.toured = true;
    if (line.starts_with("file ")) memory.files.push_back(line.substr(5));
  }
  return memory;
}

void save_recent(const RecentFiles& memory) {
  const fs::path path = state_file();
  if (path.empty()) return;
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  const fs::path temporary = path.string() + ".tmp";
  {
    std::ofstream out(temporary);
    if (memory.toured) out << "toured\n";
    for (size_t i = 0; i < std::min(memory.files.size(), kMostFiles); ++i) {
      out << "file " << memory.files[i] << '\n';
    }
    if (!out.flush()) return;
  }
  fs::rename(temporary, path, ignored);
}

}  // namespace lockstep::gui
