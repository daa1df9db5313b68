// Commands on the open trace: bookmarks, and what leaves the viewer (text on the
// clipboard, pictures, tables). The caller of the App writes files.
#include <fmt/format.h>

#include <algorithm>

#include "base/program.h"
#include "gui/app/app.h"
#include "gui/app/what_if.h"
#include "gui/model/details.h"
#include "gui/render/imgui_compat.h"

namespace lockstep::gui {

namespace {

/// Bookmarks are places of the recorded trace.
bool refuses_notes(App& app) {
  if (!shows_emulated(app)) return false;
  app.say("notes belong to the recorded trace; shift j shows it");
  return true;
}

void copy_text(App& app, const std::string& text) {
  ImGui::SetClipboardText(text.c_str());
  app.say("copied: " + text);
}

}  // namespace

void toggle_bookmark(App& app) {
  if (refuses_notes(app)) return;
  OpenTrace& trace = app.trace();
  std::vector<Note>& notes = trace.notes.placed;
  trace.notes_changed = true;
  const auto here = std::find_if(notes.begin(), notes.end(), [&](const Note& note) {
    return same_place(*trace.model, note.at, trace.position);
  });
  if (here == notes.end()) {
    add_note(*trace.model, notes, {trace.position, ""});
  } else if (here->text.empty()) {
    notes.erase(here);
  } else {
    trace.notes_changed = false;
    app.say("this bookmark has a note; remove it in the drawer (x)");
  }
}

void write_note(App& app) {
  if (refuses_notes(app)) return;
  OpenTrace& trace = app.trace();
  app.settings.transport.playing = false;
  app.settings.editing = static_cast<int>(
      add_note(*trace.model, trace.notes.placed, {trace.position, ""}));
  app.settings.drawer = Drawer::notes;
  app.settings.enlarged = Pane::none;  // the drawer shows the field
  app.settings.compare = false;
  trace.notes_changed = true;
}

std::string command_line(const OpenTrace& trace) {
  return fmt::format("./lockstep view {} --at {}", shell_word(trace.model->name),
                     shell_word(place_text(*trace.model, trace.position)));
}

void command_keys(App& app, bool shift) {
  const auto on = [](char c) { return key_pressed(key_of(c)); };
  if (on('o')) app.opening = {true, "", "", {}};
  if (!app.has_trace()) return;
  const OpenTrace& trace = app.trace();
  if (on('c') && shift) return copy_text(app, command_line(trace));
  if (on('c')) {
    const Event& event = trace.model->events[trace.state.event];
    copy_text(app, fmt::format("{} {}", trace.model->name_of(event),
                               place_text(*trace.model, trace.position)));
  }
  if (on('s')) {
    app.exports.picture = true;
    app.message_left = 0;  // the picture shows the trace alone
  }
  if (on('e')) {
    const Drawer drawer = app.settings.drawer;
    const bool shown = drawer == Drawer::table || drawer == Drawer::range;
    std::vector<OpRow> rows;
    if (shown) rows = trace.ops.rows;
    if (rows.empty()) rows = op_table_of_step(*trace.model, trace.state.step);
    app.exports.csv = csv_of(*trace.model, rows);
  }
}

}  // namespace lockstep::gui
