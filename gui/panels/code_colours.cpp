#include "gui/panels/code_colours.h"

#include <algorithm>
#include <array>

namespace lockstep::gui {

namespace {

constexpr std::array<std::string_view, 60> kKeywords = {
    "auto",    "bool",      "break",    "case",     "catch",     "char",     "class",
    "const",   "constexpr", "continue", "def",      "default",   "delete",   "do",
    "double",  "else",      "enum",     "explicit", "false",     "final",    "float",
    "for",     "friend",    "from",     "if",       "import",    "in",       "inline",
    "int",     "int64_t",   "is",       "mutable",  "namespace", "new",      "noexcept",
    "not",     "nullptr",   "operator", "override", "private",   "public",   "return",
    "self",    "size_t",    "static",   "struct",   "switch",    "template", "this",
    "throw",   "true",      "try",      "typename", "uint32_t",  "unsigned", "using",
    "virtual", "void",      "while",    "yield"};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         c == '_' || c == '#';
}

TokenKind word_kind(std::string_view word, char next) {
  if (word[0] >= '0' && word[0] <= '9') return TokenKind::number;
  const bool directive = word[0] == '#';
  if (directive || std::binary_search(kKeywords.begin(), kKeywords.end(), word)) {
    return TokenKind::keyword;
  }
  if (next == '(') return TokenKind::call;
  const bool capital = word[0] >= 'A' && word[0] <= 'Z';
  return capital ? TokenKind::type : TokenKind::plain;
}

}  // namespace

std::vector<CodeToken> code_tokens(std::string_view line, bool& in_comment) {
  std::vector<CodeToken> pieces;
  size_t at = 0;
  const auto take = [&](size_t end, TokenKind kind) {
    end = std::min(end, line.size());
    if (end > at) pieces.push_back({line.substr(at, end - at), kind});
    at = end;
  };
  while (at < line.size()) {
    const std::string_view rest = line.substr(at);
    if (in_comment || rest.starts_with("/*")) {
      const size_t close = rest.find("*/", in_comment ? 0 : 2);
      in_comment = close == std::string_view::npos;
      take(in_comment ? line.size() : at + close + 2, TokenKind::comment);
    } else if (rest.starts_with("//")) {
      take(line.size(), TokenKind::comment);
    } else if (rest[0] == '"' || rest[0] == '\'') {
      size_t end = 1;
      while (end < rest.size() && rest[end] != rest[0])
        end += rest[end] == '\\' ? 2 : 1;
      take(at + end + 1, TokenKind::text);
    } else if (is_word(rest[0])) {
      size_t end = 1;
      while (end < rest.size() &&
             (is_word(rest[end]) ||
              (rest[end] == '.' && rest[0] <= '9' && rest[0] >= '0')))
        ++end;
      take(at + end, word_kind(rest.substr(0, end), end < rest.size() ? rest[end] : 0));
    } else {
      size_t end = 1;
      while (end < rest.size() && !is_word(rest[end]) && rest[end] != '"' &&
             rest[end] != '\'' && rest[end] != '/')
        ++end;
      take(at + end, TokenKind::plain);
    }
  }
  return pieces;
}

ImU32 token_colour(const Theme& theme, TokenKind kind) {
  switch (kind) {
    case TokenKind::keyword:
      return theme.code_keyword;
    case TokenKind::type:
      return theme.code_type;
    case TokenKind::call:
      return theme.code_call;
    case TokenKind::number:
      return theme.code_number;
    case TokenKind::text:
      return theme.code_text;
    case TokenKind::comment:
      return theme.code_comment;
    default:
      return theme.text;
  }
}

std::vector<std::string_view> wrapped(std::string_view line, size_t columns,
                                      size_t indent) {
  std::vector<std::string_view> pieces;
  for (size_t room = columns;; room = columns - indent) {
    size_t cut = 0, characters = 0;
    for (; cut < line.size(); ++cut) {
      const bool begins = (static_cast<unsigned char>(line[cut]) & 0xC0) != 0x80;
      if (begins && ++characters > room) break;
    }
    if (cut < line.size()) {
      for (const char* ends : {" ,;([{", ".:>"}) {
        const size_t good = line.substr(0, cut).find_last_of(ends);
        if (good == std::string_view::npos || good + 1 <= cut / 3) continue;
        cut = good + 1;
        break;
      }
    }
    pieces.push_back(line.substr(0, cut));
    line.remove_prefix(cut);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) return pieces;
  }
}

}  // namespace lockstep::gui
