#include "gui/model/transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gui/model/details.h"
#include "tracer/format/args.h"
#include "tracer/format/keys.h"

namespace lockstep::gui {

namespace {

constexpr uint32_t kMaxScanned = 50'000;
constexpr size_t kMaxCopies = 96, kMaxRounds = 4096;

/// Adds the rounds `from` to `to` of a collective, one transfer per round.
void add_rounds(const Model& model, uint32_t collective, int from, int to,
                std::vector<Transfer>& transfers) {
  for (const uint32_t index : model.collectives[collective].copies) {
    const Copy& copy = model.copies[index];
    if (copy.round < from || copy.round > to) continue;
    const bool fresh = transfers.empty() || transfers.back().collective != collective ||
                       transfers.back().round != copy.round;
    if (fresh) transfers.push_back({{}, collective, copy.round});
    transfers.back().copies.push_back(index);
  }
}

/// Adjusts progress so that 0.5, where a step comes to rest, lies inside a round: with
/// an even number of rounds, it would fall exactly between two of them.
float paused_in_a_round(float progress, size_t rounds) {
  if (rounds % 2 != 0) return progress;
  const float half = 0.5f - 0.5f / static_cast<float>(rounds);
  return progress <= 0.5f ? progress * 2 * half
                          : half + (progress - 0.5f) * 2 * (1 - half);
}

}  // namespace

std::vector<Transfer> transfers_of(const Model& model, const Event& cause) {
  std::vector<Transfer> transfers;
  std::set<uint32_t> whole;  // collectives with all rounds added
  const uint32_t end = std::min(cause.last, cause.order + kMaxScanned);
  for (uint32_t place = cause.order; place < end; ++place) {
    const uint32_t index = model.program[place];
    const Kind kind = model.events[index].what();
    if (kind == Kind::collective) {
      const uint32_t collective = model.collective_of(index);
      if (collective == kNoEvent || !whole.insert(collective).second) continue;
      if (transfers.size() < kMaxRounds)
        add_rounds(model, collective, 0, INT16_MAX, transfers);
    } else if (kind == Kind::copy) {
      const Copy* copy = model.copy_of(index);
      if (copy->collective == kNoEvent) {
        const auto number = static_cast<uint32_t>(copy - model.copies.data());
        if (transfers.size() < kMaxCopies)
          transfers.push_back({{number}, kNoEvent, -1});
      } else if (!whole.contains(copy->collective)) {
        add_rounds(model, copy->collective, copy->round, copy->round, transfers);
      }
    }
  }
  return transfers;
}

/// Spreads the copies evenly, each in flight for a third of the time: with real times,
/// most would be too brief to see. Rounds wait for each other, as they really do.
void add_packets(const Model& model, const std::vector<Transfer>& transfers,
                 State& state) {
  const bool rounds = std::any_of(transfers.begin(), transfers.end(),
                                  [](const Transfer& t) { return t.round >= 0; });
  const size_t count = transfers.size();
  const float progress = rounds ? paused_in_a_round(state.position.progress, count)
                                : state.position.progress;
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
    for (const uint32_t copy : transfers[i].copies) {
      state.packets.push_back({copy, std::clamp(at, 0.0f, 1.0f)});
    }
    if (transfers[i].round < 0) continue;
    Underway& now = state.underway;
    now = {};
    now.collective = transfers[i].collective;
    now.round = transfers[i].round;
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

namespace {

/// Returns the first rank's part of a collective.
uint32_t first_part(const Model& model, uint32_t collective) {
  return model.collectives[collective].events.front();
}

bool is_all_reduce(const Model& model, uint32_t part,
                   const tracer::CollectiveFacts& facts) {
  const std::string_view name = model.name_of(model.events[part]);
  return (facts.collective.empty() ? name : facts.collective) == reasons::all_reduce;
}

int place_in_ring(const Model& model, int device) {
  return device == kHostDevice ? 0 : model.devices[device].rank;
}

}  // namespace

bool is_all_reduce(const Model& model, uint32_t collective) {
  const uint32_t part = first_part(model, collective);
  return is_all_reduce(model, part, CollectiveArgs(model, part).facts);
}

/// Each chunk starts at the rank after its owner: NCCL's numbering, as in
/// engine/plan/ring.h. In round s, rank r sends chunk r - 1 - s.
RingMessage ring_message(const Model& model, const Copy& copy) {
  RingMessage message;
  if (copy.collective == kNoEvent || copy.round < 0) return message;
  const uint32_t part = first_part(model, copy.collective);
  const CollectiveArgs own(model, part);
  const int64_t ranks = own.facts.group_size;
  if (ranks < 2 || ranks > INT16_MAX) return message;
  message.ranks = static_cast<int>(ranks);
  const bool all = is_all_reduce(model, part, own.facts);
  message.rounds = (all ? 2 : 1) * (message.ranks - 1);
  if (!all || copy.round >= message.rounds) return message;
  message.adds = copy.round < message.ranks - 1;
  if (own.facts.algorithm != "ring") return message;
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
      bool_arg(args_of(model, model.events[one->event]), keys::modelled);
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
