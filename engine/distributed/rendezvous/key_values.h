// What a store keeps: keys and values. Every kind of store has one of these.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::distributed::store {

/// Not thread-safe: its owner holds a lock, or is one thread. Questions and changes are
/// apart, since a file store writes a change down before it makes it.
class KeyValues {
 public:
  std::optional<std::string> find(const std::string& key) const;

  /// Those of `keys` that are not there.
  std::vector<std::string> missing(const std::vector<std::string>& keys) const;

  /// What add() would make of the value. Throws std::runtime_error if it is not a
  /// number, or if the sum does not fit into 64 bits.
  int64_t plus(const std::string& key, int64_t amount) const;

  /// Whether compare_set() would set the value: it is `expected`, or neither is there.
  bool matches(const std::string& key, const std::string& expected) const;

  void set(const std::string& key, const std::string& value) { values_[key] = value; }
  bool remove(const std::string& key) { return values_.erase(key) > 0; }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace lockstep::distributed::store
