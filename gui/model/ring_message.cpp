#include "gui/model/ring_message.h"

#include <fmt/format.h>

#include "base/units.h"
#include "gui/model/details.h"
#include "tracer/format/args.h"

namespace lockstep::gui {

namespace {

tracer::Json args_of_collective(const Model& model, uint32_t collective) {
  return args_of(model, model.events[model.collectives[collective].events.front()]);
}

bool is_all_reduce(const Model& model, const tracer::Json& args, uint32_t collective) {
  const std::string kind = text_arg(args, "collective");
  const Event& event = model.events[model.collectives[collective].events.front()];
  return kind.empty() ? model.name_of(event) == "all_reduce" : kind == "all_reduce";
}

int place_in_ring(const Model& model, int device) {
  return device == kHostDevice ? 0 : model.devices[device].rank;
}

}  // namespace

bool is_all_reduce(const Model& model, uint32_t collective) {
  return is_all_reduce(model, args_of_collective(model, collective), collective);
}

/// Each chunk starts at the rank after its owner: NCCL's numbering, as in
/// engine/plan/ring.h. In round s, rank r sends chunk r - 1 - s.
RingMessage ring_message(const Model& model, const Copy& copy) {
  RingMessage message;
  if (copy.collective == kNoEvent || copy.round < 0) return message;
  const tracer::Json args = args_of_collective(model, copy.collective);
  const int64_t ranks = number_arg(args, "group_size");
  if (ranks < 2 || ranks > INT16_MAX) return message;
  message.ranks = static_cast<int>(ranks);
  const bool all = is_all_reduce(model, args, copy.collective);
  message.rounds = (all ? 2 : 1) * (message.ranks - 1);
  if (!all || copy.round >= message.rounds) return message;
  message.adds = copy.round < message.ranks - 1;
  if (text_arg(args, "algorithm") != "ring") return message;
  const int from = place_in_ring(model, copy.src);
  message.chunk = (from - 1 - copy.round + 3 * message.ranks) % message.ranks + 1;
  return message;
}

std::string round_in_words(const Model& model, const Underway& now) {
  const Collective& whole = model.collectives[now.collective];
  if (whole.copies.empty()) return "";
  const Copy* one = nullptr;
  for (const uint32_t index : whole.copies) {
    if (model.copies[index].round == now.round) one = &model.copies[index];
  }
  if (one == nullptr) return "all messages have arrived";
  if (now.awaited >= 0) return fmt::format("waiting for rank {}", now.awaited);
  const RingMessage message = ring_message(model, *one);
  const bool modelled =  // Gloo does not report when messages travel
      tracer::bool_arg(args_of(model, model.events[one->event]), "modelled");
  std::string text =
      fmt::format("{}round {}", modelled ? "modelled " : "", now.round + 1);
  if (message.rounds > 0) text += fmt::format(" of {}", message.rounds);
  if (!is_all_reduce(model, now.collective)) return text + ": passed on";
  if (message.chunk < 0) return text;
  const std::string of = fmt::format("chunk k of {}", message.ranks);
  return text + (message.adds ? ": +k adds " + of + " to the next rank's"
                              : ": =k replaces " + of + " with its sum");
}

}  // namespace lockstep::gui
