// Arguments of an event that do not have a dedicated field in Event.
//
// Arguments of an event read from a file stay in the file's text and are parsed on each
// lookup: they take no memory, and most are never looked up. Arguments of an event
// created by a program are stored as Json. A trace may come from any program, so an
// argument may be absent or have another type; the fallback is returned in that case.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/format/scanner.h"

namespace lockstep::tracer {

using Json = nlohmann::ordered_json;

/// Endpoint of a copy: `src` and `dst` are "host" or the id of a device.
inline constexpr int64_t kHost = -1;
inline constexpr int64_t kNowhere = -2;  ///< absent, or neither of the two

/// Value of one argument. Valid as long as its event exists and is not modified.
class Value {
 public:
  Value() = default;  ///< absent
  explicit Value(std::string_view token) : token_(token) {}
  explicit Value(const Json& json) : json_(&json) {}

  bool exists() const { return json_ != nullptr || !token_.empty(); }
  bool is_integer() const;  ///< fits in 64 bits
  bool is_array() const;
  bool is_number() const;
  int64_t integer(int64_t fallback = 0) const;
  double number(double fallback = 0) const;
  std::string_view text() const;  ///< "" if it is not a string
  bool is_true() const;
  std::vector<int64_t> integers() const;  ///< empty if it is anything else
  /// Decimal microseconds (`queued_us`, `cpu_us`) as nanoseconds.
  int64_t duration(int64_t fallback = 0) const;
  int64_t port() const;  ///< kHost, a device's id, or kNowhere
  Json json() const;
  void append_to(std::string& line) const;  ///< as JSON without blanks

 private:
  std::string_view token_;
  const Json* json_ = nullptr;
};

/// Maps a name to one of 64 bits: an argument whose bit is not set is absent. With
/// these factors hardly any two names of `keys` share a bit.
constexpr uint64_t key_bit(std::string_view key) {
  if (key.empty()) return 1;
  const auto letter = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(key[i]));
  };
  const size_t mixed = key.size() * 58 + letter(0) * 41 + letter(key.size() - 1) * 20 +
                       letter(key.size() / 2) * 63;
  return uint64_t{1} << (mixed & 63);
}

class Args {
 public:
  Args() = default;
  Args(Json json);
  Args(Json::initializer_list_t list) : Args(Json(list)) {}
  /// Refers to the arguments in `object`: JSON without escapes in its keys,
  /// in memory that must outlive this object. `keys` holds the bits of all
  /// its keys; the keys in `taken` (see `Taken`) became fields of the event.
  Args(std::string_view object, uint64_t keys, uint8_t taken)
      : text_(object.data()),
        keys_(keys),
        size_(static_cast<uint32_t>(object.size())),
        taken_(taken) {}
  Args(const Args& other);
  Args(Args&& other) noexcept { swap(other); }
  Args& operator=(Args other) noexcept {
    swap(other);
    return *this;
  }
  ~Args() {
    if (owned_) delete json_;
  }

  /// Bits of the arguments that can become fields of an event.
  enum Taken : uint8_t {
    id = 1,
    step = 2,
    parent = 4,
    op = 8,
    fwd = 16,
    deps = 32,
    waits_for = 64,
    left = 128,  ///< one of these may still be present because its type is wrong
  };

  Value find(std::string_view key) const {
    return may_hold(key) ? look_up(key) : Value();
  }
  /// Returns false if the argument is definitely absent.
  bool may_hold(std::string_view key) const {
    return owned_ || (keys_ & key_bit(key)) != 0;
  }
  bool contains(std::string_view key) const { return find(key).exists(); }
  bool empty() const { return size() == 0; }
  size_t size() const;

  /// Returns false if no argument is present that should be a field of the event.
  bool may_hold_fields() const { return owned_ || (taken_ & Taken::left) != 0; }

  using Members = std::vector<std::pair<std::string_view, Value>>;
  /// Lists all arguments, each of them once: a repeated
  /// name keeps its first position and its last value.
  void list(Members& members) const;

  /// Calls `visit(name, value)` for each argument in file order. A name that
  /// is repeated in the file is visited each time; the last value applies.
  template <typename Visit>
  void for_each(Visit visit) const;

  Json json() const;  ///< all arguments, as an object
  /// Returns a copy of one argument; null if it is absent.
  Json operator[](const std::string& key) const { return find(key).json(); }
  Json at(const std::string& key) const;

  // Modifying the arguments converts the text to Json.
  Json& operator[](const std::string& key) { return edit()[key]; }
  void erase(const std::string& key);

  friend bool operator==(const Args& a, const Args& b) { return a.json() == b.json(); }

 private:
  Value look_up(std::string_view key) const;
  bool is_taken(std::string_view key) const;
  Json& edit();
  void swap(Args& other) noexcept;

  union {
    const char* text_ = nullptr;  ///< an object, if `size_` > 0
    Json* json_;                  ///< … if `owned_`
  };
  uint64_t keys_ = 0;
  uint32_t size_ = 0;
  uint8_t taken_ = 0;
  bool owned_ = false;
};

template <typename Visit>
void Args::for_each(Visit visit) const {
  if (owned_) {
    for (const auto& [key, value] : json_->items()) {
      visit(std::string_view(key), Value(value));
    }
    return;
  }
  if (size_ == 0) return;
  Scanner scan(std::string_view(text_, size_));
  for (bool more = scan.enter('{'); more; more = scan.more('}')) {
    const std::string_view key = scan.key();
    const std::string_view token = scan.value();
    if (taken_ == 0 || !is_taken(key)) visit(key, Value(token));
  }
}

inline int64_t int_arg(const Args& args, std::string_view key, int64_t fallback = 0) {
  return args.find(key).integer(fallback);
}
inline double number_arg(const Args& args, std::string_view key, double fallback = 0) {
  return args.find(key).number(fallback);
}
inline std::string_view text_arg(const Args& args, std::string_view key) {
  return args.find(key).text();
}
inline std::string string_arg(const Args& args, std::string_view key) {
  return std::string(text_arg(args, key));
}
inline bool bool_arg(const Args& args, std::string_view key) {
  return args.find(key).is_true();
}
inline std::vector<int64_t> ints_arg(const Args& args, std::string_view key) {
  return args.find(key).integers();
}
inline int64_t duration_arg(const Args& args, std::string_view key,
                            int64_t fallback = 0) {
  return args.find(key).duration(fallback);
}
inline int64_t port_arg(const Args& args, std::string_view key) {
  return args.find(key).port();
}

// The same accessors for an object of the file, such as `lockstep`.
int64_t int_arg(const Json& object, const char* key, int64_t fallback = 0);
double number_arg(const Json& object, const char* key, double fallback = 0);
std::string string_arg(const Json& object, const char* key);
bool bool_arg(const Json& object, const char* key);
std::vector<int64_t> ints_arg(const Json& object, const char* key);

/// Returns `object[key]`, or an empty object if it is absent or not an object.
const Json& object_arg(const Json& object, const char* key);

/// Returns `json` as UTF-8 text, regardless of the content
/// of its strings: an invalid byte becomes U+FFFD.
std::string to_utf8(const Json& json);

/// Appends a string or a number as JSON, as `to_utf8` returns it.
void append_text(std::string& line, std::string_view text);
void append_integer(std::string& line, int64_t value);

}  // namespace lockstep::tracer
