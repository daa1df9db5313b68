// Bookmarks with notes: places in a trace that a person marked, and why. They are kept
// as JSON beside the trace (gui/files/notes_file.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gui/model/position.h"

namespace lockstep::gui {

struct Note {
  Position at;
  std::string text;  ///< may be empty: a bookmark
  bool operator==(const Note&) const = default;
};

/// A note whose place this trace does not have; it is written back unchanged.
struct UnplacedNote {
  std::string at, text;
  bool operator==(const UnplacedNote&) const = default;
};

struct Notes {
  std::vector<Note> placed;  ///< in order of time, see `add_note`
  std::vector<UnplacedNote> unplaced;
  bool operator==(const Notes&) const = default;
};

/// Returns a text that `parse_position` turns back into this position: `#1234`, or a
/// time (`rank1:@12345ns`) in time order or for an event without an id.
std::string place_text(const Model& model, const Position& position);

/// Returns "step 1 · backward · conv2d".
std::string place_words(const Model& model, const Position& position);

/// Returns true if both refer to the same event or time.
bool same_place(const Model& model, const Position& a, const Position& b);

/// Inserts in order of time; replaces the text of a note at the same place, unless the
/// new one is empty. Returns the note's index.
size_t add_note(const Model& model, std::vector<Note>& notes, Note note);

/// Parses `STEP[:PHASE]=text`; the place is anything that `parse_position` accepts.
/// Returns nullopt and sets `why` to a sentence otherwise.
std::optional<Note> parse_note(const Model& model, const std::string& text,
                               std::string& why);

/// Returns `ours` with what others changed since both were the same as `base`: notes
/// that they added or removed, and texts that they changed. A note whose text both
/// changed has both texts. A note that one changed and the other removed is kept.
Notes merged_notes(const Model& model, const Notes& base, const Notes& ours,
                   const Notes& theirs);

/// Returns the contents of a notes file.
std::string notes_json(const Model& model, const Notes& notes);

/// Parses the contents of a notes file. Throws std::runtime_error, with one sentence,
/// if they are not notes.
Notes read_notes(const Model& model, const std::string& json);

}  // namespace lockstep::gui
