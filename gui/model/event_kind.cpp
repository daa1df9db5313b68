#include "gui/model/event_kind.h"

#include "gui/model/tokens.h"
#include "tracer/kineto/names.h"

namespace lockstep::gui {

namespace {

struct Category {
  std::string_view cat;
  Kind kind;
};

// The most frequent ones first.
constexpr Category kCategories[] = {
    {"op", Kind::op},     {"kernel", Kind::kernel}, {"call", Kind::call},
    {"sync", Kind::sync}, {"copy", Kind::copy},     {"collective", Kind::collective},
    {"mark", Kind::mark},
};

Kind of_category(std::string_view cat) {
  for (const Category& category : kCategories) {
    if (category.cat == cat) return category.kind;
  }
  return Kind::other;
}

}  // namespace

Kind kind_of(const EventFields& f) {
  if (f.ph == 'i' || f.ph == 'I' || f.ph == 'R') return Kind::mark;
  const std::string_view cat = content(f.cat);
  if (cat == "phase") return f.name == "\"step\"" ? Kind::step : Kind::phase;
  Kind kind = of_category(cat);
  if (kind == Kind::other) kind = of_category(tracer::category_of_kineto(cat));
  const bool moves = kind == Kind::kernel && !f.has_src;
  return moves && memcpy_direction(f) != Direction::none ? Kind::copy : kind;
}

bool is_profiler_step(const EventFields& f) {
  return tracer::profiler_step_number(content(f.name)) >= 0 &&
         !content(f.cat).starts_with("gpu_");
}

int64_t profiler_step(const EventFields& f) {
  return tracer::profiler_step_number(content(f.name));
}

Direction memcpy_direction(const EventFields& f) {
  switch (tracer::memcpy_way(content(f.name))) {
    case tracer::MemcpyWay::to_device:
      return Direction::to_device;
    case tracer::MemcpyWay::to_host:
      return Direction::to_host;
    default:
      return Direction::none;
  }
}

}  // namespace lockstep::gui
