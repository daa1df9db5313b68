// What happens at a Position: a pure function of Model and Position, so that moving
// back costs as much as moving forward, and n steps forward and n back restore it.
#pragma once

#include <vector>

#include "gui/model/position.h"

namespace lockstep::gui {

/// A copy in flight.
struct Packet {
  uint32_t copy = 0;   ///< index into Model::copies
  float progress = 0;  ///< 0 at the sender, 1 at the receiver
  bool waits = false;  ///< it has not begun: only in Still
};

/// The work on one device caused by the event at the position.
struct Effects {
  size_t kernels = 0, collectives = 0, copies_in = 0, copies_out = 0;
  int64_t bytes_in = 0, bytes_out = 0;
  uint32_t first = kNoEvent;  ///< its earliest kernel or copy on this device
  uint32_t first_kernel = kNoEvent;
  int64_t kernel_time = 0;  ///< ns, summed
  bool any() const { return kernels + collectives + copies_in + copies_out > 0; }
};

struct DeviceState {
  /// The events running on the compute, copy and comm streams; kNoEvent if idle. In
  /// another program's trace: a kernel, a copy (or memset) and a collective, on
  /// whichever streams they run.
  uint32_t running[3] = {kNoEvent, kNoEvent, kNoEvent};
  uint32_t collective = kNoEvent;  ///< the one its rank is in; its messages run inside
  Memory memory;
  bool as_queued = true;    ///< `memory` is as the host has queued it: see memory.h
  int64_t in = 0, out = 0;  ///< bytes through its port since the start of the step
  Effects effects;          ///< in program order
};

/// A collective in progress.
struct Underway {
  uint32_t collective = kNoEvent;  ///< index into Model::collectives
  size_t arrived = 0, messages = 0;
  int round = -1;        ///< args.ring_step of the current or next messages
  int awaited = -1;      ///< a rank that has not yet joined; -1: all have
  bool to_come = false;  ///< in program order: caused here, runs later
  bool any() const { return collective != kNoEvent; }
};

/// What is under way at State::now itself. While an event plays, the stage shows what
/// it will cause as if it happened at once (State::packets); a paused picture shows
/// this.
struct Still {
  /// The copies that have begun and not ended, wherever they come from; then, for each
  /// of State::links, the first copy if it is still to come.
  std::vector<Packet> packets;
  Underway underway;  ///< the collective of the first of these that is a message
};

struct State {
  Position position;
  int rank = 0;                 ///< the rank whose program the position is in
  int64_t now = 0;              ///< ns since the trace's first event
  size_t step = 0;              ///< index into Model::steps
  uint32_t event = 0;           ///< the event at the position (event_at)
  uint32_t phase = kNoEvent;    ///< the innermost phase or step around it
  std::vector<uint32_t> stack;  ///< the event and its callers, outermost first
  std::vector<DeviceState> devices;
  int64_t host_in = 0, host_out = 0;
  std::vector<Packet> packets;
  /// In program order: one copy (an index into Model::copies) for each pair of memories
  /// between which the event moves data.
  std::vector<uint32_t> links;
  Underway underway;  ///< the first one if there are several
  Still still;

  /// In program order: ns from the event's start to its first effect on a device, and
  /// the number of effects (among the first 50,000 events that follow it).
  int64_t effects_after = 0;
  size_t effect_count = 0;
};

State state_at(const Model& model, const Position& position);

/// Returns the innermost event that runs on a lane at `ts`, or kNoEvent.
uint32_t running_on(const Model& model, const Lane& lane, int64_t ts);
/// Returns the task that runs on a device's lane at `ts`, of several the one that began
/// last, or kNoEvent.
uint32_t task_on(const Model& model, const Lane& lane, int64_t ts);

}  // namespace lockstep::gui
