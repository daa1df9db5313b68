// Why N devices are not N times as fast: devices x step time, where each device is at
// each moment in exactly one class. `speedup.h` divides the longest path instead.
//
// The order of precedence, for one device at one moment:
//   1. A kernel runs: `computing`, if it belongs to forward, loss, backward, the
//      optimizer or no phase; else its phase (the first one listed in Spent).
//   2. A kernel has all that it waits for, except a core: `waiting for a core`; on
//      devices that are GPUs, it has not started: `waiting for the GPU`.
//   3. It sends or receives a copy: the copy's reason.
//   4. Inside a collective: `collectives` while a message arrives at it, else
//      `imbalance`: other ranks have not sent. Where the messages were not recorded or
//      not timed, nothing tells the two apart: `collectives or imbalance`.
//   5. Nothing of this: the cause of its next task's delay. If that has not been
//      launched, the thread that launches it works (`host`), loads data (`loader`) or
//      waits in turn; if it has, it waits for an event. An awaited event of another
//      device counts as what that device does (3, 4), or as `imbalance` if it computes
//      or waits for a core or the GPU. A rank whose step is over, or has not begun,
//      waits for the others: `imbalance`.
//   6. All that was awaited is over: `wake-ups`.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "tracer/analysis/steps.h"
#include "tracer/format/processor.h"

namespace lockstep::tracer {

enum class Spent : uint8_t {
  computing,
  core,
  gpu,
  scatter,
  replicate,
  gather,
  reduce,
  activations,
  push_pull,
  bucket_copies,
  collectives,
  undivided,
  other,
  imbalance,
  lock,
  loader,
  host,
  wake_ups,
  unknown
};
inline constexpr size_t kSpents = 19;

struct SpentWords {
  const char* name;  ///< `waiting for a core`
  const char* rule;  ///< what belongs to it, in one sentence
};
const SpentWords& words_of(Spent spent);
/// Returns the rule for devices on `processor`: it may be longer if they share GPUs.
const char* rule_of(Spent spent, Processor processor);

/// Times in ns, by class.
struct SpentTimes {
  std::array<int64_t, kSpents> times{};
  int64_t& operator[](Spent spent) { return times[static_cast<size_t>(spent)]; }
  int64_t operator[](Spent spent) const { return times[static_cast<size_t>(spent)]; }
  int64_t sum() const;
};

struct DeviceSplit {
  int64_t rank = 0, device = 0;
  SpentTimes spent;  ///< `spent.sum()` is the step's length
};

/// What a device does, or what it waits for, from `begin` to `end`.
struct SpentPiece {
  int64_t begin = 0, end = 0;
  Spent spent = Spent::unknown;
};

struct DevicePieces {
  int64_t rank = 0, device = 0;
  std::vector<SpentPiece> pieces;  ///< the whole step, without gaps
};

/// One step, or the mean of several.
struct Split {
  int64_t step = 0;  ///< ns
  std::vector<DeviceSplit> devices;
  SpentTimes spent;  ///< of all devices; `spent.sum()` is devices x step
  /// False: the times mean nothing (devices of type null), or the step is too long to
  /// multiply; all else is then empty.
  bool known = false;
};

/// Splits the steps of one trace, whose waits are looked up only once.
class Splitter {
 public:
  /// The trace and its lanes must outlive this.
  Splitter(const Trace& trace, const Lanes& lanes);
  ~Splitter();

  /// Divides one step, of one rank or joined (see join_ranks), from `begin` to
  /// `last_end`. Whatever the devices do in that time counts, also for other steps.
  /// Returns nothing where Split::known is false.
  std::vector<DevicePieces> pieces(const Step& step) const;

 private:
  struct Waits;
  const std::unique_ptr<const Waits> waits_;
};

/// Adds up the pieces of a step. Unknown if there are none.
Split split_of(const Step& step, const std::vector<DevicePieces>& devices);

/// Returns the mean, rounded so that the classes still add up to devices x step.
/// Unknown if there is none or one of them is unknown.
Split mean_split(const std::vector<const Split*>& splits);

std::string split_title(const Split& split);  ///< "4 devices x 878 ms = 3.51 s"
std::string split_text(const Split& split);   ///< a table; "" if unknown
Json split_json(const Split& split);          ///< integer nanoseconds; null if unknown

/// Returns a bar of at most 24 characters.
std::string text_bar(double share);

}  // namespace lockstep::tracer
