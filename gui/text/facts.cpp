#include "gui/text/language.h"

#include <fmt/format.h>

#include "base/units.h"

namespace lockstep::gui {

namespace {

constexpr double kLargest = 1e18;  ///< larger values are not measurements

/// Returns "604 M": human_bytes without the unit.
std::string with_prefix(int64_t value) {
  std::string text = human_bytes(value);
  text.pop_back();
  return text;
}

std::optional<int64_t> rate_of(int64_t amount, int64_t nanoseconds) {
  if (amount <= 0 || nanoseconds <= 0) return {};
  const double rate =
      static_cast<double>(amount) * 1e9 / static_cast<double>(nanoseconds);
  if (rate < 1 || rate > kLargest) return {};
  return static_cast<int64_t>(rate);
}

/// Returns the length in bytes of the character at `text[i]`, or 0 if it is invalid
/// UTF-8.
size_t character_at(std::string_view text, size_t i) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(i);
  const size_t size = first < 0x80                    ? 1
                      : first >= 0xC2 && first < 0xE0 ? 2
                      : first >= 0xE0 && first < 0xF0 ? 3
                      : first >= 0xF0 && first < 0xF5 ? 4
                                                      : 0;
  if (size == 0 || i + size > text.size()) return 0;
  for (size_t k = 1; k < size; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  return size;
}

}  // namespace

void Facts::number(std::string_view name, int64_t value) {
  if (value < 0) return;
  counts_[std::string(name)] = value;
  phrase(name, std::to_string(value));
}

void Facts::bytes(std::string_view name, int64_t value) {
  if (value > 0) phrase(name, human_bytes(value));
}

void Facts::time(std::string_view name, int64_t nanoseconds) {
  if (nanoseconds > 0) phrase(name, human_time(nanoseconds));
}

void Facts::share(std::string_view name, double part) {
  if (part >= 0.01 && part <= 1) phrase(name, percent(part));
}

void Facts::times(std::string_view name, double ratio) {
  if (ratio >= 0.1 && ratio < 1000) phrase(name, fmt::format("{:.1f}", ratio));
}

void Facts::per_second(std::string_view name, int64_t amount, int64_t nanoseconds) {
  const auto rate = rate_of(amount, nanoseconds);
  if (!rate) return;
  const double exact =
      static_cast<double>(amount) * 1e9 / static_cast<double>(nanoseconds);
  phrase(name,
         exact < 100 ? fmt::format("{:.1f}", exact) : fmt::format("{:.0f}", exact));
}

void Facts::flops(std::string_view name, int64_t value) {
  if (value > 0) phrase(name, with_prefix(value) + "FLOP");
}

void Facts::bandwidth(std::string_view name, int64_t bytes, int64_t nanoseconds) {
  const auto rate = rate_of(bytes, nanoseconds);
  if (rate) phrase(name, human_bytes(*rate) + "/s");
}

void Facts::flop_rate(std::string_view name, int64_t flops, int64_t nanoseconds) {
  const auto rate = rate_of(flops, nanoseconds);
  if (rate) phrase(name, with_prefix(*rate) + "FLOP/s");
}

void Facts::text(std::string_view name, std::string_view value, size_t longest) {
  phrase(name, plain(value, longest));
}

void Facts::phrase(std::string_view name, std::string value) {
  if (!value.empty()) texts_.insert_or_assign(std::string(name), std::move(value));
}

const std::string* Facts::find(std::string_view name) const {
  const auto found = texts_.find(name);
  return found == texts_.end() ? nullptr : &found->second;
}

std::optional<int64_t> Facts::count(std::string_view name) const {
  const auto found = counts_.find(name);
  return found == counts_.end() ? std::nullopt : std::optional(found->second);
}

std::string plain(std::string_view text, size_t longest) {
  std::string result;
  size_t characters = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t size = character_at(text, i);
    const char first = text[i];
    if (size == 0 || first == '*' || first == '\\') {
      ++i;
      continue;
    }
    const bool blank = first <= ' ' && first >= 0;
    if (blank && (result.empty() || result.back() == ' ')) {
      ++i;
      continue;
    }
    if (++characters > longest) {
      while (!result.empty() && (result.back() & 0xC0) == 0x80) result.pop_back();
      if (!result.empty()) result.pop_back();
      return result + "…";
    }
    if (size > 1)
      result += text.substr(i, size);
    else if (first == '{')
      result += '(';
    else if (first == '}')
      result += ')';
    else
      result += first > ' ' && first < 0x7F ? first : ' ';
    i += size;
  }
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

}  // namespace lockstep::gui
