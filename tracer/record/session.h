// A recorded run becomes a trace file's content.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// What the trace says of the program that ran.
struct RunFacts {
  std::string command, mode, arch;
  std::vector<std::string> devices;  ///< names; a device's number is its index
  int world_size = 1;                ///< over 1: device r belongs to rank r
  int rank = 0;                      ///< whose file this is; −1: of all ranks
  std::string backend;               ///< of the process group

  struct TensorFact {
    std::string name, dtype, kind;  ///< kind: parameter or buffer
    std::vector<int64_t> shape;
    int64_t bytes = 0;
  };
  std::vector<TensorFact> tensors;
};

/// Makes the text of a source file known, under its path from the repository's root.
void add_source(std::string_view path, std::string_view text);

/// Completes recorded events: looks up the definitions of called functions, adds the
/// text of every file that an event names, and the `lockstep` object.
Trace finish_trace(std::vector<Event> events, const RunFacts& facts);

}  // namespace lockstep::tracer
