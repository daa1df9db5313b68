#include "engine/runtime/pace.h"

#include <stdexcept>
#include <utility>

namespace lockstep::runtime {
namespace {

std::shared_ptr<Pace>& current_pace() {
  static auto* const pace = new std::shared_ptr<Pace>;  // workers may outlive statics
  return *pace;
}

}  // namespace

void set_pace(std::shared_ptr<Pace> pace) { current_pace() = std::move(pace); }

Pace& pace() {
  if (!has_pace()) {
    throw std::runtime_error(
        "emulated devices have no speed; fix: use `train --device-type emulated "
        "--hardware NAME`");
  }
  return *current_pace();
}

bool has_pace() { return current_pace() != nullptr; }

Span& task_span() {
  thread_local Span span;
  return span;
}

void emulate_copy(Device from, Device to, int64_t bytes) {
  Span& span = task_span();
  pace().sleep_until(span.end);
  span = pace().copy(from, to, bytes, span.end);
}

}  // namespace lockstep::runtime
