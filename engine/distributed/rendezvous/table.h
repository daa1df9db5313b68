// What every kind of store keeps: keys with their values, and the members of the run.
// Not thread-safe: a store's lock or its only thread guards them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::distributed::store {

/// Keys and values, any bytes. Queries and changes are separate, since a file store
/// logs a change before it makes it.
class KeyValues {
 public:
  std::optional<std::string> find(const std::string& key) const;

  /// Returns those of `keys` that have no value.
  std::vector<std::string> missing(const std::vector<std::string>& keys) const;

  /// Returns the result of add(), without storing it. Throws std::runtime_error if the
  /// value is not a number, or if the sum does not fit into 64 bits.
  int64_t plus(const std::string& key, int64_t amount) const;

  /// Whether compare_set() would set the key: its value is `expected`, or it has none
  /// and `expected` is empty.
  bool matches(const std::string& key, const std::string& expected) const;

  void set(const std::string& key, const std::string& value) { values_[key] = value; }
  bool remove(const std::string& key) { return values_.erase(key) > 0; }

 private:
  std::map<std::string, std::string> values_;
};

/// The ranks that have joined, and those of them that have left.
class Members {
 public:
  /// Returns why process `who` may not join, which member it conflicts with and how to
  /// fix it; nullopt if it may. A rank joins once: if it could return, a second process
  /// with the same rank would go unnoticed whenever it is late.
  std::optional<std::string> refusal(int rank, int world_size,
                                     const std::string& who) const;

  void join(int rank, int world_size, const std::string& who);
  void leave(int rank);

  /// Whether every rank of the world has joined and left.
  bool all_have_left() const;

 private:
  struct Member {
    std::string who;
    bool left = false;
  };

  int world_size_ = 0;             ///< given by the first member
  std::map<int, Member> members_;  ///< by rank
};

/// Returns "pid 123 on host", by which messages name this process.
std::string this_process();

/// Throws std::runtime_error unless 0 ≤ rank < world_size.
void check_rank(int rank, int world_size);

}  // namespace lockstep::distributed::store
