// Maps an event to its lane and its process.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "gui/model/raw_model.h"
#include "tracer/format/event_fields.h"
#include "tracer/format/tokens.h"

namespace lockstep::gui {

/// Returns the index of a token (with its quotes) in `strings`, where it is stored in
/// readable form. Returns 0 once there are 16 million strings.
inline uint32_t string_number(Strings& strings, std::string_view token) {
  constexpr size_t kMaxStrings = (1u << 24) - 1;  // Event::name has 24 bits
  const std::string_view text = tracer::content(token);
  if (text.find('\\') == std::string_view::npos) {
    const uint32_t known = strings.find(text);
    if (known != Strings::kUnknown) return known;
  }
  return strings.size() < kMaxStrings ? strings.number(tracer::shown(text)) : 0;
}

/// Adds lanes and processes to the RawModel when they first occur.
class LaneTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit LaneTable(RawModel& raw) : raw_(raw) {}

  /// Returns the index of the event's lane. If there are too many lanes, counts the
  /// event and returns kNone.
  uint32_t lane(const tracer::EventFields& f);
  RawProcess& process(const tracer::EventFields& f);
  size_t refused() const { return refused_; }

 private:
  struct Name {
    int64_t pid = 0, tid = 0;
    bool operator==(const Name&) const = default;
  };
  struct Hash {
    size_t operator()(const Name& name) const {
      return static_cast<size_t>(name.pid) * 31 + static_cast<size_t>(name.tid);
    }
  };
  struct Known {
    Name name;
    uint32_t lane = kNone;
  };

  uint32_t add(const Name& name);
  uint32_t process_number(int64_t pid);
  int64_t number(std::string_view pid_or_tid);

  RawModel& raw_;
  std::unordered_map<Name, uint32_t, Hash> lanes_;
  Known recent_[64];  ///< cache by hash: avoids most lookups
  std::unordered_map<int64_t, uint32_t> processes_;
  size_t refused_ = 0;
};

}  // namespace lockstep::gui
