// Laws of a collective's messages, of what its ranks pack, and of what it waits for.
#pragma once

#include "tracer/analysis/collectives.h"
#include "tracer/analysis/judge.h"

namespace lockstep::tracer {

/// Opens the laws when constructed. REQUIRES: the trace has all ranks.
class MessageLaws {
 public:
  explicit MessageLaws(TraceUnderTest& test);

  /// Judges one collective. REQUIRES: at least one rank has called it.
  void judge(const WholeCollective& whole, int64_t ranks);

 private:
  void judge_facts(const WholeCollective& whole);
  void judge_ring(const WholeCollective& whole, int64_t ranks);
  void judge_chain(const WholeCollective& whole, const std::vector<int64_t>& ring);
  void judge_rounds(const WholeCollective& whole, const std::vector<int64_t>& ring);
  void judge_forwarding(const WholeCollective& whole);
  void judge_first(const CollectiveMessage& message, const WholeCollective& whole);

  const TraceUnderTest& test_;
  Law &facts_, &steps_, &forwarding_;
};

/// Opens and judges `collective-deps`: a collective waits for the kernels that its
/// thread enqueued before it. It would read what they have not written yet.
void judge_collective_deps(TraceUnderTest& test);

/// Returns whether `waiting` waits for `awaited`, or for a later task of that stream: a
/// stream runs its tasks one after another.
bool waits_for(const TraceUnderTest& test, const Event& waiting, const Event& awaited);

}  // namespace lockstep::tracer
