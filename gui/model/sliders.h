// The sliders of "what if": which values each can take, and why some cannot be moved.
//
// A question is a tracer::WhatIf; a slider sets one part of it. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracer/emulate/what_if.h"

namespace lockstep::gui {

/// What made the program of a trace, and its times.
enum class Provenance : uint8_t {
  recorded,
  emulated,     ///< the program was recorded, and its times are the emulator's
  constructed,  ///< both are the emulator's
};

/// Returns what the trace's own times are called beside those of a question:
/// `recorded`, or `original`.
const char* own_times(Provenance provenance);

/// What can be asked about a recording.
struct WhatIfRoom {
  std::string mode;                   ///< of the recording
  int devices = 1;                    ///< of the recording
  std::vector<int64_t> batches;       ///< recorded ones; empty: nothing is constructed
  std::string why_not;                ///< … and the reason
  std::vector<std::string> profiles;  ///< names of hardware
  int64_t batch = 0;  ///< of the recording: of each device unless the question has one
  Provenance provenance = Provenance::recorded;
};

/// In the order in which they are shown: first what changes a recording of a CPU most.
enum class Knob : uint8_t {
  mode,
  devices,
  batch,
  compute,
  host,
  bucket_cap,
  first_bucket,
  all_reduce,
  hardware,
  gb_per_s,
  latency,
  interference,
};
inline constexpr size_t kKnobs = 12;

/// A slider as it stands.
struct SliderFace {
  std::string name, value;
  std::string off;   ///< why it cannot be moved; "" if it can
  size_t stop = 0;   ///< the stop that it stands at, or the nearest one
  size_t stops = 1;  ///< how many there are
  std::string tip;   ///< what it sets, as a sentence
  bool operator==(const SliderFace&) const = default;
};

SliderFace face_of(Knob knob, const tracer::WhatIf& question, const WhatIfRoom& room);
/// Returns the question with one slider moved to a stop (0 to stops - 1).
tracer::WhatIf with_stop(Knob knob, size_t stop, tracer::WhatIf question,
                         const WhatIfRoom& room);

/// Returns the first question about a recording: DistributedDataParallel on four
/// devices if it can be constructed, else the recorded program.
tracer::WhatIf first_question(const WhatIfRoom& room);

/// Times in ns.
struct WhatIfTimes {
  int64_t step = 0, recorded = 0;
  int64_t alone = 0;     ///< one such device with one device's share; 0 if unknown
  int64_t defaults = 0;  ///< the recorded program with the default links and speeds; 0
                         ///< if that is the question
};
/// Returns what the sliders give, as a sentence. Several devices are compared with one
/// emulated device, by images per second; the recorded step is said beside them.
std::string step_words(const tracer::WhatIf& question, const WhatIfRoom& room,
                       const WhatIfTimes& times);
/// Links are also judged with devices this many times as fast: a GPU beside a CPU core.
inline constexpr double kFasterDevices = 50;

/// What links change that are not the default ones, in steps (ns).
struct LinkEffect {
  int64_t before = 0,
          after = 0;  ///< with the default links; with those of the question
  int64_t fast_before = 0, fast_after = 0;  ///< the same with kFasterDevices; else 0
  bool is_little() const;                   ///< less than 1 % of the step
};
/// Returns that links change little, if so, and what they change on faster devices;
/// that hardware keeps the speed of kernels; "" if links were not moved.
std::string links_words(const tracer::WhatIf& question, const LinkEffect& effect);
/// Returns why only the recorded times can be changed, and what to open instead; "" if
/// other programs can be asked for.
std::string retimed_words(const WhatIfRoom& room);

/// Returns the change from one time to another: "−38 %", "+12 %", "±0 %".
std::string change_text(int64_t before, int64_t after);

}  // namespace lockstep::gui
