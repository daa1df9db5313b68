#include "gui/model/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "gui/model/details.h"
#include "gui/model/script_parts.h"

namespace lockstep::gui {

namespace {

constexpr double kLongestShot = 12;       ///< seconds
constexpr double kLeastOfPhase = 1.5;     ///< seconds, if there are few phases
constexpr double kLeastShareOfAll = 0.5;  ///< of the time, for these minima

void scale(std::vector<Shot>& shots, bool in_time, double factor) {
  for (Shot& shot : shots) {
    if ((shot.kind == Shot::Kind::time) == in_time) shot.seconds *= factor;
  }
}

double sum(const std::vector<Shot>& shots, bool in_time) {
  double seconds = 0;
  for (const Shot& shot : shots) {
    if ((shot.kind == Shot::Kind::time) == in_time) seconds += shot.seconds;
  }
  return seconds;
}

/// Stretches the shots in program order to `seconds`: each phase gets a share in
/// proportion to what it shows, but at least a minimum.
void share_out(std::vector<Shot>& shots, double seconds) {
  std::map<uint32_t, double> wanted;  // by phase
  for (const Shot& shot : shots) {
    if (shot.kind != Shot::Kind::time) wanted[shot.phase] += shot.seconds;
  }
  if (wanted.empty()) return;
  const double least = std::min(
      kLeastOfPhase, kLeastShareOfAll * seconds / static_cast<double>(wanted.size()));
  double low = 0, high = 1e6;
  for (int i = 0; i < 60; ++i) {  // find the factor by bisection
    const double factor = (low + high) / 2;
    double all = 0;
    for (const auto& [phase, own] : wanted) all += std::max(least, own * factor);
    (all < seconds ? low : high) = factor;
  }
  for (Shot& shot : shots) {
    if (shot.kind == Shot::Kind::time) continue;
    const double own = wanted[shot.phase];
    shot.seconds *= std::max(least, own * low) / own;
  }
}

/// Returns the rank's places in a step; the whole program if the step has no event.
std::pair<uint32_t, uint32_t> places_in(const Model& model, const Step& step,
                                        int rank) {
  const uint32_t own = step.event_of(rank);
  if (own != kNoEvent) return {model.events[own].order, model.events[own].last};
  const auto [first, last] = places_of(model, {Order::time, 0, 0, 0, rank});
  return {first, last + 1};
}

}  // namespace

double Shot::rate() const {
  if (kind != Kind::time || seconds <= 0) return 0;
  return static_cast<double>(end - begin) / seconds;
}

double Script::seconds() const {
  double all = 0;
  for (const Shot& shot : shots) all += shot.seconds;
  return all;
}

Script script_of(const Model& model, size_t number, int rank) {
  Script script{number, rank, {}};
  const Step& step = model.steps[number];
  if (is_ours(model)) {
    const auto [first, last] = places_in(model, step, rank);
    const bool has_times = model.has_device_times();
    const std::vector<StepTask> tasks =
        has_times ? tasks_of(model, number) : std::vector<StepTask>{};
    add_program_shots(model, tasks, first, last, script.shots);
  } else {
    add_time_shots(model, step, script.shots);
  }
  const double in_time = sum(script.shots, true);
  const bool mixed = in_time > 0 && sum(script.shots, false) > 0;
  const double time_seconds =
      mixed ? std::min(in_time, kLongestInTime) : (in_time > 0 ? kStepSeconds : 0);
  if (in_time > 0) scale(script.shots, true, time_seconds / in_time);
  share_out(script.shots, kStepSeconds - time_seconds);
  for (Shot& shot : script.shots) {
    if (shot.kind != Shot::Kind::time) {
      shot.seconds = std::min(shot.seconds, kLongestShot);
    }
  }
  return script;
}

std::pair<const Shot*, double> shot_at(const Script& script, double seconds) {
  for (const Shot& shot : script.shots) {
    if (seconds < shot.seconds) {
      return {&shot, std::max(0.0, seconds) / std::max(1e-9, shot.seconds)};
    }
    seconds -= shot.seconds;
  }
  return {&script.shots.back(), 1};
}

Position position_at(const Model& model, const Script& script, double seconds) {
  const auto [shot, share] = shot_at(script, seconds);
  if (shot->kind == Shot::Kind::time) {
    const auto passed =
        static_cast<int64_t>(share * static_cast<double>(shot->end - shot->begin));
    return {Order::time, shot->begin + passed, 0, 0.5f, script.rank};
  }
  const double places = shot->last - shot->first;
  const double along = shot->kind == Shot::Kind::sweep ? share * places : 0;
  const auto whole =
      std::min(static_cast<uint32_t>(along), shot->last - shot->first - 1);
  Position at = at_event(model, model.program[shot->first + whole]);
  if (shot->kind == Shot::Kind::sweep) {
    at.progress = static_cast<float>(along - whole);
  } else {
    at.progress = shot->still ? 0.0f : static_cast<float>(share);
  }
  return at;
}

double seconds_at(const Model& model, const Script& script, const Position& position) {
  double before = 0;
  if (position.order == Order::time) {
    for (const Shot& shot : script.shots) {
      if (shot.kind == Shot::Kind::time && position.time >= shot.begin &&
          position.time < shot.end) {
        return before + static_cast<double>(position.time - shot.begin) / shot.rate();
      }
      before += shot.seconds;
    }
  }
  const uint32_t place = in_program_order(model, position).place;
  double found = 0;
  before = 0;
  for (const Shot& shot : script.shots) {
    if (shot.kind != Shot::Kind::time && shot.first <= place) {
      const bool inside = place < shot.last && shot.kind == Shot::Kind::sweep;
      const double share = static_cast<double>(place - shot.first) /
                           std::max(1.0, static_cast<double>(shot.last - shot.first));
      found = before + (inside ? share * shot.seconds : 0);
    } else if (shot.kind == Shot::Kind::time && position.order == Order::time &&
               shot.begin <= position.time) {
      found = std::max(found, before);
    }
    before += shot.seconds;
  }
  return found;
}

std::string rate_in_words(const Model& model, double rate) {
  const char* clock = model.is_measured() ? "real time" : "emulated time";
  const double slower = 1e9 / std::max(1e-3, rate);
  if (slower < 1.05 && slower > 0.95) return clock;
  if (slower < 1) return fmt::format("{:.3g}x {}", 1 / slower, clock);
  if (slower < 9.5) return fmt::format("1/{:.2g} of {}", slower, clock);
  const double digit = std::pow(10, std::floor(std::log10(slower)) - 1);
  return fmt::format("1/{:.0f} of {}", std::round(slower / digit) * digit, clock);
}

}  // namespace lockstep::gui
