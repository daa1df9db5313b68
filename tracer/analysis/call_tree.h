// Who calls whom: the `call` events of one step as a tree, as in
//   ResNet.__call__ → Module._call_impl → ResNet.forward → BasicBlock.__call__ ×2 → …
#pragma once

#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// A call, or several alike: siblings that follow each other with the same name, the
/// same definition and the same calls inside are shown once, with how often.
struct Call {
  std::string name;              ///< PyTorch's: `BasicBlock.forward`
  std::string site, definition;  ///< `engine/nn/module.h:42`; empty when unknown
  std::string first_module, last_module;  ///< `layer1.0` … `layer1.1`
  std::string thread;       ///< where it ran on another thread than its caller
  std::string last_thread;  ///< of the last of several on threads of their own
  int64_t count = 1;
  int64_t time = 0;  ///< ns of host time: of all `count` calls; if parallel, of one
  int64_t event = kNone;      ///< id of the first
  std::vector<Call> callees;  ///< those of the first
  bool parallel() const { return thread != last_thread; }
};

/// The calls of a step that nobody called, each with what it called. A call on another
/// thread stands below the call that its `args.parent` belongs to. Deeper than 128
/// levels nothing is shown.
std::vector<Call> call_tree(const Trace& trace, int64_t step);

std::string call_tree_text(const std::vector<Call>& calls);
Json call_tree_json(const std::vector<Call>& calls);

}  // namespace lockstep::tracer
