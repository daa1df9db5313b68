// "What if": the state of the sliders, and the emulated trace beside the recorded one.
//
// The App asks, another thread may answer: `WhatIfLab` holds what that thread needs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gui/app/app.h"
#include "gui/model/gaps.h"
#include "gui/model/ghost.h"
#include "gui/model/sliders.h"
#include "gui/model/why.h"

namespace lockstep::gui {

/// What an answer is computed from. Others may use the Model meanwhile.
struct WhatIfSource {
  WhySource recorded;
  std::vector<WhySource> further;  ///< other open traces: perhaps of other batches
  std::vector<tracer::Hardware> profiles;
};

struct WhatIfReply {
  const char* text = nullptr;  ///< identifies the recorded trace
  tracer::WhatIf question;
  WhatIfRoom room;
  int64_t recorded_step = 0;         ///< ns
  std::optional<int64_t> step;       ///< ns
  std::optional<int64_t> alone;      ///< ns, of one such device with one share
  std::vector<int64_t> defaults;     ///< ns, steps of the recorded program with the
                                     ///< default links and speeds
  LinkEffect links;                  ///< of links that are not the default ones
  std::string problem;               ///< why there is no answer
  std::shared_ptr<OpenTrace> trace;  ///< nullptr if only the step was asked for
  std::vector<Gap> gaps;             ///< of that trace, with what each waits for
};

/// Answers questions about one trace, one at a time, on any thread.
class WhatIfLab {
 public:
  explicit WhatIfLab(WhatIfSource source);
  ~WhatIfLab();
  /// Which text it was made for.
  const char* text() const { return source_.recorded.text.data(); }

  /// Computes the step alone if that takes milliseconds. Never throws. Without a
  /// question, answers the first one.
  WhatIfReply step(const std::optional<tracer::WhatIf>& question);
  /// Computes the whole emulated trace, with its analysis. Never throws.
  WhatIfReply answer(const std::optional<tracer::WhatIf>& question);

 private:
  WhatIfReply begin(const std::optional<tracer::WhatIf>& question);
  std::optional<int64_t> step_alone(tracer::WhatIf question);
  int64_t length_of(const tracer::WhatIf& question);
  LinkEffect effect_of_links(tracer::WhatIf question, int64_t step);
  const std::vector<int64_t>& default_steps();

  WhatIfSource source_;
  std::unique_ptr<tracer::WhatIfAnswers> answers_;
  std::vector<int64_t> defaults_;
};

struct WhatIfPanel {
  const char* text = nullptr;  ///< of the recorded trace to which this belongs
  size_t at = 0;               ///< index of its tab
  std::optional<tracer::WhatIf> question;  ///< nullopt until the room is known
  WhatIfRoom room;
  int64_t recorded_step = 0;               ///< ns
  std::optional<int64_t> step;             ///< ns, of the question `step_of`
  std::optional<int64_t> alone;            ///< ns, of one such device with one share
  std::vector<int64_t> defaults;           ///< as in WhatIfReply
  LinkEffect links;                        ///< as in WhatIfReply
  std::optional<tracer::WhatIf> step_for;  ///< the question of `step` and `alone`
  std::optional<tracer::WhatIf> step_of, answered;  ///< asked for last
  std::string problem;                              ///< of the question `answered`
  /// While `emulated`, the recorded trace; else the emulated one, if there is one.
  std::optional<OpenTrace> other;
  bool emulated = false;
  bool wanted = true;     ///< the first answer is shown at once
  Ghost ghost;            ///< of the recorded step, in the lanes of the emulated trace
  size_t ghost_step = 0;  ///< of the emulated trace: where the ghost is
  std::vector<Gap> gaps;  ///< of the emulated trace
  std::vector<tracer::Hardware> profiles;
};

/// Opens the sliders of the current trace. `question`: where they stand.
void open_what_if(App& app, std::optional<tracer::WhatIf> question = {});
/// Shows the recorded trace again and forgets the sliders. Tabs change after it.
void leave_what_if(App& app);
/// Moves a slider.
void ask(App& app, const tracer::WhatIf& question);
/// Shows the recorded trace instead of the emulated one, or back. Opens the sliders if
/// there is no emulated one yet.
void toggle_emulated(App& app);
/// Returns whether the current trace is the emulated one of the sliders.
bool shows_emulated(const App& app);
/// Returns the recorded trace of the sliders, whichever trace is shown. They are open.
const OpenTrace& recorded_of(const App& app);

/// Returns what is to be answered: nothing is left to do if it is nullptr. `whole`: the
/// trace, else the step alone.
const WhatIfPanel* awaits_what_if(App& app, bool whole);
WhatIfSource what_if_source(App& app);
void take_what_if(App& app, WhatIfReply reply);
/// Moves the ghost and the timeline to the step in focus, if it is an emulated one.
void follow_step(App& app);
/// Returns the times of the step in focus; of a program that was made from one step, of
/// that one.
WhatIfTimes step_times(const App& app);

/// Returns the command that gives the same times: `./lockstep emulate TRACE --mode …`.
std::string what_if_command(const App& app);

}  // namespace lockstep::gui
