// Syntax colours for C++ and Python source, by token; there is no parser.
#pragma once

#include <string_view>
#include <vector>

#include "gui/ui/theme.h"

namespace lockstep::gui {

enum class TokenKind { plain, keyword, type, call, number, text, comment };

struct CodeToken {
  std::string_view text;
  TokenKind kind = TokenKind::plain;
};

/// Splits a line into tokens. `in_comment` is true on entry and on return if the line
/// begins or ends, respectively, inside a /* comment.
std::vector<CodeToken> code_tokens(std::string_view line, bool& in_comment);

/// Splits a line into pieces of at most `columns` characters, the second and later ones
/// shorter by `indent`; breaks after a space, comma or bracket where one is near.
/// The pieces point into `line`. `columns` must exceed `indent` by at least 8.
std::vector<std::string_view> wrapped(std::string_view line, size_t columns,
                                      size_t indent);

ImU32 token_colour(const Theme& theme, TokenKind kind);

}  // namespace lockstep::gui
