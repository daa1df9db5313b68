// The lanes: one box for each event that is large enough; smaller events are merged.
#include <cmath>

#include "base/units.h"
#include "gui/model/details.h"
#include "gui/panels/panels.h"
#include "gui/panels/timeline_parts.h"

namespace lockstep::gui {

namespace {

using Role = Strip::Role;

constexpr size_t kMaxSpans = 6000;  ///< boxes per frame
constexpr size_t kMaxLabels = 2000;
constexpr double kFinest = 1.5;        ///< points; smaller events are merged
constexpr size_t kMaxVisits = 24'000;  ///< search budget per frame
constexpr int kMaxTries = 6;           ///< after this, a row is drawn in a few pieces
constexpr double kMarkRoom = 9;        ///< minimum distance between marks, in points
constexpr float kRounded = 6;          ///< points; narrower boxes have square corners
constexpr float kWaited = 3;           ///< points; shorter waits are not drawn
constexpr float kStriped = 8;          ///< points; lower rows have no faint stripes
constexpr float kDimmed = 0.3f;        ///< for events that do not match the search

struct DrawnRow {
  const Strip* strip = nullptr;
  uint32_t depth = 0;
  float y = 0;
  size_t first = 0, last = 0;  ///< in `spans_`
  bool marks_only = false;
  double points = 0;  ///< smaller events are merged
};

class LanePainter {
 public:
  explicit LanePainter(TimelineFrame& frame)
      : f_(frame), scale_(frame.scale()), ui_(frame.ui), theme_(frame.ui.theme) {
    timed_ = is_ours(f_.model) && f_.model.has_device_times();
    pixel_ = 1 / std::max(1.0f, ImGui::GetIO().DisplayFramebufferScale.x);
  }

  void paint() {
    find_rows();
    collect();
    paint_tracks();
    for (const DrawnRow& row : rows_) {
      row.marks_only ? paint_marks(row) : paint_row(row);
    }
  }

 private:
  void find_rows() {
    const LaneLayout& layout = f_.cache.layout;
    const auto [first, last] = layout.between(f_.top, f_.top + f_.plot.h);
    for (size_t i = first; i < last; ++i) {
      const Strip& strip = layout.strips[i];
      if (strip.role == Role::head || strip.role == Role::track) continue;
      for (uint32_t depth = 0; depth < strip.rows; ++depth) {
        const float y = f_.top_of(strip) + static_cast<float>(depth) * strip.pitch;
        if (y > f_.plot.bottom() || y + strip.row_height < f_.plot.y) continue;
        rows_.push_back({&strip, depth, y, 0, 0, false, 0});
      }
      if (strip.role == Role::stream && strip.depth > strip.rows) {
        rows_.push_back({&strip, strip.rows, f_.top_of(strip), 0, 0, true, 0});
      }
    }
  }

  /// Collects all rows at the finest resolution. Rows that exceed their share of the
  /// budget are collected again at a coarser resolution, with the remaining budget.
  void collect() {
    LodBudget budget{kMaxSpans, kMaxVisits};
    std::vector<DrawnRow*> dense;
    for (DrawnRow& row : rows_) {
      row.points = row.marks_only ? kMarkRoom : kFinest;
      dense.push_back(&row);
    }
    for (int tries = 0; !dense.empty(); ++tries) {
      const LodBudget share{budget.spans / dense.size(), budget.visits / dense.size()};
      std::erase_if(dense, [&](DrawnRow* row) {
        return collect(*row, share, budget, tries == kMaxTries);
      });
    }
  }

  /// Returns false and makes the row coarser if its share of the budget is not
  /// sufficient.
  bool collect(DrawnRow& row, const LodBudget& share, LodBudget& budget, bool at_last) {
    const auto t0 = static_cast<int64_t>(std::floor(scale_.from));
    const auto t1 = static_cast<int64_t>(std::ceil(scale_.to));
    if (at_last) row.points = static_cast<double>(f_.plot.w) / 16;
    const auto resolution = static_cast<int64_t>(row.points * scale_.per_point());
    row.first = spans_.size();
    LodBudget left = at_last ? LodBudget{} : share;
    const bool fits = f_.cache.lod.spans(f_.model, row.strip->lane, row.depth, t0, t1,
                                         resolution, spans_, left);
    row.last = spans_.size();
    if (fits) {
      if (at_last) return true;
      budget.spans -= share.spans - left.spans;
      budget.visits -= share.visits - left.visits;
      return true;
    }
    const double reached =
        row.last > row.first
            ? static_cast<double>(spans_.back().end - t0) / static_cast<double>(t1 - t0)
            : 0;
    row.points *= std::clamp(1.2 / std::max(reached, 0.05), 1.4, 16.0);
    spans_.resize(row.first);
    return false;
  }

  /// Draws a faint track for every stream, so that idle time is visible.
  void paint_tracks() {
    for (const DrawnRow& row : rows_) {
      if (row.strip->role != Role::stream || row.marks_only) continue;
      const Rect bed{f_.plot.x, row.y, f_.plot.w, row.strip->row_height};
      ui_.fill(bed, with_alpha(theme_.sunken, 0.55f), 3);
      f_.count(1);
    }
  }

  float snapped(float x) const { return std::round(x / pixel_) * pixel_; }

  bool is_found(const DrawnRow& row, const Span& span) const {
    if (f_.cache.hits.bits.empty()) return true;
    const std::span<const uint32_t> places = f_.cache.lod.places();
    const auto base = static_cast<size_t>(
        f_.cache.lod.row(row.strip->lane, row.depth).data() - places.data());
    const size_t first = base + span.first;
    return f_.cache.hits.rank(first + span.count) > f_.cache.hits.rank(first);
  }

  uint32_t event_of(const DrawnRow& row, const Span& span) const {
    return f_.cache.lod.row(row.strip->lane, row.depth)[span.first];
  }

  void paint_row(const DrawnRow& row) {
    // In a view of the whole trace, the events of spans lie far apart in memory.
    constexpr size_t kFar = 8, kFarther = 16;  // spans ahead
    const auto events = f_.cache.lod.row(row.strip->lane, row.depth);
    for (size_t i = row.first; i < row.last; ++i) {
      if (i + kFarther < row.last) {
        __builtin_prefetch(&events[spans_[i + kFarther].first]);
        __builtin_prefetch(&f_.model.events[events[spans_[i + kFar].first]]);
      }
      const Span& span = spans_[i];
      const bool single = span.count == 1;
      if (single && span.begin == span.end &&
          f_.model.events[event_of(row, span)].what() == Kind::mark) {
        paint_mark(row, span);
        continue;
      }
      const float left = scale_.at(static_cast<double>(span.begin));
      const float right = scale_.at(static_cast<double>(span.end));
      const float x0 = std::max(snapped(left), f_.plot.x - 8);
      float x1 = std::min(snapped(right), f_.plot.right() + 8);
      paint_wait(row, span, x0);
      if (x1 - x0 >= 4) x1 -= 1;  // a gap between neighbours
      x1 = std::max(x1, x0 + 1);
      const Rect box{x0, row.y, x1 - x0, row.strip->row_height};
      ImU32 colour = f_.colours[span.look];
      if (!single) {
        colour =
            mixed(theme_.panel, colour, 0.3f + 0.7f * std::min(1.0f, span.density()));
      }
      const bool found = is_found(row, span);
      if (!found) colour = mixed(theme_.panel, colour, kDimmed);
      const bool round =
          box.w >= kRounded && box.h >= 9 && (single || span.density() > 0.9f);
      ui_.fill(box, colour, !round ? 0 : box.w < 14 ? 2.0f : std::min(3.0f, box.h / 5));
      f_.count(1);
      const bool host = single && row.strip->role == Role::host;
      const bool waits = host && paint_host_waits(row, span, box) > box.w / 2;
      if (box.w >= 22 && box.h >= 13) label(row, span, box, colour, found, waits);
    }
  }

  /// Draws the time from a task's enqueueing to its start as stripes, which do not
  /// reach into the previous task: strong where it could start and waits for a core,
  /// the GPU or other ranks, faint where it waits for another task or, a copy, for a
  /// port.
  void paint_wait(const DrawnRow& row, const Span& span, float x1) {
    const uint32_t index = event_of(row, span);
    const Event& event = f_.model.events[index];
    if (!event.is_task() || !timed_) return;
    float x0 = f_.plot.x;
    if (&span != &spans_[row.first]) {
      x0 = std::max(x0, snapped(scale_.at(static_cast<double>((&span - 1)->end))));
    }
    if (x1 - x0 < kWaited) return;  // before the event's text is read
    const int64_t ready = span.begin - f_.queued_before(index);
    const float since = snapped(scale_.at(static_cast<double>(ready)));
    const ImU32 faint = mixed(theme_.panel, theme_.waiting, 0.45f);
    const bool copies = event.what() == Kind::copy;  // it waits for a port
    paint_stripes(row, std::max(x0, since), x1, copies ? faint : theme_.waiting);
    if (event.parent == kNoEvent) return;
    const int64_t enqueued = f_.model.events[event.parent].ts;
    x0 = std::max(x0, snapped(scale_.at(static_cast<double>(enqueued))));
    if (row.strip->row_height < kStriped) return;  // faint stripes would not be seen
    paint_stripes(row, x0, std::min(x1, since), faint);
  }

  void paint_stripes(const DrawnRow& row, float x0, float x1, ImU32 colour) {
    if (x1 - x0 < kWaited) return;
    ui_.hatch({x0, row.y, x1 - x0 - 1, row.strip->row_height}, colour);
    f_.count(1);
  }

  /// Draws where a host thread waits inside of a call that is not itself a wait.
  /// Returns how much of the box that is, in points.
  float paint_host_waits(const DrawnRow& row, const Span& span, const Rect& box) {
    float waited = 0;
    if (box.w < 2 * kWaited) return waited;
    const auto& events = f_.model.events;
    if (events[event_of(row, span)].what() == Kind::sync) return waited;
    const std::vector<uint32_t>& waits = f_.host_waits(row.strip->lane);
    float painted = box.x;  // waits that are too short to be seen are passed over
    while (painted < box.right()) {
      const double from = std::max(scale_.ns(painted), static_cast<double>(span.begin));
      const auto wait =
          std::partition_point(waits.begin(), waits.end(), [&](uint32_t e) {
            return static_cast<double>(events[e].end()) <=
                   from + kWaited * scale_.per_point();
          });
      if (wait == waits.end() || events[*wait].ts >= span.end) return waited;
      const float x0 =
          std::max(box.x, scale_.at(static_cast<double>(events[*wait].ts)));
      const float x1 =
          std::min(box.right(), scale_.at(static_cast<double>(events[*wait].end())));
      if (x0 >= box.right()) return waited;
      if (x1 - x0 >= kWaited) {
        ui_.hatch({x0, box.y, x1 - x0, box.h}, with_alpha(theme_.panel, 0.5f));
        waited += x1 - x0;
        f_.count(1);
      }
      painted = std::max(painted + 1, x1);
    }
    return waited;
  }

  void label(const DrawnRow& row, const Span& span, const Rect& box, ImU32 ground,
             bool found, bool waits) {
    if (labels_ >= kMaxLabels) return;
    const float x0 = std::max(box.x, f_.plot.x) + 5;
    const float room = std::min(box.right(), f_.plot.right()) - 3 - x0;
    if (room < 14) return;
    const float y = box.y + (box.h - ui_.line_height(Type::small)) / 2;
    const ImU32 ink = found ? ink_on(ground) : readable(theme_.faint, ground);
    if (span.count > 1) {
      if (room < 70) return;
      ui_.text_cut(x0, y, room, Type::small, readable(mixed(ground, ink, 0.7f), ground),
                   grouped(span.count) + " events");
    } else {
      const uint32_t index = event_of(row, span);
      const ShortName& name = f_.name_of(f_.model.events[index]);
      constexpr std::string_view kWaits = "mostly waits";
      const float more = waits ? 6 + ui_.width(Type::small, kWaits) : 0;
      if (waits) {  // words are not striped
        const float wide = name.width + (name.width + more <= room ? more : 0);
        ui_.fill({x0 - 3, box.y, std::min(room + 3, wide + 6), box.h}, ground);
      }
      if (name.width <= room) {
        ui_.text(x0, y, Type::small, ink, name.text);
        const float left = room - name.width - 6;
        const ImU32 dim = readable(mixed(ground, ink, 0.7f), ground);
        bytes(index, x0 + name.width + 6, y, left, dim);
        if (waits && name.width + more <= room) {
          ui_.text(x0 + name.width + 6, y, Type::small, dim, kWaits);
        }
      } else if (room >= 44) {
        ui_.text_cut(x0, y, room, Type::small, ink, name.text);
      } else if (!beginning(x0, y, room, ink, name.text)) {
        return;
      }
    }
    ++labels_;
    f_.count(1);
  }

  /// Draws the beginning of a name if enough of it fits to be recognisable.
  bool beginning(float x, float y, float room, ImU32 ink, std::string_view name) {
    const ImFont& font = *ui_.fonts.get(Type::small);
    const std::string_view part =
        fitting_prefix(font, ui_.line_height(Type::small), name, room);
    if (part.size() < (name.starts_with("←") ? 7 : 4)) return false;
    ui_.text(x, y, Type::small, ink, part);
    return true;
  }

  /// Draws a copy's bytes after its name if they fit.
  void bytes(uint32_t index, float x, float y, float room, ImU32 ink) {
    if (room < 50 || f_.model.events[index].what() != Kind::copy) return;
    const Copy* copy = f_.model.copy_of(index);
    if (copy == nullptr) return;
    const std::string text = human_bytes(copy->bytes);
    if (ui_.width(Type::small, text) > room) return;
    ui_.text(x, y, Type::small, ink, text);
    f_.count(1);
  }

  /// Draws the marks at the ends of kernels (which have a separate row) at the bottom
  /// of the lane; omits marks that are too close together.
  void paint_marks(const DrawnRow& row) {
    for (size_t i = row.first; i < row.last; ++i) {
      if (spans_[i].count == 1) paint_mark(row, spans_[i]);
    }
  }

  void paint_mark(const DrawnRow& row, const Span& span) {
    const float x = scale_.at(static_cast<double>(span.begin));
    const float y = row.y + row.strip->row_height - 3;
    const ImU32 colour = is_found(row, span) ? theme_.text : theme_.faint;
    ui_.list->AddQuadFilled({x, y - 3}, {x + 3, y}, {x, y + 3}, {x - 3, y}, colour);
    f_.count(1);
  }

  TimelineFrame& f_;
  const Scale scale_;
  const Ui& ui_;
  const Theme& theme_;
  float pixel_ = 1;
  bool timed_ = false;  ///< the trace tells since when a task was enqueued
  std::vector<DrawnRow> rows_;
  std::vector<Span> spans_;
  size_t labels_ = 0;
};

}  // namespace

void draw_lanes(TimelineFrame& frame) {
  const Lod& lod = frame.cache.lod;
  for (size_t i = 0; i < lod.examples().size(); ++i) {
    const uint32_t example = lod.examples()[i];
    ImU32 colour = event_colour(frame.ui.theme, frame.model, example);
    const bool light = frame.model.events[example].what() == Kind::kernel &&
                       !lod.is_heavy(static_cast<EventClass>(i));
    if (light) colour = mixed(frame.ui.theme.panel, colour, 0.62f);
    frame.colours[i] = colour;
  }
  frame.ui.list->PushClipRect(frame.plot.min(), frame.plot.max(), true);
  LanePainter(frame).paint();
  frame.ui.list->PopClipRect();
}

}  // namespace lockstep::gui
