// One question to the emulator: which program, on which hardware. The viewer's sliders
// set it, and it is a command line.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"
#include "tracer/emulate/hardware/hardware.h"

namespace lockstep::tracer {

struct WhatIf {
  std::string mode;   ///< `dp`, `ddp`; empty: the recorded program is re-timed
  int devices = 2;    ///< of a constructed program; so are the next four
  int64_t batch = 0;  ///< of all devices; 0: the recorded one on each of them
  int bucket_cap_mb = 25;
  int first_bucket_mb = 1;
  std::string all_reduce;  ///< `ring`, `tree`; empty: as the library chooses
  std::string hardware;    ///< a profile's name; empty: `link`
  Link link;
  double compute_scale = 1, host_scale = 1;
  /// As EmulateOptions; empty: what the hardware says, else 1.
  std::optional<double> interference;

  bool operator==(const WhatIf&) const = default;
};

/// Returns the options of `lockstep emulate` that differ from their defaults:
/// `--mode ddp --devices 16`. Numbers are written so that they are read back exactly.
std::string what_if_options(const WhatIf& question);
/// Parses such options, in any order, with spaces or `=` before the values. Throws
/// std::invalid_argument that names what is wrong.
WhatIf parse_what_if(std::string_view text);

/// Answers questions about one recording. Keeps what several answers have in common.
/// Not thread-safe.
class WhatIfAnswers {
 public:
  /// `further`: recordings of other batches. `profiles`: the hardware that can be
  /// named.
  WhatIfAnswers(Trace recorded, std::vector<Trace> further,
                std::vector<Hardware> profiles);
  ~WhatIfAnswers();
  WhatIfAnswers(WhatIfAnswers&&) noexcept;

  const Trace& recorded() const;
  /// Returns the batches that were recorded, in order; empty unless the recording is of
  /// one device that a program can be constructed from.
  const std::vector<int64_t>& batches() const;
  /// Returns the batch of the recording itself, which a question without one has on
  /// each device; 0 if no program can be constructed from it.
  int64_t batch() const;
  /// Returns why no program can be constructed from it; "" if one can.
  const std::string& why_not_constructed() const;

  /// Returns the length of the step (ns) without an event for each message, or
  /// std::nullopt if this program needs them. Takes milliseconds. Throws as answer().
  std::optional<int64_t> step(const WhatIf& question);
  /// Returns the program with its times: of more than kMostDevices ranks, some ranks
  /// that represent the others. Throws std::runtime_error as construct() and emulate()
  /// do, and if no hardware has that name.
  Trace answer(const WhatIf& question);
  /// Returns the length of the recorded step that is repeated, else of the first one.
  int64_t recorded_step() const;

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

}  // namespace lockstep::tracer
