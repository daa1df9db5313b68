// English: all text of the viewer's narration, and of its tour. `language.h` explains
// the template syntax; another language would be another set of files like these
// (`english_host.h`, `english_devices.h`, `english_criterion.h`,
// `english_averages.h`, `english_shared.h`, `english_pipeline.h`,
// `english_hybrid.h`).
//
// Keys start with the kind of event, followed by the special case. Facts, if known:
//   {name} {time} {share}  the event's name, duration, share of the step
//   {device} {from} {to}   "device 1", "the host"; {From} and {To} begin a sentence
//   {bytes} {rate}         "44.7 MB", "10.5 GB/s" or "71.8 GFLOP/s"
//   {shape} {shape2}       shapes of the first two operands: "[8, 3, 32, 32]"
//   {module} {type}        "layer1.0.conv1", "Conv2d"; {callee} is {module} or "model"
//   {cost}                 a phase's time on the devices
//   {length} {host_time}   a step's length, and how long its host event lasts
//   {delay} {run}          from the host's request to the device's start; the run time
//   {behind}               how long after the host the devices finish
//   {ahead} {later}        filled from the keys ahead… and later/… below
//   {moves} {turns}        copies through one port: "one after another"
//   {each}                 bytes of each of {others} devices; {other} if only one
//   {whole}                bytes of all parameters, if DataParallel wraps only some
//   {rank} {ranks} {bucket} {params} {chunk} {last_chunk} {sent}
//   {recorded}             of several ranks: how many the trace has
//   {awaited} {awaited_list} {waited} {staleness} {lock_wait}
//                          of workers: see `gui/model/worker_facts.cpp`
//   {behind_backward} {behind_others} {exposed} {exposed_wait}
//                          facts of DistributedDataParallel:
//                          see `gui/model/rank_facts.cpp`
//   {stage} {micro_batch}  of a pipeline; the stage is the one that receives, and of a
//                          send or recv that of its rank; {other_stage}, {waited}
//   {copies} {kernels} {chunks} {threads} {tensors} {others}  counts, for plurals too
#pragma once

#include <algorithm>
#include <array>

#include "gui/text/english_averages.h"
#include "gui/text/english_criterion.h"
#include "gui/text/english_devices.h"
#include "gui/text/english_host.h"
#include "gui/text/english_hybrid.h"
#include "gui/text/english_pipeline.h"
#include "gui/text/english_servers.h"
#include "gui/text/english_shared.h"

namespace lockstep::gui {

/// All templates in one table. A key may occur several times: see `language.h`.
inline constexpr auto kEnglish = [] {
  std::array<Template, std::size(kEnglishHost) + std::size(kEnglishDevices) +
                           std::size(kEnglishCriterion) + std::size(kEnglishAverages) +
                           std::size(kEnglishShared) + std::size(kEnglishPipeline) +
                           std::size(kEnglishHybrid) + std::size(kEnglishServers)>
      all{};
  auto end = std::copy(std::begin(kEnglishHost), std::end(kEnglishHost), all.begin());
  end = std::copy(std::begin(kEnglishDevices), std::end(kEnglishDevices), end);
  end = std::copy(std::begin(kEnglishCriterion), std::end(kEnglishCriterion), end);
  end = std::copy(std::begin(kEnglishAverages), std::end(kEnglishAverages), end);
  end = std::copy(std::begin(kEnglishShared), std::end(kEnglishShared), end);
  end = std::copy(std::begin(kEnglishPipeline), std::end(kEnglishPipeline), end);
  end = std::copy(std::begin(kEnglishHybrid), std::end(kEnglishHybrid), end);
  std::copy(std::begin(kEnglishServers), std::end(kEnglishServers), end);
  return all;
}();

/// English has one form for 1 and one for all other numbers.
inline const Language& english() {
  static constexpr Language language{
      kEnglish, [](int64_t count) -> size_t { return count == 1 ? 0 : 1; }};
  return language;
}

// "What is this?" in five cards, each next to a part of the screen: the stage, the
// transport, the calls and the source, the numbers, the timeline (App::tour_places).

struct TourCard {
  const char* title;
  const char* text;  ///< **strong**
};

inline constexpr std::array<TourCard, 5> kTour = {{
    {"One training step, recorded",
     "The **stage** shows the host and its devices. Data flies between them while it "
     "is copied: the larger a packet, the more bytes; its colour shows why. The "
     "sentence below describes what is happening, with numbers."},
    {"Play it, or step",
     "**space** plays. **→** steps over to the next call, **↓** into what this one "
     "causes, **↑** up to its caller, **←** back. All of this also works backwards."},
    {"Who calls forward?",
     "The **calls** from the training step down to here, with what came before and "
     "what comes next. Below them, the source code that runs, with the current line "
     "highlighted."},
    {"Where time and bytes go",
     "The bar: what all devices did, or waited for; **y** explains why they are not as "
     "many times as fast. Below: each **phase** of this step, the bytes through each "
     "**port**, and everything recorded about the current event."},
    {"The whole trace",
     "Every thread and every device **stream**. Drag to pan, wheel to zoom, click an "
     "event to go there, drag the playhead to scrub. **?** lists all keys."},
}};

}  // namespace lockstep::gui
