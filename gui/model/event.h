// One event of a trace in 40 bytes. What is rarely asked for (module, shapes, …) stays
// in the trace's text; `text` says where, and `details.h` reads it there.
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
  other,  ///< of a category that we do not know
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
  uint64_t row : 8;   ///< how many events of its lane enclose it, at most kMaxRow

  uint64_t text : 40;  ///< where its JSON object begins in the trace's text
  uint64_t step : 24;  ///< args.step, or kNoStep

  uint32_t name : 24;  ///< number in Model::strings
  uint32_t phase : 8;  ///< args.phase: number in Model::phases; 0 = none

  /// Who called or enqueued it: args.op, args.parent, or what encloses it on its lane.
  /// Always an earlier event, or kNoEvent.
  uint32_t parent;
  uint32_t order;  ///< its place in the program (see Model::program)
  uint32_t last;   ///< one past the place of the last event that it caused

  Kind what() const { return static_cast<Kind>(kind); }
  int64_t end() const { return ts + dur; }
  /// Runs on a device's stream.
  bool is_task() const {
    return what() == Kind::kernel || what() == Kind::copy || what() == Kind::collective;
  }
};

static_assert(sizeof(Event) == 40);

}  // namespace lockstep::gui
