#include "gui/model/event_kind.h"

#include "gui/model/tokens.h"

namespace lockstep::gui {

namespace {

struct Category {
  std::string_view cat;
  Kind kind;
};

// The most frequent ones first.
constexpr Category kCategories[] = {
    // ours
    {"op", Kind::op},
    {"kernel", Kind::kernel},
    {"call", Kind::call},
    {"sync", Kind::sync},
    {"copy", Kind::copy},
    {"collective", Kind::collective},
    {"mark", Kind::mark},
    // PyTorch's
    {"cpu_op", Kind::op},
    {"cuda_runtime", Kind::call},
    {"cuda_driver", Kind::call},
    {"python_function", Kind::call},
    {"user_annotation", Kind::call},
    {"gpu_memcpy", Kind::kernel},
    {"gpu_memset", Kind::kernel},
    {"cuda_sync", Kind::sync},
    // PyTorch's until 1.12
    {"Operator", Kind::op},
    {"Runtime", Kind::call},
    {"Kernel", Kind::kernel},
    {"Memcpy", Kind::kernel},
    {"Memset", Kind::kernel},
};

constexpr std::string_view kProfilerStep = "\"ProfilerStep#";

}  // namespace

Kind kind_of(const EventFields& f) {
  if (f.ph == 'i' || f.ph == 'I' || f.ph == 'R') return Kind::mark;
  const std::string_view cat = content(f.cat);
  if (cat == "phase") return f.name == "\"step\"" ? Kind::step : Kind::phase;
  for (const Category& category : kCategories) {
    if (category.cat != cat) continue;
    const bool moves = category.kind == Kind::kernel && !f.has_src;
    return moves && memcpy_direction(f) != Direction::none ? Kind::copy : category.kind;
  }
  return Kind::other;
}

bool is_profiler_step(const EventFields& f) {
  return f.name.starts_with(kProfilerStep) && !content(f.cat).starts_with("gpu_");
}

int64_t profiler_step(const EventFields& f) {
  return Scanner::parse(content(f.name).substr(kProfilerStep.size() - 1), -1);
}

Direction memcpy_direction(const EventFields& f) {
  const std::string_view name = content(f.name);
  if (!name.starts_with("Memcpy ")) return Direction::none;
  if (name.find("HtoD") != std::string_view::npos) return Direction::to_device;
  if (name.find("DtoH") != std::string_view::npos) return Direction::to_host;
  return Direction::none;
}

}  // namespace lockstep::gui
