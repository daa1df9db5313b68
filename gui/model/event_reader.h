// One element of `traceEvents` into one Event of the Model.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gui/model/event_fields.h"
#include "gui/model/raw_model.h"

namespace lockstep::gui {

class EventReader {
 public:
  explicit EventReader(RawModel& raw) : raw_(raw) {}

  /// What is no event is left out and counted.
  void take(const EventFields& f);

  /// Ends what was begun and says what was left out.
  void finish();

 private:
  struct LaneName {
    int64_t pid = 0, tid = 0;
    bool operator==(const LaneName&) const = default;
  };
  struct Hash {
    size_t operator()(const LaneName& name) const {
      return static_cast<size_t>(name.pid) * 31 + static_cast<size_t>(name.tid);
    }
  };
  struct KnownLane {
    LaneName name;
    uint32_t lane = UINT32_MAX;
  };

  void take_event(const EventFields& f, int64_t ts, int64_t dur);
  void take_end(const EventFields& f, int64_t ts);
  void take_details(const EventFields& f, Event& event, uint32_t index);
  void take_copy(const EventFields& f, uint32_t index);
  void take_counter(const EventFields& f, int64_t ts);
  void take_metadata(const EventFields& f);

  uint32_t lane_of(const EventFields& f);
  uint32_t new_lane(const LaneName& name);
  RawProcess& process_of(int64_t pid);
  uint32_t process_number(int64_t pid);
  int64_t pid_or_tid(std::string_view token);
  int64_t relative(int64_t ts);
  uint32_t string_number(std::string_view token);
  uint32_t phase_number(std::string_view token);
  uint32_t id_number(int64_t id);

  RawModel& raw_;
  std::unordered_map<LaneName, uint32_t, Hash> lanes_;
  KnownLane recent_lanes_[64];  ///< by hash: spares most searches
  std::unordered_map<int64_t, uint32_t> processes_;
  std::string_view last_phase_;
  uint32_t last_phase_number_ = 0;
  int64_t base_ = INT64_MIN;  ///< the first event's time
  size_t no_event_ = 0, bad_time_ = 0, far_ = 0, too_many_lanes_ = 0, async_ = 0,
         unmatched_ = 0, large_ids_ = 0;
};

}  // namespace lockstep::gui
