// Names that occur repeatedly, stored once for the lifetime of the process.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

namespace lockstep::tracer {

/// Compares with a name of the schema (keys.h). The length of such a name is a
/// constant, so comparing takes a few instructions and no call.
template <size_t N>
bool is_name(std::string_view text, const char (&name)[N]) {
  return text.size() == N - 1 && std::memcmp(text.data(), name, N - 1) == 0;
}

/// The category or name of an event: a pointer to a string that is stored
/// once, so that names copy and compare like pointers. Thread-safe.
class Name {
 public:
  Name() : text_(&kEmpty) {}
  Name(std::string_view text) : text_(kept(text)) {}
  Name(const std::string& text) : Name(std::string_view(text)) {}
  Name(const char* text) : Name(std::string_view(text)) {}

  const std::string& str() const { return *text_; }
  operator const std::string&() const { return *text_; }
  operator std::string_view() const { return *text_; }
  std::string_view view() const { return *text_; }

  bool empty() const { return text_->empty(); }
  size_t size() const { return text_->size(); }
  const char* c_str() const { return text_->c_str(); }
  size_t find(std::string_view part) const { return text_->find(part); }
  size_t find(char part) const { return text_->find(part); }
  size_t rfind(std::string_view part, size_t from = npos) const {
    return text_->rfind(part, from);
  }
  size_t rfind(char part) const { return text_->rfind(part); }
  std::string substr(size_t from, size_t count = npos) const {
    return text_->substr(from, count);
  }
  bool starts_with(std::string_view part) const { return text_->starts_with(part); }
  static constexpr size_t npos = std::string::npos;

  friend bool operator==(Name a, Name b) { return a.text_ == b.text_; }
  friend bool operator==(Name a, std::string_view b) { return *a.text_ == b; }
  friend bool operator==(Name a, const std::string& b) { return *a.text_ == b; }
  friend bool operator==(Name a, const char* b) { return *a.text_ == b; }
  friend bool operator<(Name a, Name b) { return *a.text_ < *b.text_; }
  friend std::string operator+(Name a, const char* b) { return *a.text_ + b; }
  friend std::string operator+(Name a, const std::string& b) { return *a.text_ + b; }
  friend std::string operator+(const char* a, Name b) { return a + *b.text_; }
  friend std::ostream& operator<<(std::ostream& out, Name name) {
    return out << *name.text_;
  }

 private:
  friend struct std::hash<Name>;
  static const std::string* kept(std::string_view text);
  static const std::string kEmpty;

  const std::string* text_;
};

/// Looks up the names of a file that is being read, mostly without locking.
class NameCache {
 public:
  Name of(std::string_view text) {
    Known& known = known_[place_of(text)];
    if (known.text.size() != text.size() || known.name.view() != text) {
      known.name = Name(text);
      known.text = known.name.view();
    }
    return known.name;
  }

 private:
  struct Known {
    std::string_view text;
    Name name;
  };

  /// Hashes the length and five characters; different names may share a slot.
  static size_t place_of(std::string_view text) {
    if (text.empty()) return 0;
    const auto at = [&](size_t i) {
      return static_cast<size_t>(static_cast<unsigned char>(text[i]));
    };
    const size_t last = text.size() - 1;
    const size_t mixed = text.size() * 31 + at(0) * 7 + at(last) * 131 +
                         at(last / 2) * 17 + at(last / 4) * 53 + at(last * 3 / 4) * 5;
    return mixed % kPlaces;
  }

  static constexpr size_t kPlaces = 1024;
  Known known_[kPlaces];
};

}  // namespace lockstep::tracer

template <>
struct std::hash<lockstep::tracer::Name> {
  size_t operator()(lockstep::tracer::Name name) const {
    return std::hash<const void*>()(name.text_);
  }
};

template <>
struct fmt::formatter<lockstep::tracer::Name> : fmt::formatter<fmt::string_view> {
  template <typename Context>
  auto format(lockstep::tracer::Name name, Context& context) const {
    const std::string_view text = name;
    return fmt::formatter<fmt::string_view>::format({text.data(), text.size()},
                                                    context);
  }
};
