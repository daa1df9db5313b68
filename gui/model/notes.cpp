#include "gui/model/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "gui/model/details.h"
#include "gui/model/servers.h"

namespace lockstep::gui {

namespace {

constexpr const char* kNotes = "notes";
constexpr const char* kAt = "at";
constexpr const char* kText = "text";

std::string text_of(const tracer::Json& note, const char* key) {
  const auto found = note.find(key);
  if (found == note.end() || !found->is_string()) {
    throw std::runtime_error(fmt::format("a note has no text '{}'", key));
  }
  return found->get<std::string>();
}

}  // namespace

std::string place_text(const Model& model, const Position& position) {
  const uint32_t event = event_at(model, position);
  if (position.order == Order::program) {
    const int64_t id = int_arg(args_of(model, model.events[event]), keys::id, -1);
    if (model.event_of_id(id) == event) return fmt::format("#{}", id);
  }
  const int rank = rank_of(model, position);
  return fmt::format("{}@{}ns", model.ranks() > 1 ? fmt::format("rank{}:", rank) : "",
                     time_of(model, position));
}

std::string place_words(const Model& model, const Position& position) {
  const uint32_t event = event_at(model, position);
  const Event& own = model.events[event];
  std::string words;
  if (model.ranks() > 1) words = rank_title(model, rank_of(model, position)) + " · ";
  words += fmt::format("step {}", model.steps[model.step_of(own)].number);
  uint32_t phase = event;
  while (phase != kNoEvent && model.events[phase].what() != Kind::phase) {
    phase = model.events[phase].parent;
  }
  if (phase != kNoEvent) words += " · " + model.name_of(model.events[phase]);
  const bool named = phase != kNoEvent && model.events[phase].name == own.name;
  if (!named && own.what() != Kind::step) words += " · " + model.name_of(own);
  if (position.order == Order::time) {
    const Step& step = model.steps[model.step_of(own)];
    const auto since = static_cast<double>(position.time - step.begin) * 1e-6;
    words += fmt::format(" · {:.3f} ms", since);
  }
  return words;
}

bool same_place(const Model& model, const Position& a, const Position& b) {
  if (a.order != b.order) return false;
  if (a.order == Order::program) return a.place == b.place;
  return a.time == b.time && rank_of(model, a) == rank_of(model, b);
}

size_t add_note(const Model& model, std::vector<Note>& notes, Note note) {
  const int64_t time = time_of(model, note.at);
  size_t index = 0;
  for (; index < notes.size(); ++index) {
    if (same_place(model, notes[index].at, note.at)) {
      if (!note.text.empty()) notes[index].text = std::move(note.text);
      return index;
    }
    if (time_of(model, notes[index].at) > time) break;
  }
  notes.insert(notes.begin() + static_cast<std::ptrdiff_t>(index), std::move(note));
  return index;
}

std::optional<Note> parse_note(const Model& model, const std::string& text,
                               std::string& why) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    why = fmt::format("'{}' has no '='; fix: write STEP[:PHASE]=text", text);
    return std::nullopt;
  }
  const auto position = parse_position(model, text.substr(0, equals), why);
  if (!position) return std::nullopt;
  return Note{*position, text.substr(equals + 1)};
}

Notes merged_notes(const Model& model, const Notes& base, const Notes& ours,
                   const Notes& theirs) {
  const auto text_at = [&](const Notes& notes,
                           const Note& note) -> std::optional<std::string> {
    for (const Note& own : notes.placed) {
      if (same_place(model, own.at, note.at)) return own.text;
    }
    return std::nullopt;
  };
  Notes merged;
  for (const Note& note : ours.placed) {
    const auto before = text_at(base, note), other = text_at(theirs, note);
    if (!other && before == note.text) continue;  // they removed it
    Note own = note;
    if (other && before == note.text) own.text = *other;
    if (other && before != note.text && other != before && *other != note.text) {
      own.text =
          *other + (other->empty() || note.text.empty() ? "" : " · ") + note.text;
    }
    add_note(model, merged.placed, std::move(own));
  }
  for (const Note& note : theirs.placed) {
    const auto before = text_at(base, note);
    if (text_at(ours, note) || before == note.text) continue;  // or we removed it
    add_note(model, merged.placed, note);
  }
  const auto has = [](const Notes& notes, const UnplacedNote& note) {
    return std::find(notes.unplaced.begin(), notes.unplaced.end(), note) !=
           notes.unplaced.end();
  };
  merged.unplaced = theirs.unplaced;
  for (const UnplacedNote& note : ours.unplaced) {
    if (!has(merged, note) && !has(base, note)) merged.unplaced.push_back(note);
  }
  return merged;
}

std::string notes_json(const Model& model, const Notes& notes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Note& note : notes.placed) {
    list.push_back({{kAt, place_text(model, note.at)},
                    {"where", place_words(model, note.at)},
                    {kText, note.text}});
  }
  for (const UnplacedNote& note : notes.unplaced) {
    list.push_back({{kAt, note.at}, {kText, note.text}});
  }
  const nlohmann::ordered_json whole = {{kNotes, std::move(list)}};
  return whole.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

Notes read_notes(const Model& model, const std::string& json) {
  const auto whole = tracer::Json::parse(json, nullptr, false);
  if (!whole.is_object() || !whole.contains(kNotes) || !whole[kNotes].is_array()) {
    throw std::runtime_error("this is not a file of notes");
  }
  Notes notes;
  for (const tracer::Json& note : whole[kNotes]) {
    if (!note.is_object()) throw std::runtime_error("a note is not an object");
    const std::string at = text_of(note, kAt), text = text_of(note, kText);
    std::string why;
    const auto position = parse_position(model, at, why);
    if (position)
      add_note(model, notes.placed, {*position, text});
    else
      notes.unplaced.push_back({at, text});
  }
  return notes;
}

}  // namespace lockstep::gui
