// One event of a trace in 40 bytes. Rarely needed data (module, shapes, …) stays in the
// trace's text: `text` is its offset, and `details.h` parses it there.
#pragma once

#include <cstdint>

namespace lockstep::gui {

enum class Kind : uint8_t {
  step,
  phase,
  call,
  op,
  kernel,
  copy,
  collective,
  sync,
  mark,
  other,  ///< unknown category
};

inline constexpr uint32_t kNoEvent = UINT32_MAX;
inline constexpr int64_t kMaxSpan = (int64_t{1} << 47) - 1;  ///< 39 hours, in ns
inline constexpr uint32_t kNoStep = (1u << 24) - 1;
inline constexpr uint32_t kMaxRow = 63;

struct Event {
  int64_t ts : 48;     ///< ns since the trace's first event
  uint64_t lane : 16;  ///< index into Model::lanes

  int64_t dur : 48;   ///< ns; 0 for marks
  uint64_t kind : 8;  ///< a Kind
  uint64_t row : 8;   ///< number of events on its lane that enclose it, at most kMaxRow

  uint64_t text : 40;  ///< offset of its JSON object in the trace's text
  uint64_t step : 24;  ///< args.step, or kNoStep

  uint32_t name : 24;  ///< index into Model::strings
  uint32_t phase : 8;  ///< args.phase: index into Model::phases; 0 = none

  /// The event that called or enqueued this one: args.op, args.parent, or the event
  /// enclosing it on its lane. Always an earlier event, or kNoEvent.
  uint32_t parent;
  uint32_t order;  ///< index into Model::program
  uint32_t last;   ///< one past the index of the last event that it caused

  Kind what() const { return static_cast<Kind>(kind); }
  int64_t end() const { return ts + dur; }
  /// Returns true if the event runs on a stream of a device.
  bool is_task() const {
    return what() == Kind::kernel || what() == Kind::copy || what() == Kind::collective;
  }
};

static_assert(sizeof(Event) == 40);

}  // namespace lockstep::gui
