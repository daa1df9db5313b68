#include "tracer/format/event_json.h"

#include <fmt/format.h>

#include <iterator>
#include <stdexcept>

#include "tracer/format/args.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

/// Moves `args[key]` into the field when it is what the contract says: an integer ≥ 0.
void take_id(Json& args, const char* key, int64_t& field) {
  const int64_t value = int_arg(args, key, kNone);
  if (value < 0) return;
  field = value;
  args.erase(key);
}

void take_ids(Json& args, const char* key, std::vector<int64_t>& field) {
  const auto found = args.find(key);
  if (found == args.end() || !found->is_array()) return;
  std::vector<int64_t> values = ints_arg(args, key);
  if (values.size() != found->size()) return;
  field = std::move(values);
  args.erase(key);
}

void take_args(Event& event) {
  take_id(event.args, "id", event.id);
  take_id(event.args, "step", event.step);
  take_id(event.args, "parent", event.parent);
  take_id(event.args, "op", event.op);
  take_id(event.args, "fwd", event.fwd);
  take_ids(event.args, "deps", event.deps);
  take_ids(event.args, "for", event.waits_for);
}

std::string text(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return {};
  if (!found->is_string()) {
    throw std::runtime_error(fmt::format("`{}` must be a text", key));
  }
  return found->get<std::string>();
}

int64_t time(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return 0;
  if (!found->is_number_integer()) {
    throw std::runtime_error(fmt::format("`{}` must be a number", key));
  }
  return found->get<int64_t>();
}

bool is_flow(char ph) { return ph == 's' || ph == 't' || ph == 'f'; }

/// Texts are written as UTF-8 whatever they hold: an invalid byte becomes U+FFFD.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class Line {
 public:
  explicit Line(const Event& event) {
    add(R"({{"ph":"{}")", event.ph);
    if (!event.cat.empty()) add(R"(,"cat":{})", dump(event.cat));
    add(R"(,"name":{},"pid":{},"tid":{},"ts":{})", dump(event.name), event.pid,
        event.tid, format_microseconds(event.ts));
    if (event.ph == 'X') add(R"(,"dur":{})", format_microseconds(event.dur));
    if (event.ph == 'i') add(R"(,"s":"t")");
    if (event.ph == 'f') add(R"(,"bp":"e")");
    if (is_flow(event.ph)) add(R"(,"id":{})", event.id);
    add_args(event);
    add("}}");
  }

  std::string take() { return std::move(line_); }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(line_), format, std::forward<Values>(values)...);
  }

  void add_args(const Event& event) {
    std::string inner;
    const auto put = [&](const std::string& key, const std::string& value) {
      fmt::format_to(std::back_inserter(inner), "{}{}:{}", inner.empty() ? "" : ",",
                     dump(key), value);
    };
    const auto put_id = [&](const char* key, int64_t id) {
      if (id != kNone) put(key, std::to_string(id));
    };
    if (!is_flow(event.ph)) put_id("id", event.id);
    put_id("step", event.step);
    put_id("parent", event.parent);
    put_id("op", event.op);
    put_id("fwd", event.fwd);
    if (is_event_list(event, event.deps)) put("deps", list(event.deps));
    if (!event.waits_for.empty()) put("for", list(event.waits_for));
    for (const auto& [key, value] : event.args.items()) put(key, dump(value));
    if (!inner.empty()) add(R"(,"args":{{{}}})", inner);
  }

  /// Kernels and copies always say what they waited for, be it nothing.
  static bool is_event_list(const Event& event, const std::vector<int64_t>& ids) {
    return !ids.empty() || event.is("kernel") || event.is("copy");
  }

  static std::string list(const std::vector<int64_t>& ids) {
    return fmt::format("[{}]", fmt::join(ids, ","));
  }

  std::string line_;
};

}  // namespace

Event EventReader::read(Json&& json) {
  if (!json.is_object()) throw std::runtime_error("an event must be an object");
  const std::string ph = text(json, "ph");
  if (ph.size() != 1) throw std::runtime_error("`ph` must be one letter");

  Event event;
  event.ph = ph[0];
  event.cat = text(json, "cat");
  event.name = text(json, "name");
  event.pid = lane_number(json, "pid");
  event.tid = lane_number(json, "tid");
  event.ts = time(json, "ts");
  event.dur = time(json, "dur");
  if (const auto args = json.find("args"); args != json.end()) {
    if (!args->is_object()) throw std::runtime_error("`args` must be an object");
    event.args = std::move(*args);
    take_args(event);
  }
  if (is_flow(event.ph)) event.id = int_arg(json, "id", kNone);
  return event;
}

int64_t EventReader::lane_number(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return 0;
  if (found->is_number_integer()) return int_arg(json, key, INT64_MAX);
  if (!found->is_string()) {
    throw std::runtime_error(fmt::format("`{}` must be an integer", key));
  }
  const int64_t next = -1'000'000 - static_cast<int64_t>(numbers_.size());
  return numbers_.emplace(found->get<std::string>(), next).first->second;
}

std::string event_line(const Event& event) { return Line(event).take(); }

}  // namespace lockstep::tracer
