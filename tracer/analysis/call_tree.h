// Call hierarchy: the `call` events of one step as a tree, as in
//   ResNet.__call__ → Module._call_impl → ResNet.forward → BasicBlock.__call__ ×2 → …
#pragma once

#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// A call, or several similar ones: consecutive siblings with the same name,
/// definition and nested calls are shown once, together with their count.
struct Call {
  std::string name;              ///< PyTorch's name: `BasicBlock.forward`
  std::string site, definition;  ///< `engine/nn/module.h:42`; empty if not known
  std::string first_module, last_module;  ///< `layer1.0` … `layer1.1`
  std::string thread;       ///< set if it ran on a different thread than its caller
  std::string last_thread;  ///< of the last call, if each ran on a separate thread
  int64_t count = 1;
  int64_t time = 0;  ///< ns of host time of all `count` calls; of only one if parallel
  int64_t event = kNone;      ///< id of the first call
  std::vector<Call> callees;  ///< those of the first call
  bool parallel() const { return thread != last_thread; }
};

/// Returns the root calls of a step, each with its callees. A call on another thread is
/// placed below the call that its `args.parent` belongs to. Levels deeper than 128 are
/// omitted.
std::vector<Call> call_tree(const Trace& trace, int64_t step);

std::string call_tree_text(const std::vector<Call>& calls);
Json call_tree_json(const std::vector<Call>& calls);

}  // namespace lockstep::tracer
