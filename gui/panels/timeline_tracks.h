// The tracks of the timeline: the memory of each device, how many devices run a kernel,
// and the bytes per second through each port.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gui/model/tracks.h"
#include "gui/panels/timeline_parts.h"

namespace lockstep::gui {

/// What the tracks show of a whole Model, in the order of the devices or as queued.
struct TrackSeries {
  std::vector<MemorySeries> memory[2];  ///< by device; [1]: as queued
  int64_t most_memory[2] = {1, 1};      ///< of any device
  std::unique_ptr<BusySeries> busy;     ///< nullptr if there are no device times
  std::vector<PortSeries> ports;        ///< by device; empty likewise
};

/// Computes what tracks need and is not there yet.
void prepare_tracks(TimelineFrame& frame);
void draw_tracks(const TimelineFrame& frame);
/// Returns where in the title bar of `area` the switch of the tracks is.
Rect tracks_switch(const Ui& ui, const Rect& area);
/// Draws it; returns its right edge.
float draw_tracks_switch(const TimelineFrame& frame);
void draw_track_label(const TimelineFrame& frame, const Strip& strip, float y);
/// Returns the track at a point on the screen, or nullptr.
const Strip* track_at(const TimelineFrame& frame, ImVec2 point);
/// Returns what a track says at a point in time, a line per fact.
std::vector<std::string> track_lines(const TimelineFrame& frame, const Strip& strip,
                                     float x);
/// Returns the op whose allocation a click on the track goes to, or kNoEvent.
uint32_t op_at_track(const TimelineFrame& frame, const Strip& strip, float x);

// ---- Columns: what is drawn in, and said of, three points of the screen

inline constexpr float kTrackColumn = 3;  ///< points

size_t device_of(const TimelineFrame& frame, const Strip& strip);
/// Returns the times at which a column begins and ends; the end is later.
std::pair<int64_t, int64_t> column_at(const Scale& scale, float x);
/// Returns the memory of a device in the order that the stage shows.
const MemorySeries& memory_of(const TimelineFrame& frame, size_t device);
/// Returns the point with the most memory in the column at `x`.
size_t point_of(const MemorySeries& series, const Scale& scale, float x);
/// Returns where the mark of the peak is.
float peak_x(const MemorySeries& series, const Scale& scale);
std::string rate_text(double bytes_per_second);  ///< "1.2 GB/s"

}  // namespace lockstep::gui
