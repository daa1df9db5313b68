// Which parameters each parameter server owns, by name.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// A parameter that a server owns, or the part of it.
struct OwnedParameter {
  std::string name;
  int64_t begin = 0, length = 0;  ///< its elements on this server
  int64_t elements = 0;           ///< of the whole parameter
  int64_t end() const { return begin + length; }
  bool is_whole() const { return length == elements; }
};
using OwnedParameters = std::vector<OwnedParameter>;

/// Returns what each of the servers owns, in the order of the model, from the names and
/// shapes in a trace's top-level `lockstep` object. Empty if that has none.
std::vector<OwnedParameters> parameters_of_servers(const Json& lockstep, int servers);

/// Returns "conv1.weight to layer3.0.bn1.bias"; parts are "fc.weight[0:1000]", with
/// elements counted in memory order.
std::string owned_words(const OwnedParameters& owned);
/// Returns "fc.weight", or "fc.weight[0:1000]" for a part.
std::string owned_words(const OwnedParameter& owned);

/// Returns a line per server for `trace summary`; "" if the trace does not say.
std::string server_keys_text(const Trace& trace, int servers);
/// Returns an array with a list of parameters for each server.
Json server_keys_json(const Trace& trace, int servers);

}  // namespace lockstep::tracer
