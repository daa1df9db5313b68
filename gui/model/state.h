// What is going on at a Position: a pure function of Model and Position, so that going
// back costs what going forward costs, and n steps on and n back show the same picture.
#pragma once

#include <vector>

#include "gui/model/memory.h"
#include "gui/model/position.h"

namespace lockstep::gui {

/// A copy on its way.
struct Packet {
  uint32_t copy = 0;   ///< index into Model::copies
  float progress = 0;  ///< 0 at the sender, 1 at the receiver
};

/// What the event at the position caused on one device.
struct Effects {
  size_t kernels = 0, collectives = 0, copies_in = 0, copies_out = 0;
  int64_t bytes_in = 0, bytes_out = 0;
  uint32_t first = kNoEvent;  ///< its first kernel or copy there, by time
  uint32_t first_kernel = kNoEvent;
  int64_t kernel_time = 0;  ///< ns, summed
  bool any() const { return kernels + collectives + copies_in + copies_out > 0; }
};

struct DeviceState {
  /// What runs now on the streams compute, copy, comm; kNoEvent where nothing does.
  uint32_t running[3] = {kNoEvent, kNoEvent, kNoEvent};
  uint32_t collective = kNoEvent;  ///< that its rank is in; its messages run inside
  Memory memory;
  int64_t in = 0, out = 0;  ///< bytes through its port since the step began
  Effects effects;          ///< in program order
};

/// A collective on its way, as far as all its ranks have brought it.
struct Underway {
  uint32_t collective = kNoEvent;  ///< index into Model::collectives
  size_t arrived = 0, messages = 0;
  int round = -1;        ///< args.ring_step of what flies now or next
  int awaited = -1;      ///< a rank that has not come to it yet; -1: all have
  bool to_come = false;  ///< in program order: it is caused here and runs later
  bool any() const { return collective != kNoEvent; }
};

struct State {
  Position position;
  int rank = 0;                 ///< whose program the position is in
  int64_t now = 0;              ///< ns since the trace's first event
  size_t step = 0;              ///< index into Model::steps
  uint32_t event = 0;           ///< what the position is about (event_at)
  uint32_t phase = kNoEvent;    ///< the innermost phase around it
  std::vector<uint32_t> stack;  ///< the event and its callers, outermost first
  std::vector<DeviceState> devices;
  int64_t host_in = 0, host_out = 0;
  std::vector<Packet> packets;
  Underway underway;  ///< the first, if there are several

  /// In program order: ns from the event's start to its first effect on a device, and
  /// how many effects there are (counted up to 50,000 events behind it).
  int64_t effects_after = 0;
  size_t effect_count = 0;
};

State state_at(const Model& model, const Position& position);

/// The innermost event that runs on a lane at `ts`, or kNoEvent.
uint32_t running_on(const Model& model, const Lane& lane, int64_t ts);

}  // namespace lockstep::gui
