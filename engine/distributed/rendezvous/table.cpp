#include "engine/distributed/rendezvous/table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <stdexcept>
#include <string_view>
#include <utility>

#include "engine/distributed/rendezvous/frame.h"

namespace lockstep::distributed::store {

std::optional<std::string> KeyValues::find(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

void KeyValues::set(const std::string& key, const std::string& value) {
  remove(key);
  values_[key] = value;
  bytes_ += key.size() + value.size();
}

bool KeyValues::remove(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return false;
  bytes_ -= key.size() + found->second.size();
  values_.erase(found);
  return true;
}

std::map<int, std::string> KeyValues::by_rank(const std::string& before) const {
  std::map<int, std::string> found;
  for (auto at = values_.lower_bound(before);
       at != values_.end() && at->first.starts_with(before); ++at) {
    const auto rank = parse_number(std::string_view(at->first).substr(before.size()));
    if (rank && std::in_range<int>(*rank)) {
      found.emplace(static_cast<int>(*rank), at->second);
    }
  }
  return found;
}

std::vector<std::string> KeyValues::missing(
    const std::vector<std::string>& keys) const {
  std::vector<std::string> absent;
  for (const std::string& key : keys) {
    if (!values_.contains(key)) absent.push_back(key);
  }
  return absent;
}

int64_t KeyValues::plus(const std::string& key, int64_t amount) const {
  const std::string text = find(key).value_or("0");
  const std::optional<int64_t> value = parse_number(text);
  int64_t sum = 0;
  if (!value || __builtin_add_overflow(*value, amount, &sum)) {
    throw std::runtime_error(
        fmt::format("cannot add {} to \"{}\", whose value is \"{}\"", amount,
                    shown(key), shown(text)));
  }
  return sum;
}

bool KeyValues::matches(const std::string& key, const std::string& expected) const {
  return find(key).value_or("") == expected;
}

std::optional<std::string> Members::refusal(int rank, int world_size,
                                            const std::string& who) const {
  if (members_.empty()) return std::nullopt;
  if (world_size != world_size_) {
    const auto& [other_rank, other] = *members_.begin();
    return fmt::format(
        "rank {} ({}) has world size {}, but rank {} ({}) has {}; fix: start all ranks "
        "with the same world size",
        rank, shown(who), world_size, other_rank, shown(other.who), world_size_);
  }
  const auto same = members_.find(rank);
  if (same == members_.end()) return std::nullopt;
  return fmt::format(
      "rank {} joined twice: {}, and earlier {}; fix: give each process its own rank "
      "(each `launch`: its --node-rank)",
      rank, shown(who), shown(same->second.who));
}

void Members::join(int rank, int world_size, const std::string& who) {
  world_size_ = world_size;
  members_[rank] = {who};
}

void Members::leave(int rank) { members_[rank].left = true; }

bool Members::all_have_left() const {
  if (static_cast<int>(members_.size()) < world_size_) return false;
  for (const auto& [rank, member] : members_) {
    if (!member.left) return false;
  }
  return true;
}

std::string this_process() {
  return fmt::format("pid {} on {}", ::getpid(), host_name());
}

std::string host_name() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return host;
}

void check_rank(int rank, int world_size) {
  if (rank >= 0 && rank < world_size) return;
  throw std::runtime_error(
      fmt::format("rank {} is out of range for world size {}: ranks go from 0 to the "
                  "world size minus 1",
                  rank, world_size));
}

}  // namespace lockstep::distributed::store
