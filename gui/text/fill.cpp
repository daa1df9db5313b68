#include "gui/text/language.h"

#include <algorithm>
#include <optional>

namespace lockstep::gui {

namespace {

constexpr size_t kMostParts = 8;  ///< maximum optional parts per template

/// Returns the position of the bracket that closes the one at `text[at]`, or the end of
/// the text.
size_t closing(std::string_view text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '{' || text[at] == '[') ++depth;
    if ((text[at] == '}' || text[at] == ']') && --depth == 0) break;
  }
  return at;
}

/// Returns form number `wanted` of, for example, "image|images", or the last form.
std::string_view form(std::string_view forms, size_t wanted) {
  int depth = 0;
  for (size_t i = 0, begin = 0, number = 0; i <= forms.size(); ++i) {
    const char c = i < forms.size() ? forms[i] : '|';
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != '|' || depth != 0) continue;
    if (number++ == wanted || i == forms.size()) return forms.substr(begin, i - begin);
    begin = i + 1;
  }
  return forms;
}

/// Fills one template with at most `parts` of its optional parts.
class TemplateFiller {
 public:
  TemplateFiller(const Language& language, const Facts& facts, size_t parts)
      : language_(language), facts_(facts), parts_(parts) {}

  /// Returns false if a fact outside the optional parts is unknown.
  bool fill(std::string_view text, std::string& out) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '{' && text[i] != '[') {
        out += text[i];
        continue;
      }
      const size_t end = closing(text, i);
      const std::string_view inside = text.substr(i + 1, end - i - 1);
      if (text[i] == '[')
        optional(inside, out);
      else if (!placeholder(inside, out))
        return false;
      i = end;
    }
    return true;
  }

 private:
  void optional(std::string_view inside, std::string& out) {
    std::string part;
    if (parts_ == 0 || !fill(inside, part)) return;
    --parts_;
    out += part;
  }

  bool placeholder(std::string_view inside, std::string& out) {
    const size_t colon = inside.find(':');
    if (colon != std::string_view::npos) {
      const auto count = facts_.count(inside.substr(0, colon));
      return count && fill(form(inside.substr(colon + 1), language_.form(*count)), out);
    }
    const std::string* value = facts_.find(inside);
    if (value != nullptr) out += *value;
    return value != nullptr;
  }

  const Language& language_;
  const Facts& facts_;
  size_t parts_;
};

/// Returns the number of visible characters.
size_t length(std::string_view text) {
  const auto read = [](char c) { return c != '*' && (c & 0xC0) != 0x80; };
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), read));
}

}  // namespace

std::string say(const Language& language, std::initializer_list<std::string_view> keys,
                const Facts& facts, size_t longest) {
  for (const std::string_view key : keys) {
    for (const Template& row : language.templates) {
      if (row.key != key) continue;
      for (size_t parts = kMostParts + 1; parts-- > 0;) {
        std::string text;
        if (!TemplateFiller(language, facts, parts).fill(row.text, text)) break;
        if (length(text) <= longest || parts == 0) return text;
      }
    }
  }
  return "";
}

}  // namespace lockstep::gui
