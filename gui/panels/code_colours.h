// Syntax colours for C++ and Python source, by token; there is no parser.
#pragma once

#include <string_view>
#include <vector>

#include "gui/ui/theme.h"

namespace lockstep::gui {

enum class Code { plain, keyword, type, call, number, text, comment };

struct CodePiece {
  std::string_view text;
  Code kind = Code::plain;
};

/// Splits a line into pieces. `in_comment` is true on entry and on return while a /* is
/// open.
std::vector<CodePiece> code_pieces(std::string_view line, bool& in_comment);

ImU32 code_colour(const Theme& theme, Code kind);

}  // namespace lockstep::gui
