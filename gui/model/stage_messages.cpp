#include "gui/model/stage_messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "gui/model/details.h"

namespace lockstep::gui {

namespace {

/// Returns how long a half waited: a send for the other rank to receive, a recv until
/// bytes began to move.
int64_t time_waited(const Model& model, uint32_t half, bool receives) {
  const uint32_t whole = model.collective_of(half);
  const Event& event = model.events[half];
  if (whole == kNoEvent || !model.has_device_times()) return tracer::kNone;
  for (const uint32_t other : model.collectives[whole].events) {
    if (receives || other == half) continue;
    return std::clamp<int64_t>(model.events[other].ts - event.ts, 0, event.dur);
  }
  if (!receives) return tracer::kNone;
  for (const uint32_t index : model.collectives[whole].copies) {
    const Event& copy = model.events[model.copies[index].event];
    return std::clamp<int64_t>(copy.ts - event.ts, 0, event.dur);
  }
  return tracer::kNone;
}

}  // namespace

bool is_chain(const Model& model) {
  return model.ranks() > 1 && model.meta_text(top::mode) == "model-parallel";
}

std::string StageMessage::what() const {
  return fmt::format("{} {}", gradient ? "gradient" : "micro-batch", micro_batch);
}

std::optional<StageMessage> stage_message(const Model& model, uint32_t event) {
  if (event == kNoEvent || model.events[event].what() != Kind::collective) return {};
  const CollectiveArgs own(model, event);
  StageMessage message;
  message.receives = own.facts.collective == tracer::categories::recv;
  message.gradient = own.facts.why == reasons::activation_grad;
  if (!message.receives && own.facts.collective != tracer::categories::send) return {};
  if (!message.gradient && own.facts.why != reasons::activation) return {};
  const int64_t receiver = int_arg(own.args.json(), keys::stage, -1);
  const int64_t sender = receiver + (message.gradient ? 1 : -1);
  message.micro_batch = int_arg(own.args.json(), keys::micro_batch, -1);
  if (receiver < 0 || sender < 0 || message.micro_batch < 0) return {};
  message.stage = message.receives ? receiver : sender;
  message.other_stage = message.receives ? sender : receiver;
  message.bytes = own.facts.bytes;
  message.waited = time_waited(model, event, message.receives);
  return message;
}

uint32_t find_message(const Model& model, uint32_t step, std::string_view why) {
  if (why != reasons::activation && why != reasons::activation_grad) return kNoEvent;
  const size_t own = model.step_of(model.events[step]);
  const int rank = model.rank_of(step);
  for (uint32_t i = 0; i < model.events.size(); ++i) {
    const Event& event = model.events[i];
    if (event.what() != Kind::collective || model.rank_of(i) != rank) continue;
    if (model.step_of(event) != own) continue;
    if (string_arg(args_of(model, event), keys::why) == why) return i;
  }
  return kNoEvent;
}

std::string message_in_words(const Model& model, const Underway& now) {
  if (!now.any()) return "";
  const Collective& whole = model.collectives[now.collective];
  const auto first = stage_message(model, whole.events.front());
  if (!first) return "";
  const int64_t from = first->receives ? first->other_stage : first->stage;
  const int64_t to = first->receives ? first->stage : first->other_stage;
  if (now.awaited >= 0) {
    return fmt::format("stage {} waits for stage {}", first->stage, first->other_stage);
  }
  const bool arrived = now.messages > 0 && now.arrived == now.messages;
  return arrived ? fmt::format("it has arrived at stage {}", to)
                 : fmt::format("stage {} sends it to stage {}", from, to);
}

}  // namespace lockstep::gui
