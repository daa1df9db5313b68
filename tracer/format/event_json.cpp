#include "tracer/format/event_json.h"

#include <fmt/format.h>

#include <bit>
#include <iterator>
#include <stdexcept>

#include "tracer/format/times.h"
#include "tracer/format/tokens.h"

namespace lockstep::tracer {

namespace {

bool is_flow(char ph) { return ph == 's' || ph == 't' || ph == 'f'; }

char letter_of(const EventFields& fields) {
  if (fields.letter != '\0' && fields.letter != '\\') return fields.letter;
  if (!fields.ph.empty() && !is_text(fields.ph)) {
    throw std::runtime_error("`ph` must be a string");
  }
  const std::string ph = shown(content(fields.ph));
  if (ph.size() != 1) throw std::runtime_error("`ph` must be one letter");
  return ph[0];
}

int64_t time_of(std::string_view token, const char* key) {
  if (token.empty()) return 0;
  int64_t time = 0;
  if (is_text(token) || !nanoseconds(token, time)) {
    const bool number = token[0] == '-' || is_digit(token[0]);
    if (number) throw OutOfRange(std::string(token));
    throw std::runtime_error(fmt::format("`{}` must be a number", key));
  }
  return time;
}

/// Moves `args[key]` into the field if it conforms to the contract: an integer ≥ 0.
void take_id(Json& args, const char* key, int64_t& field) {
  const int64_t value = int_arg(args, key, kNone);
  if (value < 0) return;
  field = value;
  args.erase(key);
}

void take_ids(Json& args, const char* key, IdList& field) {
  const auto found = args.find(key);
  if (found == args.end() || !found->is_array()) return;
  const std::vector<int64_t> values = ints_arg(args, key);
  if (values.size() != found->size()) return;
  field = values;
  args.erase(key);
}

/// Slow path, for example for names that are spelled with escapes.
void take_json(Json args, Event& event) {
  take_id(args, keys::id, event.id);
  take_id(args, keys::step, event.step);
  take_id(args, keys::parent, event.parent);
  take_id(args, keys::op, event.op);
  take_id(args, keys::fwd, event.fwd);
  take_ids(args, keys::deps, event.deps);
  take_ids(args, keys::waits_for, event.waits_for);
  event.args = std::move(args);
}

/// Reads a list of integers into a field; returns false for anything else.
bool read_ids(std::string_view token, IdList& ids) {
  if (token.empty() || token[0] != '[') return false;
  ids.clear();
  if (read_plain_list(token, ids)) return true;
  const Json list = Json::parse(token);
  const std::vector<int64_t> values = Value(list).integers();
  if (values.size() == list.size())
    ids = values;
  else
    ids.clear();
  return values.size() == list.size();
}

constexpr uint64_t kLinkBits = key_bit(keys::id) | key_bit(keys::step) |
                               key_bit(keys::parent) | key_bit(keys::op) |
                               key_bit(keys::fwd) | key_bit(keys::deps) |
                               key_bit(keys::waits_for);
static_assert(std::popcount(kLinkBits) == 7, "each has its own bit");

void take_args(const EventFields& f, Event& event) {
  if (f.unusual || f.args.size() > UINT32_MAX) {
    return take_json(Json::parse(f.args), event);
  }
  uint8_t taken = 0;
  uint64_t left = f.keys & kLinkBits;
  const auto take = [&](bool fits, Args::Taken bit, const char* key) {
    if (!fits) return;
    taken |= bit;
    left &= ~key_bit(key);
  };
  const auto take_number = [&](int64_t value, int64_t& field, Args::Taken bit,
                               const char* key) {
    if (value >= 0) field = value;
    take(value >= 0, bit, key);
  };
  take_number(f.id, event.id, Args::id, keys::id);
  take_number(f.step, event.step, Args::step, keys::step);
  take_number(f.parent, event.parent, Args::parent, keys::parent);
  take_number(f.op, event.op, Args::op, keys::op);
  take_number(f.fwd, event.fwd, Args::fwd, keys::fwd);
  take(read_ids(f.deps, event.deps), Args::deps, keys::deps);
  take(read_ids(f.waits_for, event.waits_for), Args::waits_for, keys::waits_for);
  if (left != 0) taken |= Args::left;
  event.args = Args(f.args, f.keys, taken);
}

class Line {
 public:
  Line(const Event& event, std::string& line, Args::Members& members)
      : line_(line), members_(members) {
    line_ += R"({"ph":")";
    line_ += event.ph;
    line_ += '"';
    if (!event.cat.empty()) add(R"(,"cat":)", event.cat.view());
    add(R"(,"name":)", event.name.view());
    add(R"(,"pid":)", event.pid);
    add(R"(,"tid":)", event.tid);
    line_ += R"(,"ts":)";
    append_microseconds(line_, event.ts);
    if (event.ph == 'X') {
      line_ += R"(,"dur":)";
      append_microseconds(line_, event.dur);
    }
    if (event.ph == 'i') line_ += R"(,"s":"t")";
    if (event.ph == 'f') line_ += R"(,"bp":"e")";
    if (is_flow(event.ph)) add(R"(,"id":)", event.id);
    add_args(event);
    line_ += '}';
  }

 private:
  void add(const char* key, int64_t value) {
    line_ += key;
    append_integer(line_, value);
  }
  void add(const char* key, std::string_view text) {
    line_ += key;
    append_text(line_, text);
  }

  void add_args(const Event& event) {
    const size_t begin = line_.size();
    const auto comma = [&] { line_ += line_.size() == begin ? R"(,"args":{)" : ","; };
    const auto put_id = [&](const char* name, int64_t id) {
      if (id == kNone) return;
      comma();
      add(name, id);
    };
    const auto put_ids = [&](const char* name, const IdList& ids) {
      comma();
      line_ += name;
      const char* between = "[";
      for (const int64_t id : ids) add(std::exchange(between, ","), id);
      line_ += ids.empty() ? "[]" : "]";
    };
    if (!is_flow(event.ph)) put_id(R"("id":)", event.id);
    put_id(R"("step":)", event.step);
    put_id(R"("parent":)", event.parent);
    put_id(R"("op":)", event.op);
    put_id(R"("fwd":)", event.fwd);
    if (is_event_list(event, event.deps)) put_ids(R"("deps":)", event.deps);
    if (!event.waits_for.empty()) put_ids(R"("for":)", event.waits_for);
    event.args.list(members_);
    for (const auto& [name, value] : members_) {
      comma();
      append_text(line_, name);
      line_ += ':';
      value.append_to(line_);
    }
    if (line_.size() > begin) line_ += '}';
  }

  /// Kernels and copies always list what they waited for, even if it is nothing.
  static bool is_event_list(const Event& event, const IdList& ids) {
    return !ids.empty() || event.is(categories::kernel) || event.is(categories::copy);
  }

  std::string& line_;
  Args::Members& members_;
};

}  // namespace

void EventReader::read(const EventFields& fields, Event& event) {
  if (fields.begin == nullptr) throw std::runtime_error("an event must be an object");
  event.ph = letter_of(fields);
  event.cat = name_of(fields.cat, "cat");
  event.name = name_of(fields.name, "name");
  event.pid = lane_number(fields.pid, "pid");
  event.tid = lane_number(fields.tid, "tid");
  event.ts = time_of(fields.ts, "ts");
  event.dur = time_of(fields.dur, "dur");
  if (!fields.args.empty()) {
    if (fields.args[0] != '{') throw std::runtime_error("`args` must be an object");
    take_args(fields, event);
  }
  if (is_flow(event.ph)) event.id = parse_integer(fields.flow_id, kNone);
}

Name EventReader::name_of(std::string_view token, const char* key) {
  if (token.empty()) return {};
  if (!is_text(token))
    throw std::runtime_error(fmt::format("`{}` must be a string", key));
  const std::string_view text = content(token);
  return text.find('\\') == text.npos ? names_.of(text) : Name(shown(text));
}

int64_t EventReader::lane_number(std::string_view token, const char* key) {
  if (token.empty()) return 0;
  if (const int64_t number = parse_integer(token, INT64_MIN); number != INT64_MIN) {
    return number;
  }
  if (!is_text(token)) {
    if (Value(token).is_integer()) return Value(token).integer(INT64_MAX);
    throw std::runtime_error(fmt::format("`{}` must be an integer", key));
  }
  const int64_t next = -1'000'000 - static_cast<int64_t>(numbers_.size());
  return numbers_.emplace(shown(content(token)), next).first->second;
}

std::map<int64_t, std::string> EventReader::numbered_texts() const {
  std::map<int64_t, std::string> texts;
  for (const auto& [text, number] : numbers_) texts.emplace(number, text);
  return texts;
}

void EventWriter::append(const Event& event, std::string& text) {
  Line(event, text, members_);
}

std::string event_line(const Event& event) {
  std::string line;
  EventWriter().append(event, line);
  return line;
}

}  // namespace lockstep::tracer
