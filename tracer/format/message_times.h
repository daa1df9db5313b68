// What the messages between machines say about their clocks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// `first`, on machine `before`, happened at or before `second` on machine `after`;
/// each time is on the machine's own (guessed) clock.
struct Happened {
  size_t before = 0, after = 0;
  int64_t first = 0, second = 0;
  int64_t message = 0;  ///< the message that says so, numbered from 0
};

struct MessageTimes {
  std::vector<Happened> all;  ///< in the order of `message`
  int64_t messages = 0;
};

/// Reads the halves of all messages between machines. Each says two things: it is sent
/// before its receiver sees it arrive, and it is not sent before the receiver is ready,
/// which it is not before its collective and its previous message.
/// `time_of(rank, ts)` returns an event's time on the guessed clock.
MessageTimes message_times(const std::vector<Trace>& ranks,
                           const std::vector<size_t>& machine_of,
                           const std::function<int64_t(size_t, int64_t)>& time_of);

}  // namespace lockstep::tracer
