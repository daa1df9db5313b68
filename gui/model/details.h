// What the 40 bytes of an Event leave out is read in the trace's text when it is asked
// for: one event at a time, a few microseconds each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gui/model/memory.h"
#include "gui/model/model.h"
#include "tracer/format/trace.h"

namespace lockstep::gui {

/// The JSON object that opens at `text[open]`, or "" if it does not end within 1 MiB.
std::string_view object_at(std::string_view text, size_t open);

/// The event as it stands in the file; an empty object if it cannot be read.
tracer::Json json_of(const Model& model, const Event& event);

/// Its `args`; an empty object if there are none.
tracer::Json args_of(const Model& model, const Event& event);

// One argument, or what to take in its place.
std::string text_arg(const tracer::Json& args, const char* key);
int64_t number_arg(const tracer::Json& args, const char* key, int64_t otherwise = 0);
double real_arg(const tracer::Json& args, const char* key, double otherwise = 0);
/// "[32, 3, 32, 32]" or "[[8, 64], [10]]".
std::string shape_arg(const tracer::Json& args, const char* key);

/// Live bytes of a device at a time; before its first counter that first one.
Memory memory_at(const Model& model, const Device& device, int64_t ts);

/// The trace's own top-level `lockstep` object; an empty one if there is none.
const tracer::Json& meta_of(const Model& model);

/// The text of a source file that travels in the trace; nullptr if it does not.
const std::string* source_of(const Model& model, const std::string& file);

}  // namespace lockstep::gui
