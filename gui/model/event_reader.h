// Converts elements of `traceEvents` into Events of the Model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gui/model/lane_table.h"
#include "gui/model/raw_model.h"
#include "tracer/format/event_fields.h"

namespace lockstep::gui {

/// Returns the kind of an event by its category, which is ours or one of PyTorch's
/// profiler (event_kind.cpp).
Kind kind_of(const tracer::EventFields& f);

/// Returns true for `ProfilerStep#7`, the only mark of a training step in traces of
/// PyTorch's profiler.
bool is_profiler_step(const tracer::EventFields& f);
int64_t profiler_step(const tracer::EventFields& f);

/// The direction that PyTorch's profiler encodes in a copy's name: `Memcpy HtoD (…)`.
enum class Direction : uint8_t { none, to_device, to_host };
Direction memcpy_direction(const tracer::EventFields& f);

class EventReader {
 public:
  explicit EventReader(RawModel& raw) : raw_(raw), lanes_(raw) {}

  /// Adds one element to the Model. Skips and counts elements that are not events.
  void take(const tracer::EventFields& f);

  /// Ends the events that are still open and reports what was skipped.
  void finish();

 private:
  void take_event(const tracer::EventFields& f, int64_t ts, int64_t dur);
  void take_end(const tracer::EventFields& f, int64_t ts);
  void take_details(const tracer::EventFields& f, Event& event, uint32_t index);
  void take_copy(const tracer::EventFields& f, uint32_t index);
  void take_counter(const tracer::EventFields& f, int64_t ts);
  void take_metadata(const tracer::EventFields& f);

  int64_t relative(int64_t ts);
  uint32_t phase_number(std::string_view token);
  uint32_t id_number(int64_t id);

  RawModel& raw_;
  LaneTable lanes_;
  std::string_view last_phase_;
  uint32_t last_phase_number_ = 0;
  int64_t base_ = INT64_MIN;  ///< time of the first event
  size_t no_event_ = 0, bad_time_ = 0, far_ = 0, async_ = 0, unmatched_ = 0,
         large_ids_ = 0;
};

}  // namespace lockstep::gui
