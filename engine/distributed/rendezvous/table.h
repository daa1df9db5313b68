// The state of every kind of store: keys with their values, and the members of the run.
// Not thread-safe: protected by the store's lock, or used by a single thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::distributed::store {

/// Keys and values, which may contain any bytes. Queries are separate from changes
/// because a file store logs each change before applying it.
class KeyValues {
 public:
  std::optional<std::string> find(const std::string& key) const;

  /// Returns the elements of `keys` that are not set.
  std::vector<std::string> missing(const std::vector<std::string>& keys) const;

  /// Returns the result of add() without storing it. Throws std::runtime_error if the
  /// value is not a number, or if the sum does not fit into 64 bits.
  int64_t plus(const std::string& key, int64_t amount) const;

  /// Returns whether compare_set() would set the key: its value is `expected`, or the
  /// key is not set and `expected` is empty.
  bool matches(const std::string& key, const std::string& expected) const;

  void set(const std::string& key, const std::string& value);
  bool remove(const std::string& key);

  /// Returns the values of the keys `<before><rank>`, by rank.
  std::map<int, std::string> by_rank(const std::string& before) const;

  /// Returns the number of bytes of all keys and values.
  size_t bytes() const { return bytes_; }

 private:
  std::map<std::string, std::string> values_;
  size_t bytes_ = 0;
};

/// The ranks that have joined, including those that have left since.
class Members {
 public:
  /// Returns why process `who` may not join (which member it conflicts with and how to
  /// fix it), or nullopt if it may. A rank can join only once: if it could rejoin, a
  /// second process with the same rank would go undetected if it started late.
  std::optional<std::string> refusal(int rank, int world_size,
                                     const std::string& who) const;

  void join(int rank, int world_size, const std::string& who);
  void leave(int rank);

  /// Returns whether every rank of the world has joined and left.
  bool all_have_left() const;

 private:
  struct Member {
    std::string who;
    bool left = false;
  };

  int world_size_ = 0;             ///< set by the first member
  std::map<int, Member> members_;  ///< indexed by rank
};

/// Returns a name for this process in messages, such as "pid 123 on host".
std::string this_process();

/// Returns this machine's host name.
std::string host_name();

/// Throws std::runtime_error unless 0 ≤ rank < world_size.
void check_rank(int rank, int world_size);

}  // namespace lockstep::distributed::store
