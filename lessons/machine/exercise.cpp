#include "lessons/machine/exercise.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace lockstep::lessons {
namespace {

struct Line {
  std::string text;
  std::string region;  ///< the enclosing region; "" outside
  bool marker = false;
};

/// Returns `solution-2` for `  // [solution-2]`, `/solution` for `// [/solution]`,
/// otherwise "".
std::string marker_of(std::string_view line) {
  const size_t start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos) return "";
  line.remove_prefix(start);
  const size_t comment = line.starts_with("//") ? 2 : line.starts_with("#") ? 1 : 0;
  if (comment == 0) return "";
  line.remove_prefix(comment);
  while (line.starts_with(" ")) line.remove_prefix(1);
  const size_t close = line.find(']');
  if (!line.starts_with("[") || close == std::string_view::npos) return "";
  const std::string_view inside = line.substr(1, close - 1);
  const std::string_view name = inside.substr(inside.starts_with("/") ? 1 : 0);
  return name.starts_with("solution") ? std::string(inside) : "";
}

std::vector<Line> lines_of(std::string_view text, const std::string& name) {
  const auto fail = [&](size_t line, const std::string& what) {
    throw std::runtime_error(name + ":" + std::to_string(line) + ": " + what);
  };
  std::vector<Line> lines;
  std::map<std::string, size_t> length;  // of each closed region
  std::string open;
  size_t opened = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    Line line{std::string(text.substr(0, end)), open};
    text.remove_prefix(end);
    const size_t number = lines.size() + 1;
    if (const std::string marker = marker_of(line.text); !marker.empty()) {
      line.marker = true;
      if (marker[0] != '/') {
        if (!open.empty())
          fail(number, "[" + marker + "] is opened inside [" + open + "]");
        if (length.contains(marker)) fail(number, "a second [" + marker + "]");
        open = line.region = marker;
        opened = number;
      } else {
        if (marker.substr(1) != open)
          fail(number, "[" + marker + "] has no opening marker");
        length[open] = number - opened - 1;
        if (length[open] == 0) fail(number, "[" + open + "] is empty");
        open.clear();
      }
    }
    lines.push_back(std::move(line));
  }
  if (!open.empty()) fail(opened, "[" + open + "] is never closed");
  if (length.empty()) fail(1, "the region [solution] is missing");
  return lines;
}

}  // namespace

std::string skeleton_of(std::string_view exercise, const std::string& name) {
  std::string text;
  for (const Line& line : lines_of(exercise, name)) {
    if (line.region.empty() && !line.marker) text += line.text;
  }
  return text;
}

std::string solution_of(std::string_view exercise, const std::string& name) {
  std::string text;
  std::string jump;       // `return;` or `continue;`, held back until needed
  std::string_view stub;  // the end of the placeholder that we are in; "" outside
  for (const Line& line : lines_of(exercise, name)) {
    if (line.marker) continue;
    const std::string_view words = std::string_view(line.text).substr(
        std::min(line.text.find_first_not_of(' '), line.text.size()));
    if (words.starts_with("lessons::not_written(")) stub = ");\n";
    if (words.starts_with("raise NotImplementedError(")) stub = ")\n";
    if (!stub.empty()) {
      jump.clear();  // it only separated the solution from the stub
      if (line.text.ends_with(stub)) stub = {};
      continue;
    }
    text += jump;
    jump.clear();
    const bool jumps =
        words == "return;\n" || words == "continue;\n" || words == "return\n";
    (jumps && !line.region.empty() ? jump : text) += line.text;
  }
  text += jump;
  return text;
}

}  // namespace lockstep::lessons
