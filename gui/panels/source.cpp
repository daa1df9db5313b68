// Shows the source file of the current call, with its line highlighted.
#include <fmt/format.h>

#include <algorithm>

#include "gui/model/details.h"
#include "gui/model/further_reading.h"
#include "gui/panels/code_colours.h"
#include "gui/panels/panels.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

namespace {

constexpr float kLine = 18;

struct SourcePlace {
  std::string file;
  int64_t line = 0;
  std::string caller_file;
  int64_t caller_line = 0;
  /// The event that recorded it, if that is a caller of the one that is shown.
  uint32_t caller = kNoEvent;
  bool known() const { return !file.empty() && line > 0; }
};

/// Returns the location of the event, or that of its nearest caller that has one: the
/// definition of a call, the line that calls an op, where a phase begins.
SourcePlace place_of(const Model& model, const State& state) {
  for (auto at = state.stack.rbegin(); at != state.stack.rend(); ++at) {
    const Event& event = model.events[*at];
    const tracer::Json args = args_of(model, event);
    SourcePlace place{string_arg(args, keys::def_file), int_arg(args, keys::def_line),
                      string_arg(args, keys::file), int_arg(args, keys::line)};
    if (!place.known()) {
      place = {place.caller_file, place.caller_line, "", 0};
    }
    if (*at != state.event) place.caller = *at;
    if (place.known()) return place;
  }
  return {};
}

/// Returns the location of a phase that records none: it is that of the first call or
/// op inside it.
SourcePlace place_inside(const Model& model, uint32_t index) {
  const Event& event = model.events[index];
  const uint32_t end = std::min(event.last, event.order + 64);
  for (uint32_t at = event.order + 1; at < end; ++at) {
    const Event& inner = model.events[model.program[at]];
    if (inner.what() != Kind::call && inner.what() != Kind::op) continue;
    const tracer::Json args = args_of(model, inner);
    const SourcePlace place{string_arg(args, keys::file), int_arg(args, keys::line), "",
                            0};
    if (place.known()) return place;
  }
  return {};
}

std::vector<std::string_view> lines_of(const std::string& text) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  while (begin < text.size() && lines.size() < 100'000) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

constexpr float kCode = 46;  ///< points from the left edge of the panel to the code

/// A line, cut into rows that fit.
struct WrappedLine {
  std::vector<std::string_view> rows;
  float indent = 0;  ///< of all rows but the first, in points
};

size_t columns_in(const Ui& ui, float room) {
  return static_cast<size_t>(std::max(16.0f, room / ui.width(Type::mono, "m")));
}

WrappedLine wrapped_line(const Ui& ui, std::string_view line, size_t columns) {
  const size_t blanks = std::min(line.find_first_not_of(' '), line.size());
  const size_t indent = std::min(blanks + 4, columns / 2);
  return {wrapped(line, columns, indent),
          static_cast<float>(indent) * ui.width(Type::mono, "m")};
}

/// Returns the row in which each line begins, and at last the number of all rows.
std::vector<size_t> first_rows(const Ui& ui, const std::vector<std::string_view>& lines,
                               size_t columns) {
  std::vector<size_t> first{0};
  for (const std::string_view line : lines) {
    const size_t rows =
        line.size() <= columns ? 1 : wrapped_line(ui, line, columns).rows.size();
    first.push_back(first.back() + rows);
  }
  return first;
}

/// Returns the scroll offset at which the lit line, which begins in row `first`, is
/// visible with all of its rows, and some lines before it.
float wanted_top(size_t first, size_t rows, float high) {
  const float top = kLine * static_cast<float>(first);
  const float least = top + kLine * static_cast<float>(rows + 1) - high;
  return std::min(top, std::max(top - high * 0.4f, least));
}

/// Draws the rows of a line; colours do not depend on where it is cut.
void draw_rows(const Ui& ui, float x, float y, const WrappedLine& whole,
               std::string_view line, bool& in_comment) {
  const std::vector<CodeToken> tokens = code_tokens(line, in_comment);
  for (const std::string_view row : whole.rows) {
    float at = x + (row.data() == line.data() ? 0 : whole.indent);
    for (const CodeToken& token : tokens) {
      const char* begin = std::max(token.text.data(), row.data());
      const char* end =
          std::min(token.text.data() + token.text.size(), row.data() + row.size());
      if (begin >= end) continue;
      const std::string_view part(begin, static_cast<size_t>(end - begin));
      ui.text(at, y, Type::mono, token_colour(ui.theme, token.kind), part);
      at += ui.width(Type::mono, part);
    }
    y += kLine;
  }
}

}  // namespace

void draw_source(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  const OpenTrace& trace = app.trace();
  const Model& model = *trace.model;
  SourcePlace place = place_of(model, trace.state);
  bool inside_of_phase = false;
  const Kind kind = model.events[trace.state.event].what();
  if (!(place.known() && place.caller == kNoEvent) &&
      (kind == Kind::phase || kind == Kind::step)) {
    const SourcePlace first = place_inside(model, trace.state.event);
    inside_of_phase = first.known();
    if (inside_of_phase) place = first;
  }
  const std::string note =
      place.known() ? fmt::format("{}{}:{}", inside_of_phase ? "first call: " : "",
                                  place.file, place.line)
                    : std::string();
  Rect inside = ui.card(area, "SOURCE", note);

  Rect foot = inside.take_bottom(26);
  const std::string_view python = pytorch_file_at(model, trace.state);
  float x = foot.x + 13;
  if (!python.empty()) {
    ui.text(x, foot.y + 5, Type::small, t.faint, "in PyTorch ");
    x += ui.width(Type::small, "in PyTorch ");
    ui.text_cut(x, foot.y + 5, foot.right() - 12 - x, Type::mono_small, t.dim, python);
  }
  if (!place.caller_file.empty() && foot.w > 250) {
    Rect caller = inside.take_bottom(20);
    ui.text(caller.x + 13, caller.y + 4, Type::small, t.faint, "called from ");
    const float from = caller.x + 13 + ui.width(Type::small, "called from ");
    ui.text_cut(from, caller.y + 4, caller.right() - 12 - from, Type::mono_small, t.dim,
                fmt::format("{}:{}", place.caller_file, place.caller_line));
  }

  if (place.caller != kNoEvent) {
    const Event& event = model.events[trace.state.event];
    const bool enqueued = event.is_task() && event.parent == place.caller;
    const Rect line = inside.take_top(20);
    ui.text_cut(line.x + 13, line.y + 4, line.w - 25, Type::small, t.dim,
                (enqueued ? "enqueued by " : "nearest recorded caller: ") +
                    model.name_of(model.events[place.caller]));
  }
  const std::string* text = place.known() ? source_of(model, place.file) : nullptr;
  if (text == nullptr) {
    const char* why = place.known()
                          ? "The trace does not contain this file."
                          : "The trace has no source location for this event.";
    ui.text_rich(inside.inset(14), Type::body, Type::strong, t.faint, t.dim, why);
    return;
  }
  const auto lines = lines_of(*text);
  const auto lit = static_cast<size_t>(
      std::clamp<int64_t>(place.line - 1, 0, static_cast<int64_t>(lines.size()) - 1));
  inside = {inside.x + 1, inside.y + 4, inside.w - 2, inside.h - 4};
  const size_t columns = columns_in(ui, inside.w - kCode - 10);
  const std::vector<size_t> rows = first_rows(ui, lines, columns);
  const Scroll scroll(ui, "source", inside, kLine * static_cast<float>(rows.back()),
                      wanted_top(rows[lit], rows[lit + 1] - rows[lit], inside.h),
                      static_cast<int>(trace.state.event), kLine);
  bool in_comment = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    const float y = scroll.top() + kLine * static_cast<float>(rows[i]);
    const float high = kLine * static_cast<float>(rows[i + 1] - rows[i]);
    if (y >= scroll.bottom()) break;
    if (!scroll.shows(y, high)) {
      if (lines[i].find("/*") != std::string_view::npos)
        code_tokens(lines[i], in_comment);
      else if (in_comment)
        code_tokens(lines[i], in_comment);
      continue;
    }
    if (i == lit) {
      ui.fill({inside.x, y, inside.w, high}, t.accent_background);
      ui.fill({inside.x, y, 3, high}, t.accent);
    }
    ui.text_right(inside.x + 36, y + 2, Type::mono_small, i == lit ? t.accent : t.faint,
                  std::to_string(i + 1));
    draw_rows(ui, inside.x + kCode, y + 1, wrapped_line(ui, lines[i], columns),
              lines[i], in_comment);
  }
}

}  // namespace lockstep::gui
