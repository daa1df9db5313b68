// Search: the input field, going to the next hit, and marking all hits in the timeline.
// Each distinct name is compared once; the result is stored as one bit per event.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <bit>
#include <cctype>

#include "gui/panels/panels.h"
#include "gui/panels/timeline_parts.h"
#include "gui/render/imgui_compat.h"

namespace lockstep::gui {

bool contains(const std::string& name, const std::string& needle) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  const auto same = [&](char a, char b) { return lower(a) == lower(b); };
  return std::search(name.begin(), name.end(), needle.begin(), needle.end(), same) !=
         name.end();
}

std::vector<uint8_t> matching_names(const Model& model, const std::string& needle) {
  std::vector<uint8_t> matches(model.strings.size(), 0);
  for (uint32_t i = 0; i < matches.size(); ++i) {
    matches[i] = !needle.empty() && contains(model.strings[i], needle);
  }
  return matches;
}

uint32_t next_hit(const Model& model, const std::string& needle, uint32_t from,
                  bool forward) {
  const std::vector<uint8_t> matches = matching_names(model, needle);
  const auto count = static_cast<int64_t>(model.events.size());
  const int64_t direction = forward ? 1 : -1;
  for (int64_t at = int64_t{from} + direction; at >= 0 && at < count; at += direction) {
    if (matches[model.events[at].name] != 0) return static_cast<uint32_t>(at);
  }
  return kNoEvent;
}

SearchHits find_hits(const Model& model, const Lod& lod, const std::string& needle) {
  SearchHits hits;
  hits.needle = needle;
  if (needle.empty()) return hits;
  const std::vector<uint8_t> matches = matching_names(model, needle);
  const std::span<const uint32_t> places = lod.places();
  hits.bits.assign(places.size() / 64 + 1, 0);
  for (size_t i = 0; i < places.size(); ++i) {
    const uint64_t hit = matches[model.events[places[i]].name];
    hits.bits[i / 64] |= hit << (i % 64);
  }
  hits.before.reserve(hits.bits.size());
  uint32_t sum = 0;
  for (const uint64_t word : hits.bits) {
    hits.before.push_back(sum);
    sum += static_cast<uint32_t>(std::popcount(word));
  }
  return hits;
}

size_t SearchHits::rank(size_t place) const {
  const uint64_t below = (uint64_t{1} << (place % 64)) - 1;
  return before[place / 64] +
         static_cast<size_t>(std::popcount(bits[place / 64] & below));
}

void go_to_hit(App& app, bool forward) {
  if (app.settings.search.empty() || !app.has_trace()) return;
  OpenTrace& trace = app.trace();
  const uint32_t hit =
      next_hit(*trace.model, app.settings.search, trace.state.event, forward);
  if (hit == kNoEvent) return;
  app.settings.transport.playing = false;
  app.go(at_event(*trace.model, hit));
}

void draw_search_line(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  const Rect box{area.x + 10, area.y + 5, area.w - 20, 25};
  ui.fill(box, t.sunken, 6);
  ui.frame(box, app.settings.searching ? t.accent : t.line, 6);
  ImGui::PushStyleColor(ImGuiCol_FrameBg, IM_COL32(0, 0, 0, 0));
  ImGui::PushStyleColor(ImGuiCol_Text, t.text);
  ImGui::PushStyleColor(ImGuiCol_TextDisabled, t.faint);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {9, 4});
  ImGui::SetCursorScreenPos(box.min());
  ImGui::SetNextItemWidth(box.w);
  push_font(ui.fonts.get(Type::mono));
  const bool opened = app.settings.searching && !ImGui::IsAnyItemActive();
  if (opened) ImGui::SetKeyboardFocusHere();
  const bool entered = ImGui::InputTextWithHint(
      "##search", "name contains …", &app.settings.search,
      ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
  if (entered) {
    app.settings.searching = false;
    go_to_hit(app, true);
  } else if (app.settings.searching && ImGui::IsItemDeactivated()) {
    app.settings.searching = false;
  }
  ImGui::PopFont();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(3);
}

}  // namespace lockstep::gui
