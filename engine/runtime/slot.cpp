#include "engine/runtime/slot.h"

#include "tracer/format/keys.h"

namespace lockstep::runtime {
namespace keys = tracer::keys;

LearnerCall::LearnerCall(const char* slot, const std::source_location& plugged)
    : event_("call", slot) {
  if (!event_.on()) return;
  event_.arg({keys::file, tracer::intern(plugged.file_name())});
  event_.arg({keys::line, static_cast<int64_t>(plugged.line())});
  event_.arg({keys::slot, slot});
  mark_learner_call(slot, -1, 0);
}

void mark_learner_call(const char* slot, int device, int lane) {
  const tracer::Arg name{keys::slot, slot};
  tracer::mark("slot", device, lane, {&name, 1});
}

}  // namespace lockstep::runtime
