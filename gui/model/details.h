// Details that do not fit into the 40 bytes of an Event are parsed from the trace text
// on demand: one event at a time, within a few microseconds each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gui/model/model.h"
#include "tracer/format/facts.h"

namespace lockstep::gui {

/// Returns the JSON object that opens at `text[open]`; "" if not closed within 1 MiB.
std::string_view object_at(std::string_view text, size_t open);

/// Returns the event's JSON object, or an empty object if it cannot be parsed.
tracer::Json json_of(const Model& model, const Event& event);

/// Returns the event's `args`, or an empty object if there are none.
tracer::Json args_of(const Model& model, const Event& event);

// Return one argument, or the default if it is missing or has another type.
using tracer::bool_arg;
using tracer::int_arg;
using tracer::number_arg;
using tracer::string_arg;
/// Returns, for example, "[32, 3, 32, 32]" or "[[8, 64], [10]]".
std::string shape_arg(const tracer::Json& args, const char* key);

/// The facts of a collective, with the arguments that they refer to.
struct CollectiveArgs {
  explicit CollectiveArgs(tracer::Json json)
      : args(std::move(json)), facts(tracer::collective_facts(args)) {}
  CollectiveArgs(const Model& model, uint32_t event)
      : CollectiveArgs(args_of(model, model.events[event])) {}
  CollectiveArgs(const CollectiveArgs&) = delete;
  CollectiveArgs& operator=(const CollectiveArgs&) = delete;

  const tracer::Args args;
  const tracer::CollectiveFacts facts;
};

/// Returns the trace's top-level `lockstep` object, or an empty one if there is none.
const tracer::Json& meta_of(const Model& model);

/// Returns true for a trace that lockstep recorded. Others say less, and their streams
/// and steps follow other rules.
bool is_ours(const Model& model);
/// Returns whether the devices are GPUs; else, kernels run on the machine's cores.
bool on_gpus(const Model& model);
/// Returns what a kernel waits for that could start: `a core` or `the GPU`.
const char* processor_words(const Model& model);

/// Returns true for a copy within a device or a memset, as PyTorch's profiler names
/// them: a `kernel` that does not compute.
bool is_memory_task(const Model& model, const Event& event);

/// Returns the text of a source file embedded in the trace, or nullptr if it is absent.
const std::string* source_of(const Model& model, const std::string& file);

}  // namespace lockstep::gui
