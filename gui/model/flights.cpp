#include "gui/model/flights.h"

#include <algorithm>
#include <set>

namespace lockstep::gui {

namespace {

constexpr uint32_t kMaxScanned = 50'000;
constexpr size_t kMaxFlights = 96, kMaxRounds = 4096;

/// Adds the rounds `from` to `to` of a collective, one flight per round.
void add_rounds(const Model& model, uint32_t collective, int from, int to,
                std::vector<Flight>& flights) {
  for (const uint32_t index : model.collectives[collective].copies) {
    const Copy& copy = model.copies[index];
    if (copy.round < from || copy.round > to) continue;
    const bool fresh = flights.empty() || flights.back().collective != collective ||
                       flights.back().round != copy.round;
    if (fresh) flights.push_back({{}, collective, copy.round});
    flights.back().copies.push_back(index);
  }
}

/// Adjusts progress so that rounds are in mid-air at 0.5, where a step comes to a stop:
/// with an even number of rounds, 0.5 would fall exactly between two of them.
float in_the_air(float progress, size_t rounds) {
  if (rounds % 2 != 0) return progress;
  const float half = 0.5f - 0.5f / static_cast<float>(rounds);
  return progress <= 0.5f ? progress * 2 * half
                          : half + (progress - 0.5f) * 2 * (1 - half);
}

}  // namespace

std::vector<Flight> flights_of(const Model& model, const Event& cause) {
  std::vector<Flight> flights;
  std::set<uint32_t> whole;  // collectives with all rounds added
  const uint32_t end = std::min(cause.last, cause.order + kMaxScanned);
  for (uint32_t place = cause.order; place < end; ++place) {
    const uint32_t index = model.program[place];
    const Kind kind = model.events[index].what();
    if (kind == Kind::collective) {
      const uint32_t collective = model.collective_of(index);
      if (collective == kNoEvent || !whole.insert(collective).second) continue;
      if (flights.size() < kMaxRounds)
        add_rounds(model, collective, 0, INT16_MAX, flights);
    } else if (kind == Kind::copy) {
      const Copy* copy = model.copy_of(index);
      if (copy->collective == kNoEvent) {
        const auto number = static_cast<uint32_t>(copy - model.copies.data());
        if (flights.size() < kMaxFlights) flights.push_back({{number}, kNoEvent, -1});
      } else if (!whole.contains(copy->collective)) {
        add_rounds(model, copy->collective, copy->round, copy->round, flights);
      }
    }
  }
  return flights;
}

/// Spreads the copies evenly, each in flight for a third of the time: with real times,
/// most would be too brief to see. Rounds wait for each other, as they really do.
void fly(const Model& model, const std::vector<Flight>& flights, State& state) {
  const bool rounds = std::any_of(flights.begin(), flights.end(),
                                  [](const Flight& f) { return f.round >= 0; });
  const size_t count = flights.size();
  const float progress =
      rounds ? in_the_air(state.position.progress, count) : state.position.progress;
  const float least = rounds ? 0.0f : 0.34f;
  const float length =
      count == 1 ? 1 : std::max(least, 1.0f / static_cast<float>(count));
  for (size_t i = 0; i < count; ++i) {
    const float start = count == 1 ? 0
                                   : static_cast<float>(i) /
                                         static_cast<float>(count - 1) * (1 - length);
    const float at = (progress - start) / length;
    constexpr float kRounding = 1e-5f;  // the last one arrives exactly at 1
    if (at < -kRounding || at > 1 + kRounding) continue;
    for (const uint32_t copy : flights[i].copies) {
      state.packets.push_back({copy, std::clamp(at, 0.0f, 1.0f)});
    }
    if (flights[i].round < 0) continue;
    Underway& now = state.underway;
    now = {};
    now.collective = flights[i].collective;
    now.round = flights[i].round;
    now.to_come = true;
    const Collective& whole = model.collectives[now.collective];
    now.messages = whole.copies.size();
    for (const uint32_t copy : whole.copies) {
      now.arrived += model.copies[copy].round < now.round;
    }
  }
}

void find_underway(const Model& model, State& state) {
  for (const DeviceState& device : state.devices) {
    if (device.collective == kNoEvent) continue;
    const uint32_t number = model.collective_of(device.collective);
    if (number != kNoEvent) {
      state.underway.collective = std::min(state.underway.collective, number);
    }
  }
  Underway& now = state.underway;
  if (!now.any()) return;
  const Collective& whole = model.collectives[now.collective];
  now.messages = whole.copies.size();
  for (const uint32_t part : whole.events) {  // by time: the first late rank
    if (now.awaited < 0 && model.events[part].ts > state.now) {
      now.awaited = model.rank_of(part);
    }
  }
  for (const uint32_t index : whole.copies) {
    const bool arrived = model.events[model.copies[index].event].end() <= state.now;
    now.arrived += arrived;
    if (!arrived && now.round < 0) now.round = model.copies[index].round;
  }
}

}  // namespace lockstep::gui
