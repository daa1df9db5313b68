// What 25 MiB buckets cost: the best buckets for a model, a number of devices and
// links.
#pragma once

#include <string>

#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"

namespace lockstep::tracer {

/// A way of cutting the gradients into buckets, and the emulated step with it.
struct BucketChoice {
  std::vector<int64_t> bytes;  ///< of each bucket, in the order of their all-reduces
  int64_t step = 0;            ///< ns
  int64_t after_backward = 0;  ///< ns from the last gradient to the end of the last sum
};

struct BucketChoices {
  BucketChoice given;  ///< the program's own
  BucketChoice best;
  /// Returns what the given buckets cost per step, in ns.
  int64_t cost() const { return given.step - best.step; }
};

/// Finds the buckets whose last all-reduce ends first (plan::best_buckets), from the
/// times at which the gradients of the emulated program are ready, and emulates both.
/// The result is exact for the ring's formula; emulated rings also wait for ports and
/// for the host, so `best` may differ from the best emulated step by those waits.
BucketChoices best_buckets(const Trace& trace, const ConstructedProgram& program,
                           const EmulateOptions& options);

std::string best_buckets_text(const BucketChoices& choices,
                              const ConstructedProgram& program);
Json best_buckets_json(const BucketChoices& choices);

}  // namespace lockstep::tracer
