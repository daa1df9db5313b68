#include "tracer/format/args.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "tracer/format/keys.h"
#include "tracer/format/name.h"
#include "tracer/format/times.h"
#include "tracer/format/tokens.h"

namespace lockstep::tracer {

namespace {

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

/// JSON allows unsigned numbers that do not fit in int64_t: those are rejected.
bool fits(const Json& value) {
  return value.is_number_integer() &&
         !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX);
}

bool starts_number(std::string_view token) {
  return !token.empty() && (token[0] == '-' || is_digit(token[0]));
}

/// Returns true for a list, such as "[1,22]" or "[[1,2],[3]]", that stays the same when
/// it is parsed and written again.
bool is_plain_list(std::string_view token) {
  size_t digits = 0;
  for (const char c : token) {
    digits = is_digit(c) ? digits + 1 : 0;
    if (digits > 18 || (digits == 0 && c != '[' && c != ',' && c != ']')) return false;
  }
  return true;
}

int64_t as_duration(double microseconds, int64_t fallback) {
  const double nanoseconds = microseconds * 1000;
  if (!(nanoseconds >= 0 && nanoseconds < static_cast<double>(kMaxTime))) {
    return fallback;
  }
  return std::llround(nanoseconds);
}

}  // namespace

std::string to_utf8(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_text(std::string& line, std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c < 127 && c != '"' && c != '\\';
  });
  if (!plain) {
    line += to_utf8(std::string(text));
    return;
  }
  line += '"';
  line += text;
  line += '"';
}

void append_integer(std::string& line, int64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  line.append(digits, end);
}

namespace {

/// Appends what `to_utf8` returns; what constructed traces consist of, without a dump.
void append_json(std::string& line, const Json& json) {
  if (json.is_string()) {
    append_text(line, json.get_ref<const std::string&>());
  } else if (json.is_number_integer() && fits(json)) {
    append_integer(line, json.get<int64_t>());
  } else if (json.is_array()) {
    line += '[';
    const char* between = "";
    for (const Json& item : json) {
      line += std::exchange(between, ",");
      append_json(line, item);
    }
    line += ']';
  } else {
    line += to_utf8(json);
  }
}

}  // namespace

bool Value::is_integer() const {
  if (json_ != nullptr) return json_->is_number_integer();
  return starts_number(token_) && token_.find_first_of(".eE") == token_.npos &&
         Json::parse(token_).is_number_integer();
}

bool Value::is_array() const {
  return json_ != nullptr ? json_->is_array() : token_.starts_with('[');
}

bool Value::is_number() const {
  return json_ != nullptr ? json_->is_number() : starts_number(token_);
}

int64_t Value::integer(int64_t fallback) const {
  if (json_ != nullptr) return fits(*json_) ? json_->get<int64_t>() : fallback;
  return parse_integer(token_, fallback);
}

double Value::number(double fallback) const {
  if (json_ != nullptr) return json_->is_number() ? json_->get<double>() : fallback;
  if (!starts_number(token_)) return fallback;
  double value = fallback;
  const auto result =
      std::from_chars(token_.data(), token_.data() + token_.size(), value);
  return result.ec == std::errc() ? value : Json::parse(token_).get<double>();
}

std::string_view Value::text() const {
  if (json_ != nullptr) {
    return json_->is_string() ? std::string_view(json_->get_ref<const std::string&>())
                              : std::string_view();
  }
  const std::string_view text = content(token_);
  if (text.find('\\') == text.npos) return text;
  return Name(shown(text)).view();
}

bool Value::is_true() const {
  if (json_ != nullptr) return json_->is_boolean() && json_->get<bool>();
  return token_ == "true";
}

std::vector<int64_t> Value::integers() const {
  std::vector<int64_t> numbers;
  if (json_ == nullptr && read_plain_list(token_, numbers)) return numbers;
  numbers.clear();
  if (!is_array()) return numbers;
  const Json list = json();
  for (const Json& item : list) {
    if (!fits(item)) return {};
    numbers.push_back(item.get<int64_t>());
  }
  return numbers;
}

int64_t Value::duration(int64_t fallback) const {
  int64_t exact = 0;
  const bool plain = json_ == nullptr && token_.size() >= 5 && token_.size() <= 16 &&
                     token_[token_.size() - 4] == '.' && is_digit(token_[0]);
  if (plain && nanoseconds(token_, exact)) return exact;
  return as_duration(number(-1), fallback);
}

int64_t Value::port() const {
  if (text() == values::host) return kHost;
  const int64_t device = integer(kNowhere);
  return device >= 0 ? device : kNowhere;
}

Json Value::json() const {
  if (json_ != nullptr) return *json_;
  return token_.empty() ? Json() : Json::parse(token_);
}

void Value::append_to(std::string& line) const {
  const bool as_it_stands =
      json_ == nullptr && !token_.empty() &&
      (is_text(token_)         ? token_.find('\\') == token_.npos
       : is_digit(token_[0])   ? is_plain_list(token_)
       : token_.front() == '[' ? is_plain_list(token_)
                               : token_ == "true" || token_ == "false");
  if (as_it_stands)
    line += token_;
  else if (json_ != nullptr)
    append_json(line, *json_);
  else
    line += to_utf8(json());
}

Args::Args(Json json) {
  if (json.is_null()) json = Json::object();
  if (!json.is_object()) throw std::runtime_error("`args` must be an object");
  json_ = new Json(std::move(json));
  owned_ = true;
}

Args::Args(const Args& other)
    : text_(other.text_),
      keys_(other.keys_),
      size_(other.size_),
      taken_(other.taken_),
      owned_(other.owned_) {
  if (owned_) json_ = new Json(*other.json_);
}

void Args::swap(Args& other) noexcept {
  std::swap(text_, other.text_);  // or the Json: both are pointers
  std::swap(keys_, other.keys_);
  std::swap(size_, other.size_);
  std::swap(taken_, other.taken_);
  std::swap(owned_, other.owned_);
}

bool Args::is_taken(std::string_view key) const {
  switch (key.size()) {
    case 2:
      return (is_name(key, keys::id) && (taken_ & Taken::id)) ||
             (is_name(key, keys::op) && (taken_ & Taken::op));
    case 3:
      return (is_name(key, keys::fwd) && (taken_ & Taken::fwd)) ||
             (is_name(key, keys::waits_for) && (taken_ & Taken::waits_for));
    case 4:
      return (is_name(key, keys::step) && (taken_ & Taken::step)) ||
             (is_name(key, keys::deps) && (taken_ & Taken::deps));
    case 6:
      return is_name(key, keys::parent) && (taken_ & Taken::parent);
    default:
      return false;
  }
}

/// If an argument is repeated, the last one applies.
Value Args::look_up(std::string_view key) const {
  if (owned_) {
    const auto found = json_->find(key);
    return found == json_->end() ? Value() : Value(*found);
  }
  if (size_ == 0 || is_taken(key)) return {};
  Value value;
  Scanner scan(std::string_view(text_, size_));
  for (bool more = scan.enter('{'); more; more = scan.more('}')) {
    const bool is_it = scan.key() == key;
    const std::string_view token = scan.value();
    if (is_it) value = Value(token);
  }
  return value;
}

void Args::list(Members& members) const {
  members.clear();
  for_each([&](std::string_view name, const Value& value) {
    const auto known = std::find_if(members.begin(), members.end(),
                                    [&](const auto& m) { return m.first == name; });
    if (known == members.end())
      members.emplace_back(name, value);
    else
      known->second = value;
  });
}

size_t Args::size() const { return owned_ ? json_->size() : json().size(); }

Json Args::json() const {
  if (owned_) return *json_;
  Json object = Json::object();
  for_each([&](std::string_view key, const Value& value) {
    object[std::string(key)] = value.json();
  });
  return object;
}

Json Args::at(const std::string& key) const {
  const Value value = find(key);
  if (!value.exists()) throw std::out_of_range("no argument `" + key + "`");
  return value.json();
}

Json& Args::edit() {
  if (!owned_) *this = Args(json());
  return *json_;
}

void Args::erase(const std::string& key) {
  if (contains(key)) edit().erase(key);
}

int64_t int_arg(const Json& object, const char* key, int64_t fallback) {
  const Json* value = member(object, key);
  return value ? Value(*value).integer(fallback) : fallback;
}

double number_arg(const Json& object, const char* key, double fallback) {
  const Json* value = member(object, key);
  return value ? Value(*value).number(fallback) : fallback;
}

std::string string_arg(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value ? std::string(Value(*value).text()) : std::string();
}

bool bool_arg(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value && Value(*value).is_true();
}

std::vector<int64_t> ints_arg(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value ? Value(*value).integers() : std::vector<int64_t>();
}

const Json& object_arg(const Json& object, const char* key) {
  static const Json empty = Json::object();
  const Json* value = member(object, key);
  return value && value->is_object() ? *value : empty;
}

}  // namespace lockstep::tracer
