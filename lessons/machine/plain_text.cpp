#include "lessons/machine/plain_text.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace lockstep::lessons {
namespace {

const std::set<std::string, std::less<>> kHarmless{
    "__FILE__",      "__LINE__",    "__VA_ARGS__", "__VA_OPT__",
    "__attribute__", "__cplusplus", "__func__",    "__int128",
    "__has_include", "__restrict",  "__restrict__"};
const std::set<std::string, std::less<>> kDirectives{
    "define", "elif",  "elifdef", "elifndef", "else",  "endif",  "error",
    "if",     "ifdef", "ifndef",  "include",  "undef", "warning"};
const std::set<std::string, std::less<>> kRaw{"R", "LR", "uR", "UR", "u8R"};
const std::set<std::string, std::less<>> kNaming{
    // attributes
    "alias", "ifunc", "patchable_function_entry", "section", "symver", "weakref"};

bool is_reserved(std::string_view name) {
  return name.find("__") != name.npos ||
         (name.size() > 1 && name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z');
}

std::string hex(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {kDigits[byte / 16], kDigits[byte % 16]};
}

bool starts_name(char c) {
  return c == '_' || c == '$' || std::isalpha(static_cast<unsigned char>(c));
}
bool continues_name(char c) {
  return starts_name(c) || std::isdigit(static_cast<unsigned char>(c));
}

bool is_blank(char c) {
  return std::string_view(" \t\r\v\f\0", 6).find(c) != size_t(-1);
}

/// Returns true if no token can begin with `c` and go on after it.
bool ends_token(char c) {
  return is_blank(c) || std::string_view("(),;{}").find(c) != std::string_view::npos;
}

/// Reads the tokens of a text, as far as it takes to tell names from literals and
/// comments. Refuses what this and a compiler could read differently: lines that are
/// joined inside of tokens, comments and literals, and raw strings of several lines.
class PlainText {
 public:
  explicit PlainText(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
  }

  std::string why_not() {
    for (bool line_begins = true; at_ < text_.size() && why_.empty();) {
      const char c = text_[at_];
      if (joins_lines(at_) && (at_ == 0 || ends_token(text_[at_ - 1]))) {
        skip_to("\n", at_);
      } else if (c == '\n' || is_blank(c)) {
        line_begins |= c == '\n';
        ++at_;
      } else if (follows("//") || follows("/*")) {
        skip_comment();
      } else if (follows("#") || follows("%:")) {
        take_hash(line_begins);
      } else {
        line_begins = false;
        take_token();
      }
    }
    return why_;
  }

 private:
  bool follows(std::string_view what) const {
    return text_.substr(at_).starts_with(what);
  }
  void refuse(std::string_view what) { why_ = "uses `" + std::string(what) + "`"; }

  void skip_to(std::string_view end, size_t from) {
    const size_t found = text_.find(end, from);
    at_ = found == text_.npos ? text_.size() : found + end.size();
  }

  /// Returns true for a backslash at the end of a line. GCC also joins lines if blanks
  /// follow it.
  bool joins_lines(size_t at) const {
    if (text_[at] != '\\') return false;
    for (++at; at < text_.size() && is_blank(text_[at]); ++at) continue;
    return at < text_.size() && text_[at] == '\n';
  }

  void skip_comment() {
    const size_t begin = at_;
    if (follows("/*")) {
      skip_to("*/", at_ + 2);
    } else {
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
    for (size_t i = begin; i < at_; ++i) {
      if (joins_lines(i)) refuse("\\");
    }
  }

  void take_hash(bool line_begins) {
    at_ += follows("#") ? 1 : 2;
    if (!line_begins) {  // in a macro: `#x` is a literal, `##` makes names
      if (follows("#") || follows("%:")) refuse("##");
      return;
    }
    skip_blanks();
    const std::string name = take_name();
    if (name == "pragma" && follows(" once")) return;
    if (!kDirectives.contains(name)) refuse("#" + name);
    if (name == "error" || name == "warning") return skip_message();
    if (name != "include") return;
    skip_blanks();
    skip_header();
  }

  /// Skips the name after `#include`; a comment must not come first.
  void skip_header() {
    if (at_ >= text_.size() || follows("\"") || starts_name(text_[at_])) return;
    if (!follows("<")) return refuse("#include");
    const size_t begin = at_;
    skip_to(">", at_);
    if (text_.substr(begin, at_ - begin).find('\n') != text_.npos) refuse("<");
  }

  void skip_header_in_brackets() {
    skip_blanks();
    if (!follows("(")) return refuse("__has_include");
    ++at_;
    skip_blanks();
    skip_header();
  }

  void skip_message() {  // may contain a single quote
    const size_t begin = at_;
    at_ = std::min(text_.find('\n', at_), text_.size());
    const std::string_view message = text_.substr(begin, at_ - begin);
    if (message.find("/*") != message.npos) refuse("/*");
    if (message.find('\\') != message.npos) refuse("\\");
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  std::string take_name() {
    const size_t begin = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  void take_token() {
    const char c = text_[at_];
    if (c == '"' || c == '\'') return skip_literal(c);
    if (std::isdigit(static_cast<unsigned char>(c))) return skip_number();
    if (!starts_name(c)) {
      if (c == '\\') return refuse("\\");
      // A compiler may take others for blanks, or for parts of names.
      if (c < ' ' || c > '~') return refuse("\\x" + hex(c));
      ++at_;
      return;
    }
    const std::string name = take_name();
    if (kRaw.contains(name) && follows("\"")) return skip_raw();
    if (kNaming.contains(name)) return refuse(name);
    if (name == "__has_include") return skip_header_in_brackets();
    const bool harmless = kHarmless.contains(name) || name.starts_with("__builtin_");
    if (name == "asm" || (is_reserved(name) && !harmless)) refuse(name);
  }

  void skip_literal(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\n' || joins_lines(at_)) return refuse(std::string(1, quote));
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  void skip_number() {  // 1'000'000, 0x1p-3: its quotes begin no literal
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      const bool next_continues =
          at_ + 1 < text_.size() && continues_name(text_[at_ + 1]);
      const bool is_sign = (c == '+' || c == '-') &&
                           std::string_view("eEpP").find(text_[at_ - 1]) != text_.npos;
      if (continues_name(c) || c == '.' || is_sign || (c == '\'' && next_continues)) {
        continue;
      }
      return;
    }
  }

  void skip_raw() {
    const size_t begin = at_, open = text_.find('(', at_);
    if (open == text_.npos) return refuse("R\"");
    skip_to(")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"", open);
    if (text_.substr(begin, at_ - begin).find('\n') != text_.npos) refuse("R\"");
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string why_;
};

}  // namespace

std::string not_plain(std::string_view text) { return PlainText(text).why_not(); }

}  // namespace lockstep::lessons
