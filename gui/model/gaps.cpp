#include "gui/model/gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/units.h"
#include "gui/model/details.h"

namespace lockstep::gui {

namespace {

std::string owner_of_gap(const Model& model, uint32_t event) {
  const Lane& lane = model.lanes[model.events[event].lane];
  if (lane.is_host()) return "the host";
  return fmt::format("device {}", model.devices[lane.device].id);
}

}  // namespace

std::vector<Gap> gaps_of(const Model& model, const std::vector<tracer::Binding>& all) {
  std::vector<Gap> gaps;
  for (const tracer::Binding& binding : all) {
    const uint32_t event = model.event_of_id(binding.event);
    if (event == kNoEvent) continue;
    // Times of a Model count from the trace's first event.
    const int64_t shift = model.events[event].ts - binding.end;
    gaps.push_back({event, model.event_of_id(binding.after), binding.begin + shift,
                    binding.end + shift, binding.kind});
  }
  std::ranges::sort(gaps, {}, [&](const Gap& gap) {
    return std::tuple(static_cast<uint32_t>(model.events[gap.event].lane), gap.begin);
  });
  return gaps;
}

const Gap* gap_at(const Model& model, const std::vector<Gap>& gaps, uint32_t lane,
                  int64_t ts) {
  const auto after =
      std::ranges::upper_bound(gaps, std::tuple(lane, ts), {}, [&](const Gap& gap) {
        return std::tuple(static_cast<uint32_t>(model.events[gap.event].lane),
                          gap.begin);
      });
  if (after == gaps.begin()) return nullptr;
  const Gap& gap = *(after - 1);
  const bool here = model.events[gap.event].lane == lane && ts < gap.end;
  return here ? &gap : nullptr;
}

const Gap* longest_gap(const Model& model, const std::vector<Gap>& gaps,
                       const Step& step) {
  const Gap* longest = nullptr;
  for (const Gap& gap : gaps) {
    const Lane& lane = model.lanes[model.events[gap.event].lane];
    if (lane.is_host() || lane.stream != 0) continue;
    if (gap.begin < step.begin || gap.end > step.end) continue;
    if (longest == nullptr || gap.length() > longest->length()) longest = &gap;
  }
  return longest;
}

std::string gap_words(const Model& model, const Gap& gap) {
  using Kind = tracer::Binding::Kind;
  const std::string& name = model.name_of(model.events[gap.event]);
  const std::string waits =
      fmt::format("{} waits {} before {}", owner_of_gap(model, gap.event),
                  human_time(gap.length()), name);
  const std::string by =
      gap.after == kNoEvent
          ? "what it needs"
          : fmt::format("{} on {}", model.name_of(model.events[gap.after]),
                        owner_of_gap(model, gap.after));
  switch (gap.kind) {
    case Kind::data:
      return fmt::format("{}: until {} is over (data)", waits, by);
    case Kind::order:
      return fmt::format("{}: it is ready, but {} is not over (order rule)", waits, by);
    case Kind::link:
      return fmt::format("{}: until {} leaves the port", waits, by);
    case Kind::ranks:
      return fmt::format("{}: until {} joins", waits, by);
    case Kind::host:
      return fmt::format("{}: until the host launches it, in {}", waits, by);
    case Kind::core:
      break;
  }
  return fmt::format("{}: for {}, or for nothing that was recorded", waits,
                     processor_words(model));
}

}  // namespace lockstep::gui
