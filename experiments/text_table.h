// Formats rows of words as a table, for a terminal or in Markdown.
#pragma once

#include <string>
#include <vector>

namespace lockstep::experiments {

/// The first row contains the headings. All rows have the same number of cells.
using Rows = std::vector<std::vector<std::string>>;

/// Aligns the columns (widths in UTF-8 characters): the first two, which contain words,
/// to the left, the others to the right.
std::string as_text(const Rows& rows);
std::string as_markdown(const Rows& rows);

}  // namespace lockstep::experiments
