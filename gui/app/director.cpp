// Playing at the director's pace.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gui/app/app.h"

namespace lockstep::gui {

namespace {

constexpr double kViewMargin = 0.08;  ///< of a view, on either side of what it shows
constexpr double kZoomPerSecond = 5;  ///< how fast the timeline approaches its view

/// Returns the grid that the director plays in a step, or nullptr.
const tracer::Pipeline* played_grid(const OpenTrace& trace, size_t step) {
  const bool wanted = trace.director.grid && trace.why != nullptr;
  return wanted ? trace.why->pipeline(*trace.model, step) : nullptr;
}

/// Returns the script of a step, which is kept while it is played.
void take_script(OpenTrace& trace, size_t step, int rank) {
  Script& script = trace.director.script;
  const tracer::Pipeline* grid = played_grid(trace, step);
  const bool known = !script.shots.empty() && script.step == step &&
                     script.rank == rank && script.grid == (grid != nullptr);
  if (known) return;
  script = grid == nullptr
               ? script_of(*trace.model, step, rank)
               : script_of_grid(*grid, trace.why->pipelines[step], step, rank);
}

/// Finds the place in the script that shows what the trace shows.
void join_script(OpenTrace& trace) {
  Director& director = trace.director;
  take_script(trace, trace.state.step, trace.state.rank);
  director.seconds = seconds_at(*trace.model, director.script, trace.position);
}

void begin_next_step(OpenTrace& trace) {
  Director& director = trace.director;
  const size_t step = director.script.step;
  take_script(trace, std::min(step + 1, trace.model->steps.size() - 1),
              director.script.rank);
  director.seconds = 0;
}

bool directs(const OpenTrace& trace, const Transport& transport) {
  return transport.playing && transport.pace == Pace::director &&
         trace.director.is_at(trace.position);
}

const Shot& shot_now(const OpenTrace& trace) {
  return *shot_at(trace.director.script, trace.director.seconds).first;
}

}  // namespace

Position directed(OpenTrace& trace, Transport& transport, float seconds) {
  Director& director = trace.director;
  const bool grid = played_grid(trace, trace.state.step) != nullptr;
  if (!director.is_at(trace.position) || director.script.grid != grid)
    join_script(trace);
  else if (director.has_ended() && !transport.loop)
    begin_next_step(trace);
  const double whole = director.script.seconds();
  director.seconds += static_cast<double>(seconds * transport.speed);
  if (director.seconds >= whole && transport.loop) {
    director.seconds = whole > 0 ? std::fmod(director.seconds, whole) : 0;
  } else if (director.seconds >= whole) {
    director.seconds = whole;
    transport.playing = false;
  }
  director.shown = position_at(*trace.model, director.script, director.seconds);
  return director.shown;
}

void direct_timeline(OpenTrace& trace, float seconds) {
  TimelineView& view = trace.timeline;
  if (!view.follow || view.from >= view.to || !trace.director.is_at(trace.position)) {
    return;
  }
  const auto& [begin, end] = shot_now(trace).view;
  const double margin = std::max(50.0, kViewMargin * static_cast<double>(end - begin));
  const double share = 1 - std::exp(-kZoomPerSecond * static_cast<double>(seconds));
  view.from += (static_cast<double>(begin) - margin - view.from) * share;
  view.to += (static_cast<double>(end) + margin - view.to) * share;
  view.seen_time = trace.state.now;  // nothing else needs to follow
  view.seen_event = trace.state.event;
}

Caption caption_now(const OpenTrace& trace, const Transport& transport) {
  if (!directs(trace, transport)) return {};
  const Shot& shot = shot_now(trace);
  Caption caption{shot.caption, shot.says};
  if (shot.kind != Shot::Kind::time) return caption;
  caption.text += fmt::format(
      " At {}.",
      rate_in_words(*trace.model, shot.rate() * static_cast<double>(transport.speed)));
  return caption;
}

std::string pace_text(const OpenTrace& trace, const Transport& transport) {
  if (transport.pace == Pace::even) return "even pace · " + speed_text(transport);
  if (transport.pace == Pace::real) return "real time · " + speed_text(transport);
  const double rate = directs(trace, transport) ? shot_now(trace).rate() : 0;
  if (rate <= 0) return "director · " + speed_text(transport);
  return rate_in_words(*trace.model, rate * static_cast<double>(transport.speed));
}

Pace next_pace(Pace pace) {
  return pace == Pace::director ? Pace::even
         : pace == Pace::even   ? Pace::real
                                : Pace::director;
}

}  // namespace lockstep::gui
