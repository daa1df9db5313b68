#include "engine/nn/call_event.h"

#include "engine/ops/op_call.h"
#include "tracer/format/keys.h"

namespace lockstep::nn {
namespace keys = tracer::keys;

CallEvent::CallEvent(const Module& module, const std::string& name,
                     const std::string& cpp, const Tensor& input,
                     const std::source_location& site)
    : event_("call", tracer::recording() ? tracer::intern(name) : "") {
  if (!event_.on()) return;
  event_.arg({keys::cpp, tracer::intern(cpp)});
  event_.arg({keys::file, site.file_name()});
  event_.arg({keys::line, static_cast<int64_t>(site.line())});
  event_.arg({keys::module, module.path()});
  ops::describe_shapes(event_, {input});
}

}  // namespace lockstep::nn
