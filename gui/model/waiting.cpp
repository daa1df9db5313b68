#include "gui/model/waiting.h"

#include <algorithm>
#include <charconv>

#include "gui/model/details.h"
#include "gui/model/state.h"

namespace lockstep::gui {

namespace {

/// Returns the first task of the lane that starts after `ts`, or kNoEvent.
uint32_t next_task(const Model& model, const Lane& lane, int64_t ts) {
  const auto after =
      std::upper_bound(lane.events.begin(), lane.events.end(), ts,
                       [&](int64_t t, uint32_t e) { return t < model.events[e].ts; });
  const auto task = std::find_if(after, lane.events.end(),
                                 [&](uint32_t e) { return model.events[e].is_task(); });
  return task == lane.events.end() ? kNoEvent : *task;
}

bool is_enqueued(const Model& model, const Event& task, int64_t ts) {
  return task.parent != kNoEvent && model.events[task.parent].ts <= ts;
}

int64_t queued_ns(double us) {
  const double queued = us * 1e3;
  return queued > 0 && queued < kMaxSpan ? static_cast<int64_t>(queued) : 0;
}

int64_t queued_ns(const tracer::Json& args) {
  return queued_ns(number_arg(args, keys::queued_us));
}

/// Returns the event of `deps` that ends last, after `ts`; kNoEvent if there is none.
uint32_t awaited_at(const Model& model, const tracer::Json& args, int64_t ts) {
  uint32_t last = kNoEvent;
  for (const int64_t id : tracer::ints_arg(args, "deps")) {
    const uint32_t event = model.event_of_id(id);
    if (event == kNoEvent || model.events[event].end() <= ts) continue;
    if (last == kNoEvent || model.events[event].end() > model.events[last].end()) {
      last = event;
    }
  }
  return last;
}

}  // namespace

Waiting waiting_on(const Model& model, const Lane& lane, int64_t ts) {
  if (!is_ours(model) || lane.is_host()) return {};
  const uint32_t next = next_task(model, lane, ts);
  if (next == kNoEvent || !is_enqueued(model, model.events[next], ts)) return {};
  const Event& task = model.events[next];
  const tracer::Json args = args_of(model, task);
  using enum Waiting::For;
  const bool ready = ts >= task.ts - queued_ns(args);
  if (ready && model.has_device_times() && task.what() != Kind::copy) {
    return {task.what() == Kind::collective ? ranks : core, next};
  }
  const uint32_t awaited = awaited_at(model, args, ts);
  if (awaited != kNoEvent) return {event, next, awaited};
  const uint32_t holder = model.event_of_id(int_arg(args, keys::port_held_by, -1));
  if (holder != kNoEvent && model.events[holder].end() > ts)
    return {port, next, holder};
  return {start, next};
}

Waiting waiting_on(const Model& model, int device, int64_t ts) {
  for (const int stream : {0, 2, 1}) {
    for (const Lane& lane : model.lanes) {
      if (lane.device != device || lane.stream != stream) continue;
      if (running_on(model, lane, ts) != kNoEvent) continue;
      const Waiting waiting = waiting_on(model, lane, ts);
      if (waiting.cause != Waiting::For::nothing) return waiting;
    }
  }
  return {};
}

// Reads the number from the event's text: the timeline asks for many events per frame,
// and parsing each would take longer than drawing it.
int64_t queued_before(const Model& model, const Event& task) {
  if (!task.is_task()) return 0;
  const std::string_view text = object_at(model.text, task.text);
  const std::string_view key = keys::queued_us;
  size_t at = text.find(key);
  if (at == text.npos) return 0;
  at = text.find_first_not_of("\": ", at + key.size());
  if (at == text.npos) return 0;
  double us = 0;
  std::from_chars(text.data() + at, text.data() + text.size(), us);
  return queued_ns(us);
}

}  // namespace lockstep::gui
