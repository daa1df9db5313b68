#include "gui/model/transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "gui/model/details.h"
#include "gui/model/stage_messages.h"
#include "tracer/format/args.h"
#include "tracer/format/keys.h"

namespace lockstep::gui {

namespace {

constexpr uint32_t kMaxScanned = 50'000;
constexpr size_t kMaxCopies = 2048, kMaxRounds = 4096;
// If durations have no meaning: the share of the time that a copy flies, and the number
// of copies that fly at once.
constexpr float kInFlight = 0.34f, kAtOnce = 12;

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

/// Adjusts progress so that 0.5, where a step comes to rest, becomes `rest`.
float resting_at(float rest, float progress) {
  return progress <= 0.5f ? progress * 2 * rest
                          : rest + (progress - 0.5f) * 2 * (1 - rest);
}

/// Adjusts progress so that 0.5, where a step comes to rest, lies inside a round: with
/// an even number of rounds, it would fall exactly between two of them.
float paused_in_a_round(float progress, size_t rounds) {
  if (rounds % 2 != 0) return progress;
  return resting_at(0.5f - 0.5f / static_cast<float>(rounds), progress);
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

namespace {

/// When a transfer is in flight, as shares of the progress.
struct Flight {
  float start = 0, length = 1;
};

/// Spreads the transfers evenly. Rounds wait for each other, as they really do.
std::vector<Flight> spread_evenly(size_t count, float least) {
  const float length = std::max(least, 1.0f / static_cast<float>(count));
  std::vector<Flight> flights(count);
  for (size_t i = 0; i < count && count > 1; ++i) {
    const float share = static_cast<float>(i) / static_cast<float>(count - 1);
    flights[i] = {share * (1 - length), length};
  }
  return flights;
}

/// Time in which copies are in flight, without the gaps between them. Half of it shows
/// their durations; the other half is divided evenly, so that short ones are visible.
class FlyingTime {
 public:
  FlyingTime(const Model& model, const std::vector<Transfer>& transfers) {
    for (const Transfer& transfer : transfers) {
      const Event& copy = model.events[model.copies[transfer.copies.front()].event];
      spans_.emplace_back(copy.ts, std::max<int64_t>(copy.end(), copy.ts + 1));
      times_.push_back(spans_.back().first);
      times_.push_back(spans_.back().second);
    }
    std::sort(times_.begin(), times_.end());
    times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
    find_shares();
  }

  std::vector<Flight> flights() const {
    std::vector<Flight> all;
    for (const auto& [begin, end] : spans_) {
      const auto from = static_cast<float>(share_at(begin));
      all.push_back({from, static_cast<float>(share_at(end)) - from});
    }
    return all;
  }

  /// Returns the middle of the part with most copies in flight, near the half.
  float fullest() const {
    double best = 0.5;
    int most = 0;
    for (size_t i = 0; i + 1 < times_.size(); ++i) {
      const double middle = (shares_[i] + shares_[i + 1]) / 2;
      const bool nearer = std::abs(middle - 0.5) < std::abs(best - 0.5);
      if (middle < 0.2 || middle > 0.8 || counts_[i] < most) continue;
      if (counts_[i] > most || nearer) best = middle, most = counts_[i];
    }
    return static_cast<float>(best);
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> spans_;  ///< ns, by transfer
  std::vector<int64_t> times_;                      ///< at which any begins or ends
  std::vector<int> counts_;                         ///< in flight after each time
  std::vector<double> shares_;                      ///< of the progress at each time

  size_t index_of(int64_t time) const {
    return std::lower_bound(times_.begin(), times_.end(), time) - times_.begin();
  }
  double share_at(int64_t time) const { return shares_[index_of(time)]; }

  void find_shares() {
    counts_.assign(times_.size(), 0);
    for (const auto& [begin, end] : spans_) {
      ++counts_[index_of(begin)];
      --counts_[index_of(end)];
    }
    std::partial_sum(counts_.begin(), counts_.end(), counts_.begin());
    double flying = 0, parts = 0;
    for (size_t i = 0; i + 1 < times_.size(); ++i) {
      if (counts_[i] == 0) continue;
      flying += static_cast<double>(times_[i + 1] - times_[i]);
      ++parts;
    }
    shares_.assign(times_.size(), 0);
    for (size_t i = 0; i + 1 < times_.size(); ++i) {
      const double time = static_cast<double>(times_[i + 1] - times_[i]);
      const double share = counts_[i] == 0 ? 0 : (time / flying + 1 / parts) / 2;
      shares_[i + 1] = shares_[i] + share;
    }
  }
};

/// Adds one copy for each pair of memories, whether it is in flight or not.
void add_links(const Model& model, const std::vector<Transfer>& transfers,
               State& state) {
  std::set<std::pair<int, int>> known;
  for (const Transfer& transfer : transfers) {
    for (const uint32_t index : transfer.copies) {
      const Copy& copy = model.copies[index];
      if (known.emplace(copy.src, copy.dst).second) state.links.push_back(index);
    }
  }
}

void add_round(const Model& model, const Transfer& transfer, State& state) {
  Underway& now = state.underway;
  now = {};
  now.collective = transfer.collective;
  now.round = transfer.round;
  now.to_come = true;
  const Collective& whole = model.collectives[now.collective];
  now.messages = whole.copies.size();
  for (const uint32_t copy : whole.copies) {
    now.arrived += model.copies[copy].round < now.round;
  }
}

}  // namespace

void add_packets(const Model& model, const std::vector<Transfer>& transfers,
                 State& state) {
  add_links(model, transfers, state);
  const bool rounds = std::any_of(transfers.begin(), transfers.end(),
                                  [](const Transfer& t) { return t.round >= 0; });
  const size_t count = transfers.size();
  const bool timed = !rounds && count > 1 && model.has_device_times();
  float progress = state.position.progress;
  if (rounds) progress = paused_in_a_round(progress, count);
  std::vector<Flight> flights;
  if (timed) {
    const FlyingTime time(model, transfers);
    progress = resting_at(time.fullest(), progress);
    flights = time.flights();
  } else {
    const float least = std::min(kInFlight, kAtOnce / static_cast<float>(count));
    flights = spread_evenly(count, rounds ? 0.0f : least);
  }
  for (size_t i = 0; i < count; ++i) {
    const auto [start, length] = flights[i];
    constexpr float kRounding = 1e-5f;  // the last one arrives exactly at 1
    if (progress < start - kRounding || progress > start + length + kRounding) continue;
    const float at = (progress - start) / std::max(kRounding, length);
    for (const uint32_t copy : transfers[i].copies) {
      state.packets.push_back({copy, std::clamp(at, 0.0f, 1.0f)});
    }
    if (transfers[i].round >= 0) add_round(model, transfers[i], state);
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

void find_still(const Model& model, State& state) {
  Still& still = state.still;
  if (state.position.order == Order::time) {
    state.packets = still.packets;
    still.underway = state.underway;
    return;
  }
  bool own = false;  // the copy at the position has just begun: show it on its way
  for (Packet& packet : still.packets) {
    if (model.copies[packet.copy].event != state.event) continue;
    packet.progress = state.position.progress;
    own = true;
  }
  for (const uint32_t index : state.links) {
    const Event& event = model.events[model.copies[index].event];
    if (model.copies[index].event == state.event && !own) {
      still.packets.push_back({index, state.position.progress});
    } else if (event.ts > state.now) {
      still.packets.push_back({index, 0, true});
    }
  }
  for (const Packet& packet : still.packets) {
    const Copy& copy = model.copies[packet.copy];
    if (copy.collective == kNoEvent) continue;
    Underway& now = still.underway;
    now.collective = copy.collective;
    now.round = copy.round;
    now.to_come = packet.waits;
    for (const uint32_t index : model.collectives[copy.collective].copies) {
      ++now.messages;
      now.arrived += model.events[model.copies[index].event].end() <= state.now;
    }
    return;
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
  const bool of_two =  // a message, which takes no part in a ring
      own.facts.collective == tracer::categories::send ||
      own.facts.collective == tracer::categories::recv;
  if (of_two) return message;
  if (ranks < 2 || ranks > INT16_MAX) return message;
  message.ranks = static_cast<int>(ranks);
  const bool all = is_all_reduce(model, part, own.facts);
  message.rounds = (all ? 2 : 1) * (message.ranks - 1);
  if (!all || copy.round >= message.rounds) return message;
  message.adds = copy.round < message.ranks - 1;
  if (own.facts.algorithm != "ring") return message;
  const int from = place_in_ring(model, copy.src);
  message.chunk = (from - 1 - copy.round + 3 * message.ranks) % message.ranks;
  return message;
}

std::string round_in_words(const Model& model, const Underway& now) {
  const std::string between_stages = message_in_words(model, now);
  if (!between_stages.empty()) return between_stages;
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
  const std::string which = fmt::format("chunk k (0 to {})", message.ranks - 1);
  return text + (message.adds ? ": +k adds " + which + " to the next rank's"
                              : ": =k replaces " + which + " with its sum");
}

}  // namespace lockstep::gui
