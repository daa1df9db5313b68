#include "gui/model/state.h"

#include <algorithm>
#include <cmath>

#include "gui/model/details.h"
#include "gui/model/memory.h"
#include "gui/model/transfers.h"

namespace lockstep::gui {

namespace {

constexpr uint32_t kMaxCaused = 50'000;  ///< maximum number of events scanned per state

Port::Point port_at(const Port& port, int64_t ts) {
  const auto after = std::upper_bound(
      port.points.begin(), port.points.end(), ts,
      [](int64_t t, const Port::Point& point) { return t < point.ts; });
  return after == port.points.begin() ? Port::Point{} : *(after - 1);
}

float share(int64_t now, const Event& event) {
  if (event.dur == 0) return 1;
  return static_cast<float>(static_cast<double>(now - event.ts) /
                            static_cast<double>(event.dur));
}

/// Returns the nearest event of that kind that is or encloses `event` on its lane;
/// `otherwise` if there is none.
uint32_t around(const Model& model, uint32_t event, Kind kind, uint32_t otherwise) {
  const uint64_t lane = model.events[event].lane;
  for (; event != kNoEvent && model.events[event].lane == lane;
       event = model.events[event].parent) {
    if (model.events[event].what() == kind) return event;
  }
  return otherwise;
}

/// Returns the place of a task in DeviceState::running. Each of our streams has its
/// purpose; another program may use any number of streams, so the task itself decides.
int stream_of(const Model& model, const Lane& lane, const Event& event) {
  if (is_ours(model) && lane.stream >= 0 && lane.stream < 3) return lane.stream;
  if (event.what() == Kind::collective) return 2;
  return event.what() == Kind::copy || is_memory_task(model, event) ? 1 : 0;
}

void find_running(const Model& model, State& state) {
  for (const Lane& lane : model.lanes) {
    const uint32_t running = lane.is_host() ? running_on(model, lane, state.now)
                                            : task_on(model, lane, state.now);
    if (running == kNoEvent) continue;
    const Event& event = model.events[running];
    if (!lane.is_host()) {
      DeviceState& device = state.devices[lane.device];
      uint32_t& shown = device.running[stream_of(model, lane, event)];
      if (shown == kNoEvent) shown = running;  // of several, one
      device.collective = around(model, running, Kind::collective, device.collective);
    }
    if (event.what() == Kind::copy) {
      const Copy* copy = model.copy_of(running);
      const auto index = static_cast<uint32_t>(copy - model.copies.data());
      state.still.packets.push_back({index, share(state.now, event)});
    }
  }
}

/// Counts a message at its sender and its receiver, regardless of its cause.
void note_message(const Model& model, uint32_t index, State& state) {
  const Copy& copy = model.copies[index];
  const auto note = [&](int device, size_t Effects::* count, int64_t Effects::* bytes) {
    if (device == kHostDevice) return;
    Effects& effects = state.devices[device].effects;
    if (effects.first == kNoEvent) effects.first = copy.event;
    ++(effects.*count);
    effects.*bytes += copy.bytes;
  };
  note(copy.src, &Effects::copies_out, &Effects::bytes_out);
  note(copy.dst, &Effects::copies_in, &Effects::bytes_in);
}

void find_effects(const Model& model, State& state) {
  const Event& cause = model.events[state.event];
  const uint32_t end = std::min(cause.last, cause.order + kMaxCaused);
  int64_t first_ts = INT64_MAX;
  for (uint32_t place = cause.order; place < end; ++place) {
    const uint32_t index = model.program[place];
    const Event& event = model.events[index];
    if (!event.is_task()) continue;
    ++state.effect_count;
    first_ts = std::min<int64_t>(first_ts, event.ts);
    const auto note = [&](int device, auto count) {
      if (device == kHostDevice) return;
      Effects& effects = state.devices[device].effects;
      if (effects.first == kNoEvent || event.ts < model.events[effects.first].ts) {
        effects.first = index;
      }
      count(effects);
    };
    if (event.what() == Kind::copy) {
      const Copy* copy = model.copy_of(index);
      if (copy->collective != kNoEvent) continue;  // handled below with other ranks'
      note(copy->src, [&](Effects& e) { ++e.copies_out, e.bytes_out += copy->bytes; });
      note(copy->dst, [&](Effects& e) { ++e.copies_in, e.bytes_in += copy->bytes; });
    } else if (event.what() == Kind::collective) {
      note(model.lanes[event.lane].device, [](Effects& e) { ++e.collectives; });
    } else {
      note(model.lanes[event.lane].device, [&](Effects& e) {
        ++e.kernels;
        e.kernel_time += event.dur;
        const bool first =
            e.first_kernel == kNoEvent || event.ts < model.events[e.first_kernel].ts;
        if (first) e.first_kernel = index;
      });
    }
  }
  if (first_ts != INT64_MAX) state.effects_after = first_ts - cause.ts;
  const std::vector<Transfer> transfers = transfers_of(model, cause);
  for (const Transfer& transfer : transfers) {
    if (transfer.round < 0) continue;
    for (const uint32_t index : transfer.copies) note_message(model, index, state);
  }
  add_packets(model, transfers, state);
}

void find_stack(const Model& model, State& state) {
  for (uint32_t at = state.event; at != kNoEvent; at = model.events[at].parent) {
    state.stack.push_back(at);
    const Kind kind = model.events[at].what();
    if (state.phase == kNoEvent && (kind == Kind::phase || kind == Kind::step)) {
      state.phase = at;
    }
    if (state.stack.size() > 512) break;
  }
  std::reverse(state.stack.begin(), state.stack.end());
}

}  // namespace

uint32_t running_on(const Model& model, const Lane& lane, int64_t ts) {
  auto after =
      std::upper_bound(lane.events.begin(), lane.events.end(), ts,
                       [&](int64_t t, uint32_t e) { return t < model.events[e].ts; });
  while (after != lane.events.begin() &&
         model.events[*(after - 1)].what() == Kind::mark) {
    --after;
  }
  if (after == lane.events.begin()) return kNoEvent;
  uint32_t event = *(after - 1);
  const uint64_t number = model.events[event].lane;
  while (event != kNoEvent && model.events[event].lane == number) {
    if (model.events[event].end() > ts) return event;
    event = model.events[event].parent;
  }
  return kNoEvent;
}

uint32_t task_on(const Model& model, const Lane& lane, int64_t ts) {
  if (lane.latest.empty()) {
    const uint32_t event = running_on(model, lane, ts);
    return event != kNoEvent && model.events[event].is_task() ? event : kNoEvent;
  }
  const auto after =
      std::upper_bound(lane.events.begin(), lane.events.end(), ts,
                       [&](int64_t t, uint32_t e) { return t < model.events[e].ts; });
  for (auto i = static_cast<size_t>(after - lane.events.begin());
       i-- > 0 && lane.latest[i] > ts;) {
    const Event& event = model.events[lane.events[i]];
    if (event.is_task() && event.end() > ts) return lane.events[i];
  }
  return kNoEvent;
}

State state_at(const Model& model, const Position& position) {
  State state;
  state.position = position;
  state.event = event_at(model, position);
  state.now = time_of(model, position);
  const Event& event = model.events[state.event];
  state.rank = rank_of(model, position);
  state.step = position.order == Order::time ? model.step_at(state.now, state.rank)
                                             : model.step_of(event);
  find_stack(model, state);
  state.devices.resize(model.devices.size());
  find_running(model, state);
  if (position.order == Order::program) find_effects(model, state);
  if (!state.underway.any()) find_underway(model, state);
  find_still(model, state);

  const int64_t begin = model.steps[state.step].begin - 1;
  for (size_t i = 0; i <= model.devices.size(); ++i) {
    const Port::Point before = port_at(model.ports[i], begin);
    const Port::Point now = port_at(model.ports[i], state.now);
    const bool host = i == model.devices.size();
    (host ? state.host_in : state.devices[i].in) =
        std::max<int64_t>(0, now.in - before.in);
    (host ? state.host_out : state.devices[i].out) =
        std::max<int64_t>(0, now.out - before.out);
    if (host) continue;
    const Device& device = model.devices[i];
    DeviceState& own = state.devices[i];
    own.as_queued = position.order == Order::program || !knows_memory_order(device);
    own.memory = own.as_queued ? memory_queued(model, device, state.now)
                               : memory_reached(device, state.now);
  }
  return state;
}

}  // namespace lockstep::gui
