// Lesson 13: who calls forward? Write what happens at `model(x)`.
#include <source_location>

#include "engine/nn/module_call.h"
#include "lessons/plugin.h"

using namespace lockstep;
using nn::CallEvent;
using nn::CallLevel;

/// What PyTorch's `Module._call_impl` does. In this order:
///   1. Calls each of `module.forward_pre_hooks()`: `hook(module, input)`. A hook may
///      return another tensor, which replaces the input for everything that follows. If
///      it returns an undefined tensor (Python's None; test it with `.defined()`), the
///      input stays.
///   2. Calls `module.forward(input)`.
///   3. Calls each of `module.forward_hooks()`: `hook(module, input, output)`, with the
///      input that forward received. What a hook returns replaces the output, or is
///      undefined.
/// `CallEvent event(module, CallLevel::call_impl, input);` records a call, from here to
/// the end of the block in which it is declared. The trace needs one for `call_impl`,
/// hooks included, and one for `forward` alone (`CallLevel::forward`, with the input
/// that it receives). An exception is none of your business: let it pass.
Tensor call_impl(nn::Module& module, const Tensor& input) {
  // [solution-call_impl]
  const CallEvent event(module, CallLevel::call_impl, input);
  Tensor given = input;
  for (const nn::ForwardPreHook& hook : module.forward_pre_hooks()) {
    const Tensor other = hook(module, given);
    if (other.defined()) given = other;
  }
  Tensor output;
  {
    const CallEvent inner(module, CallLevel::forward, given);
    output = module.forward(given);
  }
  for (const nn::ForwardHook& hook : module.forward_hooks()) {
    const Tensor other = hook(module, given, output);
    if (other.defined()) output = other;
  }
  return output;
  // [/solution-call_impl]
  lessons::not_written("call_impl: pre-hooks, forward, hooks");
}

/// What `model(x)` runs, PyTorch's `__call__`: `call_impl`, and nothing else. `site` is
/// the line with `model(x)`. Record the call there: `CallEvent event(module,
/// CallLevel::call, input, site);`
Tensor call(nn::Module& module, const Tensor& input, std::source_location site) {
  // [solution-call]
  const CallEvent event(module, CallLevel::call, input, site);
  return call_impl(module, input);
  // [/solution-call]
  lessons::not_written("call: what does model(x) run?");
}

LOCKSTEP_LESSON(13) { nn::module_call().plug(call); }
