#include "engine/distributed/rendezvous/heartbeats.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/distributed/rendezvous/frame.h"

namespace lockstep::distributed::store {
namespace {

constexpr int kMostRanks = 1'000'000;
constexpr size_t kFieldsOfRank = 3;

void put(std::vector<std::string>& fields, const Health::Rank& rank) {
  fields.insert(fields.end(),
                {std::to_string(rank.rank), std::to_string(rank.seq), rank.at});
}

int64_t number_in(const std::string& field) {
  if (const auto number = parse_number(field)) return *number;
  throw std::runtime_error("the store's answer to a heartbeat is damaged");
}

Health::Rank rank_in(const std::vector<std::string>& fields, size_t at) {
  return {static_cast<int>(number_in(fields[at])), number_in(fields[at + 1]),
          fields[at + 2]};
}

}  // namespace

void Heartbeats::note(const Beat& beat, TimePoint now) {
  const bool in_range =
      beat.rank >= 0 && beat.rank < beat.world && beat.world <= kMostRanks;
  if (!in_range) return;
  if (heard_.empty()) began_ = now;
  if (heard_.size() < static_cast<size_t>(beat.world)) {
    const size_t known = heard_.size();
    heard_.resize(beat.world);
    for (size_t i = known; i < heard_.size(); ++i) {
      heard_[i].place.rank = static_cast<int>(i);
    }
  }
  heard_[beat.rank] = {{beat.rank, beat.seq, beat.at}, now};
}

Health Heartbeats::health(int asker, TimePoint now,
                          const std::map<int, std::string>& gone,
                          const std::map<int, std::string>& failed) const {
  Health health;
  const auto place = [&](int rank) {
    const bool known = rank >= 0 && rank < static_cast<int>(heard_.size());
    return known ? heard_[rank].place : Health::Rank{rank};
  };
  for (const auto& [rank, message] : failed) {
    if (rank == asker || health.failed.rank >= 0) continue;
    health.failed = place(rank);
    health.failure = message;
  }
  for (const auto& [rank, why] : gone) {
    if (rank == asker || failed.contains(rank) || health.gone.rank >= 0) continue;
    health.gone = place(rank);
  }
  TimePoint oldest = TimePoint::max();
  for (const Heard& heard : heard_) {
    const int64_t seq = heard.place.seq;
    if (health.last.rank < 0 || seq < health.last.seq) health.last = heard.place;
    if (health.first.rank < 0 || seq > health.first.seq) health.first = heard.place;
    const TimePoint when = heard.when.value_or(began_);
    if (heard.place.rank == asker || when >= oldest) continue;
    oldest = when;
    health.silent = heard.place;
    health.has_beaten = heard.when.has_value();
  }
  if (health.silent.rank >= 0) {
    health.silence = std::chrono::duration_cast<Milliseconds>(now - oldest);
  }
  return health;
}

std::vector<std::string> fields_of(const Health& health) {
  std::vector<std::string> fields{health.failure,
                                  std::to_string(health.silence.count()),
                                  health.has_beaten ? "1" : "0"};
  for (const auto* rank :
       {&health.gone, &health.failed, &health.silent, &health.last, &health.first}) {
    put(fields, *rank);
  }
  return fields;
}

Health health_of(const std::vector<std::string>& fields) {
  constexpr size_t kBefore = 3;
  if (fields.size() != kBefore + 5 * kFieldsOfRank) number_in("");
  Health health;
  health.failure = fields[0];
  health.silence = Milliseconds(number_in(fields[1]));
  health.has_beaten = fields[2] == "1";
  size_t at = kBefore;
  for (auto* rank :
       {&health.gone, &health.failed, &health.silent, &health.last, &health.first}) {
    *rank = rank_in(fields, std::exchange(at, at + kFieldsOfRank));
  }
  return health;
}

std::vector<std::string> fields_of(const Beat& beat) {
  return {std::to_string(beat.rank), std::to_string(beat.world),
          std::to_string(beat.seq), beat.at};
}

std::optional<Beat> beat_of(const std::vector<std::string>& fields) {
  if (fields.size() != 4) return std::nullopt;
  const auto rank = parse_number(fields[0]), world = parse_number(fields[1]),
             seq = parse_number(fields[2]);
  if (!rank || !world || !seq || *rank < 0 || *rank >= *world || *world > kMostRanks) {
    return std::nullopt;
  }
  return Beat{static_cast<int>(*rank), static_cast<int>(*world), *seq, fields[3]};
}

}  // namespace lockstep::distributed::store
