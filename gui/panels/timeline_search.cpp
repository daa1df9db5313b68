// Search by name: once per distinct name, then one bit per event.
#include <algorithm>
#include <bit>

#include "gui/panels/search_line.h"
#include "gui/panels/timeline.h"
#include "gui/panels/timeline_parts.h"

namespace lockstep::gui {

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

}  // namespace lockstep::gui
