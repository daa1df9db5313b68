#include "gui/files/notes_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "base/fd.h"
#include "base/file.h"
#include "gui/files/state_file.h"
#include "gui/model/details.h"
#include "gui/model/state.h"

namespace lockstep::gui {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostCompletions = 10;

/// Returns the contents of a file, or "" if there is none.
std::string contents(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Returns true if a file exists that cannot be read as notes: it must not be replaced.
bool is_foreign(const Model& model, const fs::path& path) {
  const std::string text = contents(path);
  std::error_code ignored;
  if (text.empty()) return fs::exists(path, ignored) && !std::ifstream(path);
  try {
    read_notes(model, text);
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

void write_file(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path, AtomicFile::Packing::none);
  file.write(bytes);
  file.commit();
}

/// Writes the notes; a trace without any has no file.
void keep_notes(OpenTrace& trace, const fs::path& path) {
  const Notes& notes = trace.notes;
  if (is_foreign(*trace.model, path)) {
    throw std::runtime_error(path.string() + " holds something else");
  }
  if (notes.placed.empty() && notes.unplaced.empty()) {
    fs::remove(path);
    return;
  }
  write_file(path, notes_json(*trace.model, notes));
}

/// Holds an exclusive lock on a folder, for viewers that save notes in it; none if the
/// folder cannot be opened or locked.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& file) {
    const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
    fd_ = Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (fd_ && ::flock(fd_.get(), LOCK_EX) != 0 && errno == EINTR) continue;
  }

 private:
  Fd fd_;  ///< closing it ends the lock
};

/// Adds what other viewers saved since the notes were read. If there is no file, nobody
/// is known to have removed any.
void take_saved(OpenTrace& trace) {
  const Model& model = *trace.model;
  Notes saved;
  bool any = false;
  for (const fs::path& path : {notes_beside(model.name), notes_elsewhere(model.name)}) {
    const std::string text = path.empty() ? "" : contents(path);
    if (text.empty()) continue;
    try {
      const Notes read = read_notes(model, text);
      any = true;
      for (const Note& note : read.placed) add_note(model, saved.placed, note);
      saved.unplaced.insert(saved.unplaced.end(), read.unplaced.begin(),
                            read.unplaced.end());
    } catch (const std::exception&) {
      continue;  // it holds something else, which keep_notes leaves as it is
    }
  }
  if (any) trace.notes = merged_notes(model, trace.notes_kept, trace.notes, saved);
}

std::string expanded(const std::string& typed) {
  const char* home = std::getenv("HOME");
  if (home == nullptr || !typed.starts_with("~/")) return typed;
  return home + typed.substr(1);
}

bool is_trace_name(const std::string& name) {
  return (name.ends_with(".json") && !name.ends_with(".notes.json")) ||
         name.ends_with(".json.gz");
}

}  // namespace

fs::path notes_beside(const std::string& trace) { return trace + ".notes.json"; }

fs::path notes_elsewhere(const std::string& trace) {
  const fs::path folder = state_folder();
  if (folder.empty()) return {};
  std::error_code ignored;
  const std::string whole = fs::weakly_canonical(trace, ignored).string();
  return folder / "notes" /
         fmt::format("{}-{:016x}.notes.json", fs::path(trace).filename().string(),
                     std::hash<std::string>{}(whole));
}

std::string load_notes(OpenTrace& trace) {
  const Model& model = *trace.model;
  std::string problem;
  for (const fs::path& path : {notes_beside(model.name), notes_elsewhere(model.name)}) {
    const std::string text = path.empty() ? "" : contents(path);
    if (text.empty()) continue;
    try {
      const Notes read = read_notes(model, text);
      for (Notes* notes : {&trace.notes, &trace.notes_kept}) {
        for (const Note& note : read.placed) add_note(model, notes->placed, note);
        notes->unplaced.insert(notes->unplaced.end(), read.unplaced.begin(),
                               read.unplaced.end());
      }
      if (trace.notes_file.empty()) trace.notes_file = path.string();
    } catch (const std::exception& failure) {
      problem = path.string() + ": " + failure.what();
    }
  }
  return problem;
}

std::string save_notes(OpenTrace& trace) {
  trace.notes_changed = false;
  const fs::path beside = notes_beside(trace.model->name);
  const fs::path elsewhere = notes_elsewhere(trace.model->name);
  std::string why;
  const FolderLock lock(beside);
  take_saved(trace);
  try {
    keep_notes(trace, beside);
    trace.notes_file = beside.string();
    trace.notes_kept = trace.notes;
    std::error_code ignored;
    const bool ours = !elsewhere.empty() && !is_foreign(*trace.model, elsewhere);
    if (ours) fs::remove(elsewhere, ignored);
    return "";
  } catch (const std::exception& failure) {
    why = failure.what();
  }
  try {
    if (elsewhere.empty()) throw std::runtime_error("no home folder is known");
    fs::create_directories(elsewhere.parent_path());
    const FolderLock other_lock(elsewhere);
    take_saved(trace);
    keep_notes(trace, elsewhere);
    trace.notes_file = elsewhere.string();
    trace.notes_kept = trace.notes;
    return fmt::format("notes are kept in {}, because {}", elsewhere.string(), why);
  } catch (const std::exception& failure) {
    trace.notes_file.clear();
    return fmt::format(
        "notes are NOT saved: {}; {}; fix: copy the trace to a folder that you can "
        "write",
        why, failure.what());
  }
}

void share_notes(const OpenTrace& trace, std::vector<OpenTrace>& tabs) {
  std::error_code ignored;
  const fs::path own = fs::weakly_canonical(trace.model->name, ignored);
  for (OpenTrace& tab : tabs) {
    if (&tab == &trace || fs::weakly_canonical(tab.model->name, ignored) != own) {
      continue;
    }
    // Each has a model of its own; the file may have changed between them.
    Notes read = read_notes(*tab.model, notes_json(*trace.model, trace.notes));
    tab.notes.placed = std::move(read.placed);
    tab.notes.unplaced = std::move(read.unplaced);
    tab.notes_kept = tab.notes;
    tab.notes_file = trace.notes_file;
    tab.notes_changed = false;
  }
}

std::string file_word(const Model& model, const Position& position) {
  std::string word;
  for (const char c : place_words(model, position)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain) word += c;
    if (!plain && !word.ends_with('_')) word += '_';
  }
  const uint32_t event = event_at(model, position);
  const int64_t id = int_arg(args_of(model, model.events[event]), keys::id, event);
  return fmt::format("{}{}{}", word, word.ends_with('_') ? "" : "_", id);
}

std::string save_beside(const std::string& trace, const std::string& ending,
                        std::string_view bytes) {
  const fs::path beside = trace + ending;
  std::string why;
  for (const fs::path& path : {beside, fs::path(beside.filename())}) {
    try {
      write_file(path, bytes);
      return "saved " + path.string();
    } catch (const std::exception& failure) {
      if (why.empty()) why = failure.what();
    }
  }
  return "not saved: " + why;
}

std::vector<std::string> complete_path(const std::string& typed) {
  const std::string path = expanded(typed);
  const size_t slash = path.find_last_of('/');
  const std::string folder =
      slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string begun = path.substr(folder.size());
  std::vector<std::string> found;
  std::error_code failed;
  fs::directory_iterator at(folder.empty() ? "." : folder, failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(begun) || (name.starts_with('.') && begun.empty())) continue;
    std::error_code ignored;
    if (at->is_directory(ignored))
      found.push_back(folder + name + "/");
    else if (is_trace_name(name))
      found.push_back(folder + name);
  }
  std::sort(found.begin(), found.end());
  if (found.size() > kMostCompletions) found.resize(kMostCompletions);
  return found;
}

}  // namespace lockstep::gui
