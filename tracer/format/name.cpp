#include "tracer/format/name.h"

#include <mutex>
#include <unordered_set>

namespace lockstep::tracer {

namespace {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

}  // namespace

const std::string Name::kEmpty;

/// Strings are never removed, so pointers to them stay valid.
const std::string* Name::kept(std::string_view text) {
  if (text.empty()) return &kEmpty;
  static std::mutex mutex;
  static auto& all = *new std::unordered_set<std::string, TextHash, std::equal_to<>>;
  std::lock_guard lock(mutex);
  const auto found = all.find(text);
  return found != all.end() ? &*found : &*all.emplace(text).first;
}

}  // namespace lockstep::tracer
