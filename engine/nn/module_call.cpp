#include "engine/nn/module_call.h"

#include <string>

#include "engine/ops/op_call.h"
#include "tracer/format/keys.h"

namespace lockstep::nn {
namespace keys = tracer::keys;

Tensor Module::operator()(const Tensor& input, std::source_location site) {
  if (module_call().plugged()) return module_call()(*this, input, site);
  const CallEvent event(*this, CallLevel::call, input, site);
  return call_impl(input, std::source_location::current());
}

Tensor Module::call_impl(const Tensor& input, std::source_location site) {
  const CallEvent event(*this, CallLevel::call_impl, input, site);
  Tensor given = input;
  for (const ForwardPreHook& hook : pre_hooks_) {
    const Tensor other = hook(*this, given);
    if (other.defined()) given = other;
  }
  Tensor output;
  {
    const CallEvent inner(*this, CallLevel::forward, given, 1);
    output = forward(given);
  }
  for (const ForwardHook& hook : hooks_) {
    const Tensor other = hook(*this, given, output);
    if (other.defined()) output = other;
  }
  return output;
}

runtime::Slot<ModuleCall>& module_call() {
  static runtime::Slot<ModuleCall> in_use(
      "module_call", [](Module& module, const Tensor& input,
                        std::source_location site) { return module(input, site); });
  return in_use;
}

namespace {

std::string pytorch_name(const Module& module, CallLevel level) {
  switch (level) {
    case CallLevel::call:
      return std::string(module.type_name()) + ".__call__";
    case CallLevel::call_impl:
      return "Module._call_impl";
    case CallLevel::forward:
      break;
  }
  return std::string(module.type_name()) + ".forward";
}

std::string cpp_name(const Module& module, CallLevel level) {
  switch (level) {
    case CallLevel::call:
      return "Module::operator()";
    case CallLevel::call_impl:
      return "call_impl";
    case CallLevel::forward:
      break;
  }
  return std::string(module.type_name()) + "::forward";
}

}  // namespace

CallEvent::CallEvent(const Module& module, CallLevel level, const Tensor& input,
                     std::source_location site)
    : CallEvent(module, level, input, 0, site) {}

CallEvent::CallEvent(const Module& module, CallLevel level, const Tensor& input,
                     int below, std::source_location site)
    : site_(site, module.path(), below),
      event_("call",
             tracer::recording() ? tracer::intern(pytorch_name(module, level)) : "") {
  if (!event_.on()) return;
  if (level == CallLevel::forward || !module_call().plugged()) {
    event_.arg({keys::cpp, tracer::intern(cpp_name(module, level))});
  }
  event_.arg({keys::file, site.file_name()});
  event_.arg({keys::line, static_cast<int64_t>(site.line()) + below});
  event_.arg({keys::module, module.path()});
  ops::describe_shapes(event_, {input});
}

}  // namespace lockstep::nn
