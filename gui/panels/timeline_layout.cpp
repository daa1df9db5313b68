// The layout of lanes: for each rank, its main thread, its other threads in a compact
// group, and then the streams of its devices.
#include <algorithm>
#include <map>

#include "gui/panels/timeline_parts.h"

namespace lockstep::gui {

namespace {

using Role = Strip::Role;

/// Lane heights; kMeasures lists them from the most spacious to the most compact.
struct Measure {
  int host_rows;
  float host, thread, compute, side, gap, track;  ///< heights in points
};
constexpr Measure kMeasures[] = {
    {6, 18, 8, 24, 15, 8, 40}, {4, 18, 7, 20, 13, 6, 34}, {4, 17, 5, 18, 11, 5, 28},
    {3, 17, 4, 18, 10, 4, 24}, {2, 16, 3, 17, 8, 4, 20},  {2, 16, 2, 16, 6, 2, 17},
    {2, 14, 1, 13, 3, 1, 14},
};
/// The most spacious measure if even the most compact one does not fit, so that the
/// lanes scroll; with tracks or opened lanes, the other one in a low room.
constexpr size_t kScrolled = 3;
constexpr Measure kScrolledLow = {2, 15, 2, 15, 4, 2, 18};
constexpr float kLowRoom = 170;  ///< in points
/// Below this, the lanes leave room for the first device's memory without scrolling.
constexpr float kLowRoomOfTracks = 260;
constexpr int kDevicesInView = 4;  ///< shown without scrolling, if possible
constexpr float kLabelled = 13;    ///< least height of a bar with its name
constexpr size_t kMaxMinis = 12;
constexpr size_t kRoomy = 3;  ///< number of measures tried before ranks are collapsed

struct Rank {
  std::vector<uint32_t> hosts, streams;
};

class Builder {
 public:
  Builder(const Model& model, const Lod& lod, const std::vector<uint32_t>& open,
          const Measure& measure, int unfolded, bool tracks)
      : model_(model),
        lod_(lod),
        open_(open),
        m_(measure),
        unfolded_(unfolded),
        tracks_(tracks) {}

  LaneLayout build(const std::map<int, Rank>& ranks) {
    layout_.strip_of_lane.assign(model_.lanes.size(), UINT32_MAX);
    y_ = m_.gap;
    if (tracks_ && model_.has_device_times()) busy_track();
    if (const auto own = ranks.find(unfolded_); own != ranks.end()) {
      whole(own->first, own->second);  // at the top, so always visible
    }
    for (const auto& [number, rank] : ranks) {
      if (number == unfolded_) continue;
      const uint32_t group = kWholeRank + static_cast<uint32_t>(number);
      if (unfolded_ >= 0 && !rank.streams.empty())
        fold(rank.streams, group);
      else
        whole(number, rank);
    }
    layout_.height = y_;
    find_row_starts();
    return std::move(layout_);
  }

 private:
  void whole(int number, const Rank& rank) {
    if (!rank.hosts.empty()) host(rank.hosts.front());
    if (rank.hosts.size() > 1) threads(number, rank.hosts);
    streams(rank.streams);
  }

  bool is_open(uint32_t group) const {
    return std::binary_search(open_.begin(), open_.end(), group);
  }

  Strip& add(Role role, uint32_t lane, uint32_t group, float height, int rows,
             float space = 1) {
    Strip strip;
    strip.role = role;
    strip.lane = lane;
    strip.group = group;
    strip.is_open = is_open(group);
    strip.depth = static_cast<uint16_t>(lod_.depth(lane));
    strip.rows = static_cast<uint16_t>(strip.is_open && role != Role::head
                                           ? strip.depth
                                           : std::min<int>(rows, strip.depth));
    strip.y = y_;
    strip.row_height = height;
    strip.pitch = height + space;
    y_ += strip.height();
    if (role != Role::head) {
      layout_.strip_of_lane[lane] = static_cast<uint32_t>(layout_.strips.size());
    }
    return layout_.strips.emplace_back(strip);
  }

  void host(uint32_t lane) {
    add(Role::host, lane, lane, m_.host, m_.host_rows);
    y_ += m_.gap;
  }

  void threads(int rank, const std::vector<uint32_t>& hosts) {
    const uint32_t group = kThreadsOfRank + static_cast<uint32_t>(rank);
    const auto members = static_cast<uint32_t>(hosts.size() - 1);
    if (is_open(group)) {
      add(Role::head, hosts[1], group, 16, 1).members = members;
      for (size_t i = 1; i < hosts.size(); ++i) {
        add(Role::thread, hosts[i], hosts[i], m_.host, m_.host_rows);
        y_ += m_.gap;
      }
      return;
    }
    const float top = y_;
    for (size_t i = 1; i < std::min(hosts.size(), kMaxMinis + 1); ++i) {
      const float space = m_.thread < 2 ? 0.5f : 1;
      Strip& strip = add(Role::mini, hosts[i], group, m_.thread, 1, space);
      strip.members = i == 1 ? members : 0;
    }
    y_ = std::max(y_, top + 13) + m_.gap;  // leave room for the label
  }

  void streams(const std::vector<uint32_t>& lanes) {
    for (size_t i = 0; i < lanes.size(); ++i) {
      const Lane& lane = model_.lanes[lanes[i]];
      const bool last =
          i + 1 == lanes.size() || model_.lanes[lanes[i + 1]].device != lane.device;
      const bool main = i == 0 || model_.lanes[lanes[i - 1]].device != lane.device;
      if (main && i > 0) y_ += m_.gap;
      const bool is_side = !main && lane.stream > 0;
      float height = is_side ? m_.side : m_.compute;
      if (is_side && m_.side > 6 && has_collectives(lane)) {
        height = std::max(height, kLabelled);
      }
      Strip& strip = add(Role::stream, lanes[i], lanes[i], height,
                         std::min(lane.rows, 3), m_.gap < 2 ? 1 : 2);
      strip.members = main ? 1 : 0;
      if (tracks_ && last) tracks_of(lanes[i]);
    }
    if (!lanes.empty()) y_ += m_.gap;
  }

  void busy_track() {
    for (uint32_t i = 0; i < model_.lanes.size(); ++i) {
      if (model_.lanes[i].is_host()) continue;
      track(Strip::Track::busy, i, std::max(14.0f, m_.track * 0.75f));
      y_ += m_.gap;
      return;
    }
  }

  /// Adds the tracks of the device of a lane.
  void tracks_of(uint32_t lane) {
    const auto device = static_cast<size_t>(model_.lanes[lane].device);
    if (!model_.devices[device].memory.empty()) {
      track(Strip::Track::memory, lane, m_.track);
    }
    if (model_.has_device_times() && !model_.ports[device].points.empty()) {
      track(Strip::Track::port, lane, std::max(14.0f, m_.track * 0.75f));
    }
  }

  void track(Strip::Track what, uint32_t lane, float height) {
    Strip strip;
    strip.role = Role::track;
    strip.track = what;
    strip.lane = lane;
    strip.y = y_;
    strip.row_height = height;
    strip.pitch = height + 2;
    y_ += strip.height();
    layout_.strips.push_back(strip);
  }

  void find_row_starts() {
    uint32_t group_above = UINT32_MAX;
    for (const Strip& strip : layout_.strips) {
      const bool is_mini = strip.role == Role::mini;
      for (int row = 0; row < strip.rows; ++row) {
        const float y = strip.y + static_cast<float>(row) * strip.pitch;
        if (!is_mini || strip.group != group_above) layout_.row_starts.push_back(y);
        group_above = is_mini ? strip.group : UINT32_MAX;
      }
    }
    layout_.row_starts.push_back(layout_.height);
  }

  bool has_collectives(const Lane& lane) const {
    const size_t looked_at = std::min<size_t>(lane.events.size(), 8);
    return std::any_of(lane.events.begin(), lane.events.begin() + looked_at,
                       [&](uint32_t event) {
                         return model_.events[event].what() == Kind::collective;
                       });
  }

  /// Lays out a collapsed rank: computation, with communication below it.
  void fold(const std::vector<uint32_t>& lanes, uint32_t group) {
    bool first = true;
    for (const uint32_t lane : lanes) {
      const int stream = model_.lanes[lane].stream;
      if (!first && stream != 2) continue;
      const float height = first ? std::min(m_.compute, 15.0f) : 6;
      Strip& strip = add(Role::stream, lane, group, height, 1, 1);
      strip.members = first ? 1 : 0;
      strip.folded = first;
      first = false;
    }
    y_ += std::max(2.0f, m_.gap / 2);
  }

  const Model& model_;
  const Lod& lod_;
  const std::vector<uint32_t>& open_;
  const Measure& m_;
  int unfolded_;  ///< the only rank shown in full; -1 for all
  bool tracks_;
  LaneLayout layout_;
  float y_ = 0;
};

/// Returns how many devices are within the first `room` points.
int devices_within(const LaneLayout& layout, float room) {
  return static_cast<int>(std::ranges::count_if(layout.strips, [&](const Strip& strip) {
    return strip.role == Role::stream && strip.members > 0 &&
           strip.y + strip.height() <= room;
  }));
}

}  // namespace

LaneLayout lay_out(const Model& model, const Lod& lod,
                   const std::vector<uint32_t>& open, float room, int focus,
                   bool tracks) {
  std::map<int, Rank> ranks;
  for (uint32_t i = 0; i < model.lanes.size(); ++i) {
    const Lane& lane = model.lanes[i];
    if (lane.events.empty()) continue;
    (lane.is_host() ? ranks[lane.rank].hosts : ranks[lane.rank].streams).push_back(i);
  }
  for (auto& [number, rank] : ranks) {
    std::stable_sort(rank.streams.begin(), rank.streams.end(),
                     [&](uint32_t a, uint32_t b) {
                       return model.lanes[a].device < model.lanes[b].device;
                     });
  }
  if (ranks.size() < 2) focus = -1;
  const auto built = [&](const Measure& measure, int unfolded) {
    return Builder(model, lod, open, measure, unfolded, tracks).build(ranks);
  };
  for (size_t i = 0; i < (focus < 0 ? std::size(kMeasures) : kRoomy); ++i) {
    LaneLayout layout = built(kMeasures[i], -1);
    if (layout.height <= room) return layout;
    if (model.lanes.size() > 500) break;
  }
  for (size_t i = 0; focus >= 0 && i < std::size(kMeasures); ++i) {
    LaneLayout layout = built(kMeasures[i], focus);
    if (layout.height <= room) return layout;
    if (model.lanes.size() > 500) break;
  }
  if (tracks || !open.empty()) {
    const float low = tracks ? kLowRoomOfTracks : kLowRoom;
    return built(room < low ? kScrolledLow : kMeasures[kScrolled], focus);
  }
  LaneLayout layout;
  for (size_t i = kScrolled; i < std::size(kMeasures); ++i) {
    layout = built(kMeasures[i], focus);
    const int devices = devices_within(layout, layout.height);
    if (devices_within(layout, room) >= std::min(kDevicesInView, devices)) break;
  }
  return layout;
}

std::pair<size_t, size_t> LaneLayout::between(float top, float bottom) const {
  auto first =
      std::upper_bound(strips.begin(), strips.end(), top,
                       [](float y, const Strip& strip) { return y < strip.y; });
  if (first != strips.begin()) --first;
  const auto last =
      std::lower_bound(first, strips.end(), bottom,
                       [](const Strip& strip, float y) { return strip.y < y; });
  return {static_cast<size_t>(first - strips.begin()),
          static_cast<size_t>(last - strips.begin())};
}

}  // namespace lockstep::gui
