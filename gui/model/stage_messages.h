// Pipelines whose stages are ranks: the messages between two stages. Each has an event
// on both ranks, `send` and `recv`, and one copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gui/model/model.h"
#include "gui/model/state.h"
#include "tracer/format/keys.h"

namespace lockstep::gui {

/// Returns true if the ranks are the stages of a pipeline (mode model-parallel). Each
/// sends to its neighbours only; rank 0 and the last one are neighbours only if a rank
/// has several stages.
bool is_chain(const Model& model);

/// One rank's half of a message.
struct StageMessage {
  bool receives = false;     ///< else sends
  bool gradient = false;     ///< of activations; else activations
  int64_t stage = -1;        ///< that of this half's rank
  int64_t other_stage = -1;  ///< that of the other half's rank
  int64_t micro_batch = -1;
  int64_t bytes = 0;
  int64_t waited = tracer::kNone;  ///< ns: a recv until bytes moved, a send until the
                                   ///< other rank received; kNone if not recorded
  /// "micro-batch 0" for its activations, "gradient 0" for their gradient.
  std::string what() const;
};

/// Returns nullopt if the event is not such a half, or does not say which.
std::optional<StageMessage> stage_message(const Model& model, uint32_t event);

/// Returns the first half of a message sent for a reason (`activation`) by or to the
/// rank of an event `step`, in that step; the copy may be an event of the other rank.
/// Returns kNoEvent if there is none.
uint32_t find_message(const Model& model, uint32_t step, std::string_view why);

/// Returns, for example, "stage 1 sends it to stage 2"; "stage 2 waits for stage 1"
/// while the other half has not begun. "" if `now` is not such a message.
std::string message_in_words(const Model& model, const Underway& now);

}  // namespace lockstep::gui
