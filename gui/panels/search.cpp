// Search: the input field, going to the next hit, and marking all hits in the timeline.
// The filter (gui/model/filter.h) is applied once to every event; the result is stored
// as one bit per event.
#include <imgui.h>

#include <algorithm>
#include <bit>

#include "gui/panels/panels.h"
#include "gui/panels/timeline_parts.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

uint32_t next_hit(const Model& model, const std::string& needle, uint32_t from,
                  bool forward) {
  const std::vector<uint8_t> matches = matching_events(model, parse_filter(needle));
  const auto count = static_cast<int64_t>(model.events.size());
  const int64_t direction = forward ? 1 : -1;
  for (int64_t at = int64_t{from} + direction; at >= 0 && at < count; at += direction) {
    if (matches[at] != 0) return static_cast<uint32_t>(at);
  }
  return kNoEvent;
}

namespace {

/// Returns the next (or previous) event of a sorted list, or kNoEvent.
uint32_t next_listed(const std::vector<uint32_t>& events, uint32_t from, bool forward) {
  if (forward) {
    const auto next = std::upper_bound(events.begin(), events.end(), from);
    return next == events.end() ? kNoEvent : *next;
  }
  const auto next = std::lower_bound(events.begin(), events.end(), from);
  return next == events.begin() ? kNoEvent : *(next - 1);
}

}  // namespace

SearchHits find_hits(const Model& model, const Lod& lod, const std::string& needle) {
  SearchHits hits;
  hits.needle = needle;
  const Filter filter = parse_filter(needle);
  hits.error = filter.error;
  if (filter.terms.empty() || !filter.error.empty()) return hits;
  const std::vector<uint8_t> matches = matching_events(model, filter);
  for (uint32_t i = 0; i < matches.size(); ++i) {
    if (matches[i] == 0) continue;
    if (hits.events.size() < kMostListed) hits.events.push_back(i);
    ++hits.count;
  }
  const std::span<const uint32_t> places = lod.places();
  hits.bits.assign(places.size() / 64 + 1, 0);
  for (size_t i = 0; i < places.size(); ++i) {
    const uint64_t hit = matches[places[i]];
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
  const TimelineCache* cache = trace.timeline.cache.get();
  const bool listed = cache != nullptr && cache->hits.needle == app.settings.search &&
                      cache->hits.count == cache->hits.events.size();
  const uint32_t hit =
      listed ? next_listed(cache->hits.events, trace.state.event, forward)
             : next_hit(*trace.model, app.settings.search, trace.state.event, forward);
  if (hit == kNoEvent) return;
  app.settings.transport.playing = false;
  app.go(at_event(*trace.model, hit));
}

void draw_search_line(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  Rect box{area.x + 10, area.y + 5, area.w - 20, 25};
  const TimelineCache* cache = app.trace().timeline.cache.get();
  const bool known = cache != nullptr && cache->hits.needle == app.settings.search &&
                     !app.settings.search.empty();
  const std::string count =
      !known                       ? ""
      : !cache->hits.error.empty() ? "?"
      : cache->hits.count == 1
          ? "1 hit"
          : grouped(static_cast<int64_t>(cache->hits.count)) + " hits";
  const float wide = count.empty() ? 0 : ui.width(Type::small, count) + 12;
  const Rect note = box.take_right(wide);
  const Typing typing =
      text_field(ui, "search", box, "name, or dev:2 phase:reduce bytes>1M …",
                 app.settings.search, app.settings.searching);
  if (typing != Typing::on) app.settings.searching = false;
  if (typing == Typing::entered) {
    go_to_hit(app, true);
    if (!app.settings.search.empty()) app.settings.drawer = Drawer::hits;
  }
  if (count.empty()) return;
  bool hovered = false;
  if (ui.clicked("hits", note, &hovered)) app.settings.drawer = Drawer::hits;
  if (hovered) {
    ui.tooltip(cache->hits.error.empty() ? "list them below the stage"
                                         : cache->hits.error);
  }
  ui.text_right(note.right(), note.y + 5, Type::small,
                cache->hits.error.empty() ? t.dim : t.warning, count);
}

}  // namespace lockstep::gui
