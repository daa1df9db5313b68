// Interned strings: each distinct string is stored once and identified by an index.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::gui {

/// 0 is the empty string. Not thread-safe. References stay valid until destruction.
class Strings {
 public:
  static constexpr uint32_t kUnknown = UINT32_MAX;

  Strings() : texts_(1), slots_(1024) {}
  Strings(Strings&&) = default;
  Strings& operator=(Strings&&) = default;

  /// Returns the string's index, or kUnknown.
  uint32_t find(std::string_view text) const {
    return text.empty() ? 0 : slots_[slot_of(text, hash_of(text))].number_or_unknown();
  }

  /// Returns the string's index; adds the string if it is new.
  uint32_t number(std::string_view text) {
    if (text.empty()) return 0;
    const uint32_t hash = hash_of(text);
    size_t slot = slot_of(text, hash);
    if (slots_[slot].number != 0) return slots_[slot].number;
    if (texts_.size() * 2 > slots_.size()) {
      grow();
      slot = slot_of(text, hash);
    }
    slots_[slot] = {hash, static_cast<uint32_t>(texts_.size())};
    texts_.emplace_back(text);
    return slots_[slot].number;
  }

  const std::string& operator[](uint32_t number) const { return texts_[number]; }
  size_t size() const { return texts_.size(); }

 private:
  /// A slot of an open-addressing table. The number of slots is a power of two, and at
  /// most half of them are in use.
  struct Slot {
    uint32_t hash = 0, number = 0;  ///< 0: empty
    uint32_t number_or_unknown() const { return number == 0 ? kUnknown : number; }
  };

  static uint32_t hash_of(std::string_view text) {
    return static_cast<uint32_t>(std::hash<std::string_view>()(text));
  }

  /// Returns the slot that holds the text, or the free slot where it belongs.
  size_t slot_of(std::string_view text, uint32_t hash) const {
    size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot].number != 0 &&
           (slots_[slot].hash != hash || texts_[slots_[slot].number] != text)) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& taken : old) {
      if (taken.number == 0) continue;
      size_t slot = taken.hash & (slots_.size() - 1);
      while (slots_[slot].number != 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = taken;
    }
  }

  std::deque<std::string> texts_;
  std::vector<Slot> slots_;
};

}  // namespace lockstep::gui
