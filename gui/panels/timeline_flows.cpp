// Shows why the current event ran when it did: curves to its cause, its effects and the
// events it waited for, and one between an operation and its backward operation.
#include <cmath>

#include "gui/model/details.h"
#include "gui/panels/timeline_parts.h"

namespace lockstep::gui {

namespace {

constexpr size_t kMaxFlows = 24;
constexpr uint32_t kMaxEffects = 2000;  ///< events searched for effects
constexpr int kPieces = 18;             ///< line segments per curve
constexpr size_t kMany = 6;             ///< if there are more curves, they are fainter
constexpr float kFade = 36;  ///< width of the border where curves fade out, points

void add_ids(const Model& model, const tracer::Json& args, const char* key,
             uint32_t event, std::vector<Flow>& flows) {
  const auto ids = args.find(key);
  if (ids == args.end() || !ids->is_array()) return;
  for (const tracer::Json& id : *ids) {
    if (flows.size() >= kMaxFlows) return;
    if (!id.is_number_integer()) continue;
    const uint32_t from = model.event_of_id(id.get<int64_t>());
    if (from != kNoEvent) flows.push_back({Flow::Why::waited, from, event});
  }
}

/// Returns 0 at or beyond the border, rising to 1 well inside.
float fading(const Rect& plot, float x, float y) {
  const float inside = std::min({x - plot.x, plot.right() - x, y - plot.y + kFade / 2,
                                 plot.bottom() - y + kFade / 2});
  return std::clamp(inside / kFade, 0.0f, 1.0f);
}

void arrow_head(const TimelineFrame& frame, ImVec2 tip, float direction, ImU32 colour) {
  frame.ui.list->AddTriangleFilled(tip, {tip.x - 7 * direction, tip.y - 4},
                                   {tip.x - 7 * direction, tip.y + 4}, colour);
  frame.count(1);
}

void draw_curve(const TimelineFrame& frame, ImVec2 a, ImVec2 b, float strength) {
  const float bend = std::clamp(std::abs(b.x - a.x) * 0.5f, 14.0f, 400.0f);
  const ImVec2 a1{a.x + bend, a.y}, b1{b.x - bend, b.y};
  ImVec2 last = a;
  for (int i = 1; i <= kPieces; ++i) {
    const float t = static_cast<float>(i) / kPieces, u = 1 - t;
    const float wa = u * u * u, wa1 = 3 * u * u * t, wb1 = 3 * u * t * t,
                wb = t * t * t;
    const ImVec2 next{wa * a.x + wa1 * a1.x + wb1 * b1.x + wb * b.x,
                      wa * a.y + wa1 * a1.y + wb1 * b1.y + wb * b.y};
    const float alpha =
        strength * fading(frame.plot, (last.x + next.x) / 2, (last.y + next.y) / 2);
    if (alpha > 0.02f) {
      frame.ui.list->AddLine(last, next, with_alpha(frame.ui.theme.arrow, alpha), 1.6f);
      frame.count(1);
    }
    last = next;
  }
  const float alpha = strength * fading(frame.plot, b.x, b.y);
  if (alpha > 0.02f) arrow_head(frame, b, 1, with_alpha(frame.ui.theme.arrow, alpha));
}

/// Moves distant end points closer, so that the curve leaves at a gentle slope.
ImVec2 near(const Rect& plot, ImVec2 p) {
  return {std::clamp(p.x, plot.x - 160, plot.right() + 160),
          std::clamp(p.y, plot.y - 60, plot.bottom() + 60)};
}

void draw_flow(const TimelineFrame& frame, const Flow& flow) {
  const Place from = place_of(frame, flow.from), to = place_of(frame, flow.to);
  if (!from.shown || !to.shown) return;
  // A wait's curve starts at the end of the awaited event; all others start at the
  // beginning.
  const bool waited = flow.why == Flow::Why::waited;
  const ImVec2 a{waited ? from.x1 : from.x0, from.middle()};
  const ImVec2 b{to.x0, to.middle()};
  const float strength = frame.cache.flows.size() > kMany ? 0.6f : 0.95f;
  draw_curve(frame, near(frame.plot, a), near(frame.plot, b),
             waited ? strength * 0.7f : strength);
}

}  // namespace

std::vector<Flow> flows_of(const Model& model, uint32_t index) {
  std::vector<Flow> flows;
  const Event& event = model.events[index];
  if (event.parent != kNoEvent && model.events[event.parent].lane != event.lane) {
    flows.push_back({Flow::Why::caused, event.parent, index});
  }
  const tracer::Json args = args_of(model, event);
  add_ids(model, args, "deps", index, flows);
  add_ids(model, args, "for", index, flows);
  const uint32_t forward = model.event_of_id(int_arg(args, keys::fwd, -1));
  if (forward != kNoEvent) flows.push_back({Flow::Why::forward, forward, index});
  const uint32_t end = std::min(event.last, event.order + kMaxEffects);
  for (uint32_t place = event.order + 1; place < end; ++place) {
    if (flows.size() >= kMaxFlows) break;
    const uint32_t effect = model.program[place];
    const Event& below = model.events[effect];
    if (below.parent == index && below.lane != event.lane) {
      flows.push_back({Flow::Why::caused, index, effect});
    }
  }
  return flows;
}

void draw_flows(const TimelineFrame& frame) {
  const uint32_t event = frame.trace.state.event;
  if (frame.cache.flows_event != event) {
    frame.cache.flows = flows_of(frame.model, event);
    frame.cache.flows_event = event;
  }
  frame.ui.list->PushClipRect(frame.plot.min(), frame.plot.max(), true);
  for (const Flow& flow : frame.cache.flows) draw_flow(frame, flow);
  frame.ui.list->PopClipRect();
}

void draw_current(const TimelineFrame& frame) {
  const uint32_t event = frame.trace.state.event;
  const Place place = place_of(frame, event);
  if (!place.shown || place.x1 < frame.plot.x || place.x0 > frame.plot.right()) return;
  const Theme& theme = frame.ui.theme;
  frame.ui.list->PushClipRect(frame.plot.min(), frame.plot.max(), true);
  const float x0 = std::max(std::floor(place.x0), frame.plot.x - 8);
  const float x1 =
      std::min(std::max(std::ceil(place.x1), x0 + 4), frame.plot.right() + 8);
  if (place.exact) {
    frame.ui.frame({x0 - 1, place.y - 1, x1 - x0 + 1, place.height + 2}, theme.panel, 4,
                   3);
    frame.ui.frame({x0 - 1, place.y - 1, x1 - x0 + 1, place.height + 2}, theme.text, 4,
                   1.8f);
    frame.count(2);
  } else {  // deeper than its lane shows: underline the enclosing box
    frame.ui.fill({x0, place.y + place.height - 3, x1 - x0, 4}, theme.text, 1);
    frame.count(1);
  }
  frame.ui.list->PopClipRect();
}

}  // namespace lockstep::gui
