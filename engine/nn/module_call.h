// What happens at `model(x)`: `__call__`, `_call_impl`, `forward`. A learner can write
// it: see `module_call`.
#pragma once

#include <source_location>

#include "engine/nn/module.h"
#include "engine/runtime/slot.h"
#include "tracer/record/recorder.h"
#include "tracer/record/traceback.h"

namespace lockstep::nn {

/// The functions between `model(x)` and its computation, from the outside in.
enum class CallLevel { call, call_impl, forward };

/// Records a `call` event from construction to destruction: PyTorch's name of the
/// function (`ResNet.__call__`, `Module._call_impl`, `ResNet.forward`), its C++ name
/// (unless a learner wrote it), the module's path, the input's shape, and where it is
/// called: at `site`, or `below` lines after it. The file and line of the definition
/// are looked up when the trace is written.
class CallEvent {
 public:
  CallEvent(const Module& module, CallLevel level, const Tensor& input,
            std::source_location site = std::source_location::current());
  CallEvent(const Module& module, CallLevel level, const Tensor& input, int below,
            std::source_location site = std::source_location::current());

 private:
  tracer::CallSite site_;
  tracer::HostEvent event_;
};

/// Runs `module` on `input`, including hooks. `site` is the location of `model(x)`.
using ModuleCall = Tensor(Module& module, const Tensor& input,
                          std::source_location site);

/// The slot of what `Module::operator()` does. The engine's own function is
/// `Module::call_impl`.
runtime::Slot<ModuleCall>& module_call();

}  // namespace lockstep::nn
