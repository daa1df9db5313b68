// Where in a trace we are, and how one moves. All functions are pure: they look at the
// Model and return the new Position.
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
  uint32_t place = 0;  ///< in Model::program; meaningful in program order
  float progress = 0.5f;  ///< in program order: how far the event itself is, 0 … 1
  int rank = 0;           ///< in time order: whose program is looked at
  bool operator==(const Position&) const = default;
};

enum class Move : uint8_t {
  into,
  back,  ///< the next event in program order, and the one before
  over,
  back_over,  ///< the next that this event did not cause, and mirrored
  out,
  caller,  ///< the first behind all that its caller caused; the caller
  movement,
  back_movement,  ///< the next and the previous copy or collective
  phase,
  back_phase,
  step,
  back_step,  ///< the next training step; the beginning of this or the last
  first,
  last,
};

/// Whose program a position is in: in program order the rank of its event.
int rank_of(const Model& model, const Position& position);
/// The first and last places of that program.
std::pair<uint32_t, uint32_t> places_of(const Model& model, const Position& position);

/// What another rank does at the same point of its program, or at the same time.
Position at_rank(const Model& model, const Position& position, int rank);

/// The same moment in the other order: the event that started last, and its start.
Position in_program_order(const Model& model, const Position& position);
Position in_time_order(const Model& model, const Position& position);

/// Moves in program order; stays at the ends of its rank's program.
Position moved(const Model& model, const Position& position, Move move);

/// The event that a position is about: in program order the one at its place; in time
/// order the one that its rank started last, or, if that is over, what the training
/// loop's thread does, or the nearest of its callers that still runs.
uint32_t event_at(const Model& model, const Position& position);

/// ns since the trace's first event.
int64_t time_of(const Model& model, const Position& position);

Position at_event(const Model& model, uint32_t event);

/// `2`, `2:backward` (a phase), `2:ResNet.forward` or `2:backward/conv2d` (the first of
/// that name, inside the first of the name before), `#1234` (an id) or `@12.5ms` (also
/// s, us, ns), of rank 0 or, for instance, `rank1:2:backward`. Nothing, and a sentence
/// in `why`, if the trace has no such place.
std::optional<Position> parse_position(const Model& model, const std::string& text,
                                       std::string& why);

}  // namespace lockstep::gui
