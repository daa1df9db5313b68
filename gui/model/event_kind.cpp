// Determines the kind of an element of `traceEvents` from our categories and from those
// of PyTorch's profiler.
#include "gui/model/event_reader.h"
#include "tracer/format/keys.h"
#include "tracer/format/tokens.h"
#include "tracer/kineto/names.h"

namespace lockstep::gui {

namespace {

struct Category {
  std::string_view cat;
  Kind kind;
};

// Most frequent first.
constexpr Category kCategories[] = {
    {tracer::categories::op, Kind::op},
    {tracer::categories::kernel, Kind::kernel},
    {tracer::categories::call, Kind::call},
    {tracer::categories::sync, Kind::sync},
    {tracer::categories::copy, Kind::copy},
    {tracer::categories::collective, Kind::collective},
    {tracer::categories::mark, Kind::mark},
};

Kind of_category(std::string_view cat) {
  for (const Category& category : kCategories) {
    if (category.cat == cat) return category.kind;
  }
  return Kind::other;
}

}  // namespace

Kind kind_of(const tracer::EventFields& f) {
  if (f.letter == 'i' || f.letter == 'I' || f.letter == 'R') return Kind::mark;
  const std::string_view cat = tracer::content(f.cat);
  if (cat == tracer::categories::phase)
    return tracer::content(f.name) == names::step ? Kind::step : Kind::phase;
  Kind kind = of_category(cat);
  if (kind == Kind::other) kind = of_category(tracer::category_of_kineto(cat));
  if (kind != Kind::kernel || f.has_src) return kind;
  if (memcpy_direction(f) != Direction::none) return Kind::copy;
  return tracer::is_collective_kernel(tracer::content(f.name)) ? Kind::collective
                                                               : kind;
}

bool is_profiler_step(const tracer::EventFields& f) {
  return tracer::profiler_step_number(tracer::content(f.name)) >= 0 &&
         !tracer::content(f.cat).starts_with("gpu_");
}

int64_t profiler_step(const tracer::EventFields& f) {
  return tracer::profiler_step_number(tracer::content(f.name));
}

Direction memcpy_direction(const tracer::EventFields& f) {
  switch (tracer::memcpy_way(tracer::content(f.name))) {
    case tracer::MemcpyWay::to_device:
      return Direction::to_device;
    case tracer::MemcpyWay::to_host:
      return Direction::to_host;
    default:
      return Direction::none;
  }
}

}  // namespace lockstep::gui
