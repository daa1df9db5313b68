// The loss of a whole batch, made from the recorded loss of a part of it.
#pragma once

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// The loss of the whole batch, on one device: its events move more bytes, and take
/// longer in proportion.
class Widening {
 public:
  /// From a batch to another. `scalar`: the bytes of an element.
  Widening(int64_t from, int64_t to, int64_t scalar)
      : from_(from), to_(to), scalar_(scalar) {}

  void operator()(Event& event) const;

 private:
  void widen_shapes(Event& event) const;

  int64_t from_, to_, scalar_;
};

}  // namespace lockstep::tracer
