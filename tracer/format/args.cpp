#include "tracer/format/args.h"

#include <cmath>

#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

const Json* find(const Json& args, const char* key) {
  if (!args.is_object()) return nullptr;
  const auto found = args.find(key);
  return found == args.end() ? nullptr : &*found;
}

/// JSON knows unsigned numbers that no int64_t holds: those are not ours.
bool fits(const Json& value) {
  return value.is_number_integer() &&
         !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX);
}

}  // namespace

int64_t int_arg(const Json& args, const char* key, int64_t fallback) {
  const Json* value = find(args, key);
  return value && fits(*value) ? value->get<int64_t>() : fallback;
}

double number_arg(const Json& args, const char* key, double fallback) {
  const Json* value = find(args, key);
  return value && value->is_number() ? value->get<double>() : fallback;
}

std::string string_arg(const Json& args, const char* key) {
  const Json* value = find(args, key);
  return value && value->is_string() ? value->get<std::string>() : std::string();
}

bool bool_arg(const Json& args, const char* key) {
  const Json* value = find(args, key);
  return value && value->is_boolean() && value->get<bool>();
}

std::vector<int64_t> ints_arg(const Json& args, const char* key) {
  std::vector<int64_t> numbers;
  const Json* value = find(args, key);
  if (!value || !value->is_array()) return {};
  for (const Json& item : *value) {
    if (!fits(item)) return {};
    numbers.push_back(item.get<int64_t>());
  }
  return numbers;
}

const Json& object_arg(const Json& args, const char* key) {
  static const Json empty = Json::object();
  const Json* value = find(args, key);
  return value && value->is_object() ? *value : empty;
}

int64_t duration_arg(const Json& args, const char* key, int64_t fallback) {
  const double microseconds = number_arg(args, key, -1);
  const double nanoseconds = microseconds * 1000;
  if (!(nanoseconds >= 0 && nanoseconds < static_cast<double>(kMaxTime))) {
    return fallback;
  }
  return std::llround(nanoseconds);
}

int64_t port_arg(const Json& args, const char* key) {
  if (string_arg(args, key) == "host") return kHost;
  const int64_t device = int_arg(args, key, kNowhere);
  return device >= 0 ? device : kNowhere;
}

}  // namespace lockstep::tracer
