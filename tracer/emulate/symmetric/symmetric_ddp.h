// One DistributedDataParallel step on any number of ranks, without an event for each
// message: all ranks run the same program, so one of them is re-timed, and only what
// differs between ranks is computed for each.
#pragma once

#include <memory>
#include <vector>

#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"

namespace lockstep::tracer {

/// The largest number of ranks.
inline constexpr int kMostRanks = 4096;

/// What re-timing says of all ranks.
struct SymmetricStep {
  int64_t length = 0;  ///< ns: of the step, from the first rank's begin to the last end
  std::vector<int64_t> rank_ends;  ///< by rank, ns from the step's begin
  /// False if a copy to the host would meet messages of a collective at a port. Such a
  /// copy is taken to wait for nothing, which emulate() does not do.
  bool exact = true;
};

/// Returns the option for which each message of DDP's program has to be an event:
/// `--hardware`. nullptr: there is none.
const char* needs_messages(const ConstructedProgram& program,
                           const EmulateOptions& options);
/// Throws std::runtime_error that names the option if there is one, but more than
/// kMostDevices ranks.
void require_messages_possible(const ConstructedProgram& program,
                               const EmulateOptions& options);

class SymmetricDdp {
 public:
  /// As construct_ddp(), for up to kMostRanks ranks. `trace` must outlive this object.
  /// Throws std::runtime_error as construct_ddp() does, and if the program is for
  /// hardware: its links are shared, and how depends on each message.
  SymmetricDdp(const Trace& trace, const ConstructedProgram& program);
  ~SymmetricDdp();
  SymmetricDdp(SymmetricDdp&&) noexcept;

  /// Returns exactly the length that emulate() gives the program of construct_ddp().
  /// `options.hardware` and `measured_durations` must not be set.
  SymmetricStep retime(const EmulateOptions& options) const;

  /// Returns a trace of some ranks, with their times and without messages between
  /// them. The ranks are numbered from 0; their names say which they are.
  Trace representatives(const EmulateOptions& options,
                        const std::vector<int>& ranks) const;

  int64_t batch() const;  ///< of all ranks

 private:
  struct Program;
  std::unique_ptr<Program> program_;
};

/// Returns ranks that show what the others do: the first two, one in the middle, and
/// the last; all, if there are no more than four.
std::vector<int> representatives_of(int ranks);

}  // namespace lockstep::tracer
