// The two halves of a message between ranks: `send` and `recv`.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "tracer/format/facts.h"

namespace lockstep::tracer {

/// What the two halves of a message have in common. Refers to the event's texts.
using MessageKey =
    std::tuple<std::string_view, std::string_view, int64_t, int64_t, int64_t, int64_t>;

inline MessageKey message_of(const Event& half) {
  const CopyFacts facts = copy_facts(half);
  return {facts.group, facts.why, facts.seq, facts.ring_step, facts.src, facts.dst};
}

}  // namespace lockstep::tracer
