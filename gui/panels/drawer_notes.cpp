// The list of bookmarks and notes.
#include <fmt/format.h>

#include "gui/panels/drawer.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

constexpr float kNote = 26;

/// Draws the field in which a note's words are edited.
void edit_note(const Ui& ui, const Rect& box, App& app, Note& note) {
  OpenTrace& trace = app.trace();
  const std::string before = note.text;
  const Typing typing = text_field(ui, "note", box, "a note; enter keeps it", note.text,
                                   app.settings.editing >= 0);
  if (note.text != before) trace.notes_changed = true;
  if (typing == Typing::entered || typing == Typing::left) app.settings.editing = -1;
}

}  // namespace

void draw_notes_list(const Ui& ui, const Rect& whole, App& app) {
  const Theme& t = ui.theme;
  OpenTrace& trace = app.trace();
  std::vector<Note>& notes = trace.notes.placed;
  Rect room = whole;
  const Rect foot = room.take_bottom(20);
  ui.text_cut(foot.x + 13, foot.y + 3, foot.w - 26, Type::small, t.faint,
              trace.notes_file.empty() ? "b sets a bookmark, a writes a note"
                                       : "kept in " + trace.notes_file);
  if (notes.empty()) {
    ui.text_rich({room.x + 13, room.y + 8, room.w - 26, room.h}, Type::body,
                 Type::strong, t.dim, t.text,
                 "No bookmarks yet. **b** sets one at this place, **a** one with a "
                 "note, **shift b** goes to the next.");
    return;
  }
  const int editing = app.settings.editing;
  const auto rows = static_cast<float>(notes.size());
  const Scroll scroll(ui, "notes", room, kNote * rows,
                      kNote * static_cast<float>(std::max(0, editing)) - room.h * 0.5f,
                      editing, kNote);
  int removed = -1;
  for (size_t i = 0; i < notes.size(); ++i) {
    const Rect r{room.x, scroll.top() + kNote * static_cast<float>(i), room.w, kNote};
    if (!scroll.shows(r.y, r.h)) continue;
    const auto index = static_cast<int>(i);
    ImGui::PushID(index);
    const Rect cross{r.right() - 34, r.y + 3, 20, 20};
    bool over_cross = false, over_words = false;
    if (ui.clicked("remove", cross, &over_cross)) removed = index;
    if (over_cross) ui.tooltip("remove");
    const float half = r.x + 13 + std::min(330.0f, r.w * 0.45f);
    const Rect words{half, r.y + 1, cross.x - half - 8, kNote - 2};
    if (editing != index && ui.clicked("words", words, &over_words)) {
      app.settings.editing = index;
    }
    const bool here = same_place(*trace.model, notes[i].at, trace.position);
    const DrawerRow row = drawer_row(ui, 0, {r.x, r.y, half - r.x - 6, r.h}, here);
    ImGui::PopID();
    if (row.clicked) {
      app.settings.transport.playing = false;
      app.go(notes[i].at);
    }
    ui.text_cut(r.x + 13, r.y + 5, half - r.x - 26, Type::body, here ? t.accent : t.dim,
                place_words(*trace.model, notes[i].at));
    ui.text_centred(cross, Type::body, over_cross ? t.text : t.faint, "×");
    if (editing == index) {
      edit_note(ui, words, app, notes[i]);
    } else if (notes[i].text.empty()) {
      ui.text_cut(words.x + 9, r.y + 5, words.w - 12, Type::body, t.faint,
                  over_words ? "click to write" : "bookmark");
    } else {
      ui.text_cut(words.x + 9, r.y + 5, words.w - 12, Type::body, t.text,
                  notes[i].text);
    }
  }
  if (removed < 0) return;
  notes.erase(notes.begin() + removed);
  app.settings.editing = -1;
  trace.notes_changed = true;
}

}  // namespace lockstep::gui
