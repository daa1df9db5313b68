#include "gui/model/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace lockstep::gui {

namespace {

using Field = Filter::Field;
using Test = Filter::Test;
using Term = Filter::Term;

constexpr std::string_view kKinds[] = {"step", "phase",      "call", "op",   "kernel",
                                       "copy", "collective", "sync", "mark", "other"};

struct NamedField {
  std::string_view name;
  Field field;
};

constexpr NamedField kFields[] = {{"name", Field::name},     {"dev", Field::device},
                                  {"device", Field::device}, {"rank", Field::rank},
                                  {"step", Field::step},     {"phase", Field::phase},
                                  {"kind", Field::kind},     {"why", Field::why},
                                  {"bytes", Field::bytes},   {"time", Field::time}};

struct Unit {
  std::string_view name;
  double scale;
};

constexpr Unit kByteUnits[] = {{"", 1},     {"B", 1},    {"k", 1e3},  {"kB", 1e3},
                               {"K", 1e3},  {"M", 1e6},  {"MB", 1e6}, {"G", 1e9},
                               {"GB", 1e9}, {"T", 1e12}, {"TB", 1e12}};
constexpr Unit kTimeUnits[] = {
    {"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};

/// Splits at blanks outside of quotation marks, which it removes.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ' ' && !quoted)
      words.emplace_back();
    else
      words.back() += c;
  }
  std::erase(words, "");
  return words;
}

/// A term split at its operator; `field` is empty if the word is part of a name.
struct Parts {
  std::string_view field, value;
  Test test = Test::is;
};

Parts split_term(std::string_view word) {
  const size_t end = word.find_first_of(":<>=");
  if (end == std::string_view::npos || word.substr(end).starts_with("::")) return {};
  const char sign = word[end];
  const bool equal = end + 1 < word.size() && word[end + 1] == '=';
  Parts parts{word.substr(0, end), word.substr(end + 1), Test::is};
  if (sign == '>') parts.test = equal ? Test::at_least : Test::more;
  if (sign == '<') parts.test = equal ? Test::at_most : Test::less;
  if (equal && (sign == '>' || sign == '<')) parts.value.remove_prefix(1);
  return parts;
}

/// Returns a number with a unit, or nullopt and a sentence.
template <size_t N>
std::optional<int64_t> quantity(const Parts& parts, const Unit (&units)[N],
                                const char* fix, std::string& error) {
  const std::string value(parts.value);
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (end != value.c_str() && std::isfinite(number) && std::abs(number) < 1e15) {
    for (const Unit& unit : units) {
      if (unit.name != end || std::abs(number * unit.scale) > 9e18) continue;
      return std::llround(number * unit.scale);
    }
  }
  error = fmt::format("{}: '{}' is not {}", parts.field, value, fix);
  return std::nullopt;
}

/// Fills in the value of a term. Sets `error` if it does not fit the field.
void read_value(const Parts& parts, Term& term, std::string& error) {
  const std::string value(parts.value);
  const auto fail = [&](const std::string& fix) {
    error = fmt::format("{}: '{}' is not {}", parts.field, value, fix);
  };
  const bool ordered = term.field == Field::bytes || term.field == Field::time;
  if (!ordered && term.test != Test::is) {
    error = fmt::format("{} cannot be compared; fix: write {}:{}", parts.field,
                        parts.field, value.empty() ? "…" : value);
    return;
  }
  if (value.empty()) {
    error = fmt::format(
        "{} has no value; fix: write {}", parts.field,
        ordered ? fmt::format("{}>…", parts.field) : fmt::format("{}:…", parts.field));
    return;
  }
  switch (term.field) {
    case Field::bytes:
      term.number = quantity(parts, kByteUnits, "a size such as 1M, 64kB or 12", error)
                        .value_or(0);
      return;
    case Field::time:
      term.number = quantity(parts, kTimeUnits, "a time such as 2ms, 30us or 1s", error)
                        .value_or(0);
      return;
    case Field::device:
    case Field::rank:
    case Field::step: {
      if (term.field == Field::device && value == values::host) {
        term.number = -1;
        return;
      }
      const char* end = value.data() + value.size();
      const auto read = std::from_chars(value.data(), end, term.number);
      if (read.ec != std::errc() || read.ptr != end || term.number < 0) {
        fail(term.field == Field::device ? "a device's number, or host" : "a number");
      }
      return;
    }
    case Field::kind:
      if (std::find(std::begin(kKinds), std::end(kKinds), value) == std::end(kKinds)) {
        fail(fmt::format("one of {}", fmt::join(kKinds, ", ")));
      }
      [[fallthrough]];
    default:
      term.text = value;
  }
}

bool compares(Test test, int64_t value, int64_t wanted) {
  switch (test) {
    case Test::is:
      return value == wanted;
    case Test::more:
      return value > wanted;
    case Test::less:
      return value < wanted;
    case Test::at_least:
      return value >= wanted;
    case Test::at_most:
      return value <= wanted;
  }
  return false;
}

/// Keeps in `matches` only the events for which `holds` returns true.
template <typename Holds>
void keep_where(std::vector<uint8_t>& matches, const Model& model, Holds holds) {
  for (uint32_t i = 0; i < matches.size(); ++i) {
    if (matches[i] != 0) matches[i] = holds(model.events[i], i) ? 1 : 0;
  }
}

/// Returns, for each distinct string, whether it contains `needle`.
std::vector<uint8_t> strings_with(const Model& model, const std::string& needle) {
  std::vector<uint8_t> with(model.strings.size());
  for (uint32_t i = 0; i < with.size(); ++i) {
    with[i] = contains(model.strings[i], needle) ? 1 : 0;
  }
  return with;
}

void keep_device(std::vector<uint8_t>& matches, const Model& model, int64_t device) {
  const auto is = [&](int index) {
    return index == kHostDevice ? device == -1 : model.devices[index].id == device;
  };
  keep_where(matches, model, [&](const Event& event, uint32_t i) {
    if (is(model.lanes[event.lane].device)) return true;
    const Copy* copy = model.copy_of(i);
    return copy != nullptr && (is(copy->src) || is(copy->dst));
  });
}

/// Keeps tasks of the phase and, on the host, what the phase encloses.
void keep_phase(std::vector<uint8_t>& matches, const Model& model,
                const std::string& name) {
  const std::vector<uint8_t> with = strings_with(model, name);
  std::vector<uint8_t> inside(matches.size());  // callers precede what they call
  for (uint32_t i = 0; i < matches.size(); ++i) {
    const Event& event = model.events[i];
    const bool phase = event.what() == Kind::phase;
    inside[i] = event.is_task() && event.phase != 0 ? with[model.phases[event.phase]]
                : phase && with[event.name] != 0    ? 1
                : event.parent != kNoEvent          ? inside[event.parent]
                                                    : 0;
  }
  keep_where(matches, model, [&](const Event&, uint32_t i) { return inside[i] != 0; });
}

void keep_term(std::vector<uint8_t>& matches, const Model& model, const Term& term) {
  switch (term.field) {
    case Field::name: {
      const std::vector<uint8_t> with = strings_with(model, term.text);
      return keep_where(matches, model,
                        [&](const Event& e, uint32_t) { return with[e.name] != 0; });
    }
    case Field::device:
      return keep_device(matches, model, term.number);
    case Field::rank:
      return keep_where(matches, model, [&](const Event& e, uint32_t) {
        return model.lanes[e.lane].rank == term.number;
      });
    case Field::step:
      return keep_where(matches, model, [&](const Event& e, uint32_t) {
        return static_cast<int64_t>(e.step) == term.number;
      });
    case Field::phase:
      return keep_phase(matches, model, term.text);
    case Field::kind:
      return keep_where(matches, model, [&](const Event& e, uint32_t) {
        return kKinds[static_cast<size_t>(e.what())] == term.text;
      });
    case Field::why:
      return keep_where(matches, model, [&](const Event&, uint32_t i) {
        const Copy* copy = model.copy_of(i);
        return copy != nullptr && contains(model.strings[copy->why], term.text);
      });
    case Field::bytes:
      return keep_where(matches, model, [&](const Event&, uint32_t i) {
        const Copy* copy = model.copy_of(i);
        return copy != nullptr && compares(term.test, copy->bytes, term.number);
      });
    case Field::time:
      return keep_where(matches, model, [&](const Event& e, uint32_t) {
        return e.what() != Kind::mark && compares(term.test, e.dur, term.number);
      });
  }
}

}  // namespace

bool contains(const std::string& name, const std::string& needle) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  const auto same = [&](char a, char b) { return lower(a) == lower(b); };
  return std::search(name.begin(), name.end(), needle.begin(), needle.end(), same) !=
         name.end();
}

Filter parse_filter(const std::string& text) {
  Filter filter;
  for (const std::string& word : words_of(text)) {
    const Parts parts = split_term(word);
    const auto* field = std::find_if(
        std::begin(kFields), std::end(kFields),
        [&](const NamedField& known) { return known.name == parts.field; });
    Term term;
    if (parts.field.empty() || field == std::end(kFields)) {
      term.text = word;
    } else {
      term.field = field->field;
      term.test = parts.test;
      read_value(parts, term, filter.error);
    }
    filter.terms.push_back(std::move(term));
    if (!filter.error.empty()) break;
  }
  return filter;
}

bool name_matches(const Filter& filter, const std::string& name) {
  return std::all_of(filter.terms.begin(), filter.terms.end(), [&](const Term& term) {
    return term.field != Field::name || contains(name, term.text);
  });
}

std::vector<uint8_t> matching_events(const Model& model, const Filter& filter) {
  const bool valid = filter.error.empty() && !filter.terms.empty();
  std::vector<uint8_t> matches(model.events.size(), valid ? 1 : 0);
  for (size_t i = 0; valid && i < filter.terms.size(); ++i) {
    keep_term(matches, model, filter.terms[i]);
  }
  return matches;
}

}  // namespace lockstep::gui
