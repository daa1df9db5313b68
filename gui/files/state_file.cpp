#include "gui/files/state_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/file.h"

namespace lockstep::gui {

namespace {

using Switch = bool Kept::*;
constexpr std::pair<const char*, Switch> kSwitches[] = {
    {"toured", &Kept::toured},   {"light", &Kept::light},   {"tree", &Kept::tree},
    {"overlap", &Kept::overlap}, {"cpp", &Kept::cpp_names}, {"tracks", &Kept::tracks}};

using Share = float Panes::*;
constexpr std::pair<const char*, Share> kShares[] = {
    {"left", &Panes::left},   {"right", &Panes::right},
    {"times", &Panes::times}, {"timeline", &Panes::timeline},
    {"calls", &Panes::calls}, {"drawer", &Panes::drawer},
    {"ports", &Panes::ports}};

void read_share(const std::string& words, Panes& panes) {
  std::istringstream in(words);
  std::string name;
  float share = 0;
  if (!(in >> name >> share) || !(share > 0 && share < 1)) return;
  for (const auto& [known, member] : kShares) {
    if (name == known) panes.*member = share;
  }
}

std::filesystem::path state_file() {
  const std::filesystem::path folder = state_folder();
  return folder.empty() ? folder : folder / "viewer";
}

}  // namespace

std::filesystem::path state_folder() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state) {
    return std::filesystem::path(state) / "lockstep";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return std::filesystem::path(home) / ".local" / "state" / "lockstep";
}

std::string kept_text(const Kept& kept) {
  std::string text;
  for (const auto& [name, member] : kSwitches) {
    if (kept.*member) text += std::string(name) + "\n";
  }
  for (const auto& [name, member] : kShares) {
    if (kept.panes.*member > 0) {
      text += fmt::format("panel {} {:.4f}\n", name, kept.panes.*member);
    }
  }
  for (size_t i = 0; i < std::min(kept.files.size(), kMostFiles); ++i) {
    text += "file " + kept.files[i] + "\n";
  }
  return text;
}

Kept parse_kept(const std::string& text) {
  Kept kept;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    for (const auto& [name, member] : kSwitches) {
      if (line == name) kept.*member = true;
    }
    if (line.starts_with("panel ")) read_share(line.substr(6), kept.panes);
    if (line.starts_with("file ") && kept.files.size() < kMostFiles) {
      kept.files.push_back(line.substr(5));
    }
  }
  return kept;
}

Kept load_kept() {
  std::ifstream in(state_file());
  std::ostringstream text;
  text << in.rdbuf();
  return parse_kept(text.str());
}

void save_kept(const Kept& kept) {
  const std::filesystem::path path = state_file();
  if (path.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  try {
    AtomicFile file(path, AtomicFile::Packing::none);
    file.write(kept_text(kept));
    file.commit();
  } catch (const std::exception&) {  // the choices of this run are not kept
  }
}

void apply_kept(const Kept& kept, Settings& settings) {
  settings.dark = !kept.light;
  settings.tree = kept.tree;
  settings.overlap = kept.overlap;
  settings.cpp_names = kept.cpp_names;
  settings.tracks = kept.tracks;
  settings.panes = kept.panes;
}

void note_settings(const Settings& settings, Kept& kept) {
  kept.light = !settings.dark;
  kept.tree = settings.tree;
  kept.overlap = settings.overlap;
  kept.cpp_names = settings.cpp_names;
  kept.tracks = settings.tracks;
  kept.panes = settings.panes;
}

void note_opened(const std::string& path, Kept& kept) {
  std::error_code ignored;
  const std::string whole = std::filesystem::absolute(path, ignored).string();
  std::erase(kept.files, whole);
  kept.files.insert(kept.files.begin(), whole);
}

}  // namespace lockstep::gui
