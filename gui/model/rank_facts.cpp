// Facts about an event if several ranks run the same program.
#include <algorithm>

#include "gui/model/collectives.h"
#include "gui/model/event_facts.h"
#include "gui/model/stage_messages.h"
#include "gui/model/transfers.h"

namespace lockstep::gui {

namespace {

using tracer::Json;

constexpr uint32_t kMostOfOneCause = 20'000;

}  // namespace

bool EventFacts::is_ddp() const {
  return model_.meta_text(top::mode) == "ddp" && model_.ranks() > 1;
}

bool EventFacts::averages_weights() const {
  return model_.meta_text(top::mode) == "local-sgd" && model_.ranks() > 1;
}

void EventFacts::add_rank() {
  const int ranks = model_.ranks_told();
  if (ranks < 2) return;
  facts_.number("rank", model_.number_of(model_.lanes[event_.lane].rank));
  facts_.number("ranks", ranks);
  facts_.number("others", ranks - 1);
  if (const int recorded = model_.ranks_recorded(); recorded > 1) {
    facts_.number("recorded", recorded);
  }
}

void EventFacts::add_rank_cost(const std::string& phase) {
  if (!computes_) return;
  const auto time_of = [&](std::string_view name) {
    return step_.rank_time(model_, model_.lanes[event_.lane].rank, name);
  };
  const int64_t cost = time_of(phase), forward = time_of(phases::forward);
  facts_.share("share", part_of_step(cost));
  facts_.time("cost", cost);
  const bool said = part_of_step(cost) >= 0.01;  // the ratio continues that sentence
  if (said && forward > 0) {
    facts_.times("ratio", static_cast<double>(cost) / static_cast<double>(forward));
  }
}

uint32_t EventFacts::collective_below(uint32_t event) const {
  const Event& cause = model_.events[event];
  const uint32_t end = std::min(cause.last, cause.order + kMostOfOneCause);
  for (uint32_t place = cause.order; place < end; ++place) {
    const uint32_t index = model_.program[place];
    if (model_.events[index].what() == Kind::collective) return index;
  }
  return kNoEvent;
}

bool EventFacts::is_bucket(uint32_t collective) const {
  return CollectiveArgs(model_, collective).facts.bucket >= 0;
}

void EventFacts::add_collective(uint32_t index) {
  const Event& event = model_.events[index];
  const CollectiveArgs own(model_, index);
  facts_.bytes("bytes", own.facts.bytes);
  facts_.number("bucket", own.facts.bucket);
  facts_.number("group_size", own.facts.group_size);
  facts_.text("tensor", own.facts.tensor);
  const auto params = static_cast<int64_t>(own.facts.params.json().size());
  if (own.facts.params.is_array() && params > 0) facts_.number("params", params);
  const int device = model_.lanes[event.lane].device;
  int64_t sent = 0;
  const uint32_t collective = model_.collective_of(index);
  if (collective != kNoEvent) {
    for (const uint32_t message : model_.collectives[collective].copies) {
      const Copy& copy = model_.copies[message];
      if (copy.src == device) sent += copy.bytes;
    }
  }
  facts_.bytes("sent", sent);
  add_device(device);
  if (event.dur <= 0 || !computes() || device == kHostDevice) return;
  const CollectiveRow row = collective_row(model_, index);
  if (row.has_phases) {
    facts_.time("behind_backward", row.time.backward);
    facts_.time("behind_others", row.time.others());
  }
  facts_.time("exposed", row.time.exposed);
  if (!row.time.unseen) {
    facts_.time("exposed_wait", row.time.exposed_wait);
  } else if (row.time.exposed > 0) {
    facts_.text("exposed_wait", "unknown");
  }
}

bool EventFacts::add_bucket_of(const std::string& param) {
  if (param.empty()) return false;
  const int rank = model_.lanes[event_.lane].rank;
  const auto after = std::lower_bound(model_.collective_of_event.begin(),
                                      model_.collective_of_event.end(),
                                      std::pair<uint32_t, uint32_t>(state_.event, 0));
  size_t seen = 0;
  for (auto at = after; at != model_.collective_of_event.end() && seen < 256;
       ++at, ++seen) {
    const Event& event = model_.events[at->first];
    if (event.step != event_.step || model_.lanes[event.lane].rank != rank) continue;
    const Json args = args_of(model_, event);
    const auto params = args.find(keys::params);
    if (params == args.end() || !params->is_array()) continue;
    if (std::find(params->begin(), params->end(), param) == params->end()) continue;
    add_collective(at->first);
    return int_arg(args, keys::bucket, -1) >= 0;
  }
  return false;
}

std::string EventFacts::add_stage_message() {
  constexpr int64_t kShort = 20'000;  // ns; no wait for the other stage
  const auto message = stage_message(model_, state_.event);
  if (!message) return "";
  facts_.number("stage", message->stage);
  facts_.number("other_stage", message->other_stage);
  facts_.number("micro_batch", message->micro_batch);
  if (message->waited > kShort) facts_.time("waited", message->waited);
  return message->gradient ? reasons::activation_grad : reasons::activation;
}

std::string EventFacts::add_message(const Copy& copy) {
  const RingMessage message = ring_message(model_, copy);
  if (message.rounds == 0) return "";
  const Collective& whole = model_.collectives[copy.collective];
  const CollectiveArgs own(model_, whole.events.front());
  facts_.number("bucket", own.facts.bucket);
  facts_.number("ring_step", copy.round + 1);
  facts_.number("ring_steps", message.rounds);
  facts_.number("ranks", message.ranks);
  if (!is_all_reduce(model_, copy.collective)) return "hop";
  if (message.chunk < 0) return "";
  facts_.number("chunk", message.chunk);
  facts_.number("last_chunk", message.ranks - 1);
  return message.adds ? "adds" : "replaces";
}

}  // namespace lockstep::gui
