// A position in a trace and the moves between positions. All functions are pure: they
// read the Model and return a new Position.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "gui/model/model.h"

namespace lockstep::gui {

enum class Order : uint8_t { time, program };

struct Position {
  Order order = Order::program;
  int64_t time = 0;    ///< ns since the trace's first event; meaningful in time order
  uint32_t place = 0;  ///< index into Model::program; meaningful in program order
  float progress = 0.5f;  ///< in program order: progress of the event itself, 0 … 1
  int rank = 0;           ///< in time order: the rank whose program is shown
  bool operator==(const Position&) const = default;
};

enum class Move : uint8_t {
  into,
  back,  ///< the next event in program order; the previous one
  over,
  back_over,  ///< the next event that this one did not cause; the reverse
  out,
  caller,  ///< the first event after everything the caller caused; the caller
  movement,
  back_movement,  ///< the next and the previous copy or collective
  phase,
  back_phase,
  step,
  back_step,  ///< the next training step; the start of this or the previous one
  first,
  last,
};

/// Returns the rank whose program is shown at a position: `position.rank` in time
/// order, the rank of its event in program order.
int rank_of(const Model& model, const Position& position);
/// Returns the first and last index of that program.
std::pair<uint32_t, uint32_t> places_of(const Model& model, const Position& position);

/// Returns what another rank does at the same point of its program or the same time.
Position at_rank(const Model& model, const Position& position, int rank);

/// What to look at, as `view --rank` and `--device` say it; −1: not given.
struct Choice {
  int64_t rank = -1;
  int64_t device = -1;  ///< a device's id in the trace
};

/// Returns the same point in the program of the chosen rank or, with a device, the
/// first kernel, copy or collective that starts on it at this position's time or later;
/// if there is none, the last one. Keeps the order. Returns nullopt and sets `why` to a
/// sentence if the trace lacks the rank, the device or anything that runs there.
std::optional<Position> at_choice(const Model& model, const Position& position,
                                  const Choice& choice, std::string& why);

/// Convert to the same moment in the other order: the event started last, or its start.
Position in_program_order(const Model& model, const Position& position);
Position in_time_order(const Model& model, const Position& position);
/// Returns where the first kernel or copy begins that the call at `position` launched;
/// `position` itself if there is none, or it is a step. When the call is made, devices
/// may still run earlier work: in time order, this is where its own begins.
Position at_first_task(const Model& model, const Position& position);

/// Returns where a trace opens: at the call that failed or, in the first full training
/// step that is no warm-up (tracer/analysis/steps.h), at `forward`. Traces of other
/// programs may have no call of that name: at the first kernel or copy of the step or,
/// without devices, at its first operator that calls another one.
Position opening_position(const Model& model);

/// Moves in program order; stops at the ends of the rank's program. `over`, `back_over`
/// and `out` stay on their thread: they skip what, say, a loader's worker prepares.
Position moved(const Model& model, const Position& position, Move move);

/// Returns the event that a position refers to. In program order: the one at its place.
/// In time order: the one that its rank started last or, if that has ended, the event
/// running on the training loop's thread, or the nearest caller that is still running.
uint32_t event_at(const Model& model, const Position& position);

/// Returns the time since the trace's first event, in ns.
int64_t time_of(const Model& model, const Position& position);

Position at_event(const Model& model, uint32_t event);

/// Parses `2`, `2:backward` (a phase), `2:ResNet.forward` or `2:backward/conv2d` (the
/// first event of that name inside the first one of the preceding name), `2:bucket 1`
/// (the all-reduce of that bucket), `2:1B0` (an action of a pipeline, also a
/// profiler's range `PP:1B0`), `1B0` (in any step), `#1234` (an id) or `@12.5ms` (also
/// s, us, ns), of rank 0 or, for example, `rank1:2:backward`. Returns nullopt and sets
/// `why` to a sentence if the trace has no such place.
std::optional<Position> parse_position(const Model& model, const std::string& text,
                                       std::string& why);

}  // namespace lockstep::gui
