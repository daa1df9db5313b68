// Records module calls; private to Module.
#pragma once

#include <source_location>

#include "engine/nn/module.h"
#include "tracer/record/recorder.h"

namespace lockstep::nn {

/// Records a `call` event: PyTorch's name, C++ name, call site, module path and input
/// shape. The definition's file and line are looked up when the trace is written.
class CallEvent {
 public:
  CallEvent(const Module& module, const std::string& name, const std::string& cpp,
            const Tensor& input, const std::source_location& site);

 private:
  tracer::HostEvent event_;
};

}  // namespace lockstep::nn
