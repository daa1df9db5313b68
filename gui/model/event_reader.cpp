#include "gui/model/event_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "tracer/format/keys.h"
#include "tracer/format/tokens.h"

namespace lockstep::gui {

namespace {

constexpr uint32_t kMaxPhases = 255;  ///< Event::phase has 8 bits
constexpr int64_t kMaxRank = 65'535;

}  // namespace

void EventReader::take(const tracer::EventFields& f) {
  switch (f.letter) {
    case 'X':
    case 'i':
    case 'I':
    case 'R':
    case 'B':
    case 'E':
    case 'C':
      break;
    case 'M':
      return take_metadata(f);
    case 'b':
    case 'e':
    case 'n':
    case 'S':
    case 'T':
    case 'F':
      ++async_;
      return;
    case 's':
    case 't':
    case 'f':
      return;  // flow events are redundant with args.op
    default:
      ++no_event_;
      return;
  }
  int64_t ts = 0, dur = 0;
  if (!tracer::nanoseconds(f.ts, ts) ||
      (!f.dur.empty() && !tracer::nanoseconds(f.dur, dur)) || dur < 0) {
    ++bad_time_;
    return;
  }
  switch (f.letter) {
    case 'C':
      return take_counter(f, relative(ts));
    case 'E':
      return take_end(f, relative(ts));
    default:
      return take_event(f, relative(ts), f.letter == 'X' ? dur : 0);
  }
}

void EventReader::take_event(const tracer::EventFields& f, int64_t ts, int64_t dur) {
  const uint32_t lane = lanes_.lane(f);
  if (lane == UINT32_MAX) return;
  std::vector<Event>& events = raw_.model.events;
  const auto index = static_cast<uint32_t>(events.size());
  Event event{};
  event.ts = ts;
  event.dur = std::min(dur, kMaxSpan);
  event.lane = lane;
  event.kind = static_cast<uint8_t>(kind_of(f));
  event.text = static_cast<uint64_t>(f.begin - raw_.model.text.data());
  event.step =
      f.step >= 0 && f.step < kNoStep ? static_cast<uint32_t>(f.step) : kNoStep;
  event.name = string_number(raw_.model.strings, f.name);
  event.phase = f.phase.empty() ? 0 : phase_number(f.phase);
  event.parent = kNoEvent;
  if (index > 0) raw_.sorted &= !comes_before(event, events.back());
  take_details(f, event, index);
  events.push_back(event);
  raw_.references.push_back({id_number(f.id), id_number(f.cause)});
}

/// Reads the fields that only some kinds of events have.
void EventReader::take_details(const tracer::EventFields& f, Event& event,
                               uint32_t index) {
  RawLane& lane = raw_.lanes[event.lane];
  RawProcess& process = raw_.processes[lane.process];
  if (f.letter == 'B') lane.open.push_back(index);
  if (process.rank < 0 && f.rank >= 0) process.rank = std::min(f.rank, kMaxRank);
  if (event.is_task()) {
    if (f.device >= 0) process.device = f.device;
    if (f.stream >= 0) {
      lane.lane.stream = static_cast<int>(std::min<int64_t>(f.stream, INT32_MAX));
    }
  }
  if (f.memory_counters >= 0 || f.src_memory_counters >= 0) {
    raw_.queued.push_back({index, f.memory_counters, f.src_memory_counters});
  }
  if (event.what() == Kind::copy) take_copy(f, index);
  if (event.what() == Kind::collective) {
    const uint32_t group = string_number(raw_.model.strings, f.group);
    raw_.collectives.push_back({index, group, f.seq});
  }
  if (event.what() == Kind::step) {
    raw_.steps.push_back({index, tracer::content(f.kind) != values::eval});
  } else if (event.what() != Kind::mark && is_profiler_step(f)) {
    const int64_t number = profiler_step(f);
    event.step =
        number >= 0 && number < kNoStep ? static_cast<uint32_t>(number) : kNoStep;
    raw_.profiler_steps.push_back({index, true});
  }
  if (f.correlation >= 0) {
    (event.is_task() ? raw_.launched : raw_.launches).push_back({f.correlation, index});
  }
}

/// Ends the event that began last on its lane.
void EventReader::take_end(const tracer::EventFields& f, int64_t ts) {
  const uint32_t lane = lanes_.lane(f);
  if (lane == UINT32_MAX) return;
  std::vector<uint32_t>& open = raw_.lanes[lane].open;
  if (open.empty()) {
    ++unmatched_;
    return;
  }
  Event& event = raw_.model.events[open.back()];
  open.pop_back();
  event.dur = std::clamp<int64_t>(ts - event.ts, 0, kMaxSpan);
  raw_.sorted = false;
}

void EventReader::take_copy(const tracer::EventFields& f, uint32_t index) {
  RawCopy copy;
  copy.event = index;
  copy.bytes = std::max<int64_t>(0, f.bytes);
  const Direction direction = memcpy_direction(f);
  if (direction == Direction::none || f.has_src) {
    copy.src = f.src;
    copy.dst = f.dst;
    copy.why = string_number(raw_.model.strings, f.why);
    copy.group = string_number(raw_.model.strings, f.group);
    copy.seq = f.seq;
    copy.ring_step = f.ring_step;
  } else {
    const bool to_host = direction == Direction::to_host;
    (to_host ? copy.src : copy.dst) = f.device;
    copy.why = raw_.model.strings.number(to_host ? reasons::d2h : reasons::h2d);
  }
  raw_.copies.push_back(copy);
}

void EventReader::take_counter(const tracer::EventFields& f, int64_t ts) {
  if (tracer::content(f.name) != names::memory) return;
  const uint32_t lane = lanes_.lane(f);
  if (lane == UINT32_MAX) return;
  raw_.counters.push_back(
      {lane, ts, static_cast<uint64_t>(f.begin - raw_.model.text.data())});
}

void EventReader::take_metadata(const tracer::EventFields& f) {
  const std::string_view name = tracer::content(f.name);
  const bool of_process =
      name == names::process_name || name == names::process_sort_index;
  const bool of_thread = name == names::thread_name || name == names::thread_sort_index;
  if (of_process) {
    RawProcess& process = lanes_.process(f);
    if (name == names::process_name)
      process.name = tracer::shown(tracer::content(f.text));
    else
      process.sort = f.sort_index;
    if (f.device >= 0) process.device = f.device;
    if (f.rank >= 0) process.rank = std::min(f.rank, kMaxRank);
  } else if (of_thread) {
    const uint32_t index = lanes_.lane(f);
    if (index == UINT32_MAX) return;
    Lane& lane = raw_.lanes[index].lane;
    if (name == names::thread_name)
      lane.thread = tracer::shown(tracer::content(f.text));
    else
      lane.thread_sort = f.sort_index;
    if (f.stream >= 0) {
      lane.stream = static_cast<int>(std::min<int64_t>(f.stream, INT32_MAX));
    }
  }
}

/// Event stores times in 48 bits: up to 19 hours before or after the first event.
int64_t EventReader::relative(int64_t ts) {
  if (base_ == INT64_MIN) base_ = ts;
  const int64_t near = std::clamp(ts - base_, -kMaxSpan / 2, kMaxSpan / 2);
  far_ += near != ts - base_;
  return near;
}

uint32_t EventReader::phase_number(std::string_view token) {
  if (token == last_phase_) return last_phase_number_;
  std::vector<uint32_t>& phases = raw_.model.phases;
  const uint32_t name = string_number(raw_.model.strings, token);
  auto found = std::find(phases.begin(), phases.end(), name);
  if (found == phases.end() && phases.size() <= kMaxPhases) {
    found = phases.insert(found, name);
  }
  last_phase_ = token;
  return last_phase_number_ =
             found == phases.end() ? 0 : static_cast<uint32_t>(found - phases.begin());
}

uint32_t EventReader::id_number(int64_t id) {
  if (id < 0) return kNoId;
  if (id >= kNoId) ++large_ids_;
  return id < kNoId ? static_cast<uint32_t>(id) : kNoId;
}

void EventReader::finish() {
  Model& model = raw_.model;
  int64_t last = INT64_MIN;
  size_t open = 0;
  for (const RawLane& lane : raw_.lanes) open += lane.open.size();
  if (open > 0) {
    for (const Event& event : model.events) last = std::max(last, event.end());
    for (const RawLane& lane : raw_.lanes) {
      for (const uint32_t i : lane.open)
        model.events[i].dur = std::min(last - model.events[i].ts, kMaxSpan);
    }
    raw_.sorted = false;
  }
  const auto say = [&](size_t count, const char* what) {
    if (count > 0) model.problems.push_back(fmt::format("{} {}", count, what));
  };
  say(no_event_, "entries of traceEvents are not events and are skipped");
  say(bad_time_, "events have no valid timestamp and are skipped");
  say(far_,
      "times are more than 19 hours from the first and are clamped to that range");
  say(lanes_.refused(), "events are on threads beyond the 65,535th and are skipped");
  say(async_, "async events (ph b, e, n) are not shown");
  say(open, "events begin (ph B) but never end; they extend to the end of the trace");
  say(unmatched_, "end events (ph E) have no matching begin event");
  say(large_ids_, "ids are greater than 4,294,967,294; links to them are not followed");
}

}  // namespace lockstep::gui
