// What is said about an answer to a question.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/units.h"
#include "gui/model/quiz.h"

namespace lockstep::gui {

namespace {

constexpr double kTypedTolerance = 0.02;  ///< three digits suffice

std::string right_answer(const Question& question) {
  return question.choices[question.answer] + ". " + question.because;
}

}  // namespace

std::string verdict_on_choice(const Question& question, size_t choice) {
  if (choice == question.answer) return "**Right:** " + right_answer(question);
  return fmt::format("You said {}, but it is **{}**. {}", question.choices[choice],
                     question.choices[question.answer], question.because);
}

bool is_right(const Question& question, int64_t bytes) {
  const auto answer = static_cast<double>(question.bytes);
  return std::abs(static_cast<double>(bytes) - answer) <= kTypedTolerance * answer;
}

std::string verdict_on_bytes(const Question& question, int64_t bytes) {
  if (is_right(question, bytes)) return "**Right:** " + right_answer(question);
  const double ratio = static_cast<double>(question.bytes) /
                       static_cast<double>(std::max<int64_t>(1, bytes));
  const std::string difference = ratio >= 1
                                     ? fmt::format("{:.3g} times as much", ratio)
                                     : fmt::format("1/{:.3g} of that", 1 / ratio);
  return fmt::format("You said {}, but it is **{}**: {}. {}", human_bytes(bytes),
                     human_bytes(question.bytes), difference, question.because);
}

std::optional<int64_t> parse_bytes(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  std::string unit;
  for (; *end != '\0'; ++end) {
    if (*end != ' ')
      unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*end)));
  }
  static const std::map<std::string, double> units = {
      {"", 1},     {"b", 1},   {"k", 1e3},  {"kb", 1e3}, {"m", 1e6},
      {"mb", 1e6}, {"g", 1e9}, {"gb", 1e9}, {"t", 1e12}, {"tb", 1e12}};
  const auto known = units.find(unit);
  if (known == units.end()) return std::nullopt;
  const double bytes = value * known->second;
  if (!(bytes >= 0) || bytes > static_cast<double>(kMaxBytes)) return std::nullopt;
  return static_cast<int64_t>(std::llround(bytes));
}

}  // namespace lockstep::gui
