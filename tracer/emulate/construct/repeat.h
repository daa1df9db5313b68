// Repeats the program of one rank on all ranks, and connects them by messages.
#pragma once

#include "tracer/emulate/construct/recorded_step.h"

namespace lockstep::tracer {

/// A collective of the program that is repeated.
struct RepeatedCollective {
  int64_t id = kNone;  ///< of its event
  int64_t numel = 0, item_bytes = 0;
  /// Of a tree: into how many pieces the buffer is cut (0: not a tree), and how many
  /// ranks share a machine.
  int pieces = 0, per_machine = 1;
};

/// Returns the type of a trace's devices: `cpu`.
std::string device_type(const Json& lockstep);

enum class Ranks : uint8_t { one, one_per_device };

/// Replaces the parts of a trace's description that speak of one device.
void describe_devices(Json& lockstep, int count, Ranks ranks);

/// Returns the length that the event of a collective must have, so that its messages
/// lie inside it (ns; the emulator replaces it).
int64_t room_for_messages(int ranks);
int64_t room_for_tree(int ranks, int pieces);

/// What a rank does, and a number above all ids in it.
struct ProgramOfRank {
  const std::vector<Event>* events = nullptr;
  int64_t ids = 0;
};

/// Returns a trace in which each rank has the events of its program. The id `i` of rank
/// r becomes `i` + r · (the largest `ids`); that product of the number of ranks is the
/// first free id. The trace is not sorted, and has room for so many `further` events.
Trace repeat_programs(const Trace& trace, const RecordedStep& step,
                      const std::vector<ProgramOfRank>& programs, size_t further = 0);

/// Appends the names of the lanes of a device, as those of the recorded one.
void name_device_lanes(const Trace& trace, const RecordedStep& step, int device,
                       std::vector<Event>& events);

/// Returns a trace in which each of `ranks` ranks has `events`, with ids, lanes and
/// devices of its own. Collectives exchange messages around a ring: all-reduces as
/// plan::ring_all_reduce, or along a tree (plan::tree_all_reduce), broadcasts from each
/// rank to the next.
Trace repeat_on_ranks(const Trace& trace, const RecordedStep& step,
                      const std::vector<Event>& events,
                      const std::vector<RepeatedCollective>& collectives, int ranks);

}  // namespace lockstep::tracer
