#include "experiments/text_table.h"

#include <algorithm>

namespace lockstep::experiments {
namespace {

constexpr size_t kWordColumns = 2;

size_t width(const std::string& text) {
  return std::count_if(text.begin(), text.end(),
                       [](unsigned char c) { return (c & 0xC0) != 0x80; });
}

}  // namespace

std::string as_text(const Rows& rows) {
  std::vector<size_t> widths(rows.at(0).size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - width(row[i]), ' ');
      line += ' ' + (i < kWordColumns ? row[i] + gap : gap + row[i]) + ' ';
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string as_markdown(const Rows& rows) {
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    text += '|';
    for (const std::string& cell : rows[r]) text += ' ' + cell + " |";
    text += '\n';
    if (r > 0) continue;
    text += '|';
    for (size_t i = 0; i < rows[r].size(); ++i) {
      text += i < kWordColumns ? " --- |" : " ---: |";
    }
    text += '\n';
  }
  return text;
}

}  // namespace lockstep::experiments
