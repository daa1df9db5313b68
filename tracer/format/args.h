// Reading an event's optional arguments. A trace may come from anywhere, so an
// argument may be absent or of another type; then the fallback is returned.
#pragma once

#include <cstdint>
#include <string>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

int64_t int_arg(const Json& args, const char* key, int64_t fallback = 0);
double number_arg(const Json& args, const char* key, double fallback = 0);
std::string string_arg(const Json& args, const char* key);
bool bool_arg(const Json& args, const char* key);

/// The array of integers under `key`; empty when it is absent or anything else.
std::vector<int64_t> ints_arg(const Json& args, const char* key);

/// `args[key]`, or an empty object when it is absent or no object.
const Json& object_arg(const Json& args, const char* key);

/// A duration in decimal microseconds (`queued_us`, `cpu_us`) as nanoseconds.
int64_t duration_arg(const Json& args, const char* key, int64_t fallback = 0);

/// Where a copy begins and ends: `src` and `dst` are "host" or a device's id.
inline constexpr int64_t kHost = -1;
inline constexpr int64_t kNowhere = -2;  ///< absent, or neither of the two
int64_t port_arg(const Json& args, const char* key);

}  // namespace lockstep::tracer
