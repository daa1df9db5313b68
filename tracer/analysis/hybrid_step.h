// A training or evaluation step of `--mode hybrid`, and its ledger.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/plan/hybrid_bytes.h"
#include "tracer/analysis/steps.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {

inline constexpr std::string_view kHybrid = "hybrid";  ///< the mode

/// What a step states about itself.
struct HybridStep {
  explicit HybridStep(const Step& step);

  /// Returns whether the facts are consistent: different devices, and a batch that is
  /// cut into chunks as torch.chunk cuts it.
  bool stated() const;
  size_t chunks() const { return step.chunks.size(); }
  /// Returns the part of `bytes` that belongs to chunk i: all samples have one size.
  int64_t share(int64_t bytes, size_t i) const {
    return bytes / step.batch * step.chunks[i];
  }

  const Step& step;
  std::vector<int64_t> devices;       ///< of the features
  int64_t classifier = kNone;         ///< its device
  int64_t parameters, buffers, sent;  ///< bytes of the features; sent to each replica
  bool synced;                        ///< the features' gradients are summed
};

/// The bytes between devices of a hybrid's training steps, beside those of
/// DistributedDataParallel for the same model on as many devices. Without images and
/// labels, the weights that the replicas get once, and running statistics.
struct HybridLedger {
  struct Row {
    int64_t device = kNone;
    plan::PortBytes hybrid;  ///< mean over the steps
    plan::PortBytes ddp;     ///< closed form: a ring all-reduce of all gradients
  };
  int64_t steps = 0;      ///< those that sum gradients; 0: not a hybrid's trace
  std::vector<Row> rows;  ///< the last is the classifier's
};

HybridLedger hybrid_ledger(const Trace& trace);

/// Returns a table for `trace summary`; "" without steps.
std::string hybrid_text(const HybridLedger& ledger);
Json hybrid_json(const HybridLedger& ledger);

}  // namespace lockstep::tracer
