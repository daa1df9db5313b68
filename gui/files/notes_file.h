// Where a trace's notes, pictures and tables are kept: beside it if its folder can be
// written, else in the viewer's own folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gui/app/app.h"
#include "gui/model/notes.h"

namespace lockstep::gui {

/// Returns `TRACE.notes.json`.
std::filesystem::path notes_beside(const std::string& trace);
/// Returns the file that is used if that one cannot be written; empty if there is none.
std::filesystem::path notes_elsewhere(const std::string& trace);

/// Reads the notes of a trace, from both files, into it. Returns a sentence if a file
/// cannot be read; that file is then left as it is, and later notes go to the other.
std::string load_notes(OpenTrace& trace);

/// Saves the notes of a trace, with those that other viewers saved since they were read
/// (see merged_notes), which it shows, too. Safe among processes: it locks the file's
/// folder meanwhile, where the file system can. Returns a sentence if they could not be
/// kept beside the trace: it says where they are instead, or that they are kept
/// nowhere.
std::string save_notes(OpenTrace& trace);

/// Gives the notes of a trace to the other tabs that show the same file, so that none
/// of them saves older ones.
void share_notes(const OpenTrace& trace, std::vector<OpenTrace>& tabs);

/// Returns a place as part of a file name, different for each event:
/// "step_1_backward_conv2d_1234".
std::string file_word(const Model& model, const Position& position);

/// Writes bytes to `TRACE` + `ending`, or into the current folder if that fails.
/// Returns a sentence that names the file or the reason.
std::string save_beside(const std::string& trace, const std::string& ending,
                        std::string_view bytes);

/// Returns the folders (ending in `/`) and the traces (.json, .json.gz) whose path
/// begins with `typed`, in order of name, at most 10; `~/` is the home folder.
std::vector<std::string> complete_path(const std::string& typed);

}  // namespace lockstep::gui
