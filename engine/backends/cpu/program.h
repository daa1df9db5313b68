// A plan's kernel as a short program: reorders, one oneDNN primitive, reorders.
#pragma once

#include <dnnl.hpp>

#include "engine/backends/backend.h"

namespace lockstep::cpu {

using Md = dnnl::memory::desc;

/// The one engine of the process: primitives run only on streams of their own engine.
dnnl::engine& engine();

/// A oneDNN memory format as a tensor's layout; equal formats give the same object.
struct DnnlLayout : Layout {
  explicit DnnlLayout(const Md& d) : md(d) {}
  size_t bytes() const override { return md.get_size(); }
  std::string str() const override;
  Md md;
};
/// Null if `md` is plain row-major.
LayoutPtr layout_of(const Md& md, const Shape& sizes);

/// oneDNN's description of a tensor as it lies, and of one that may lie as it likes.
Md described(const TensorSpec& spec);
Md plain(const Shape& sizes);
Md any(const Shape& sizes);
/// In the layout that convolutions of this machine prefer for activations.
Md preferred(const Shape& sizes);
/// How many channels lie side by side in it.
int64_t channel_block();

dnnl::memory::dims dims(const Shape& sizes);

/// Where an argument of a step lies.
struct Ref {
  enum class Kind { input, output, scratch } kind;
  size_t index;  ///< of the input or output; byte offset in the scratch
};
void* address(const Ref& ref, const KernelArgs& args);
inline Ref in(size_t i) { return {Ref::Kind::input, i}; }
inline Ref out(size_t i) { return {Ref::Kind::output, i}; }

/// Collects steps, then becomes a Plan.
class Program {
 public:
  struct Argument {
    int name;  ///< DNNL_ARG_…
    Ref ref;
    Md md;
  };

  /// `ref` as `wanted`: itself if it lies so, else a reordered copy in scratch.
  Ref as(Ref ref, const Md& have, const Md& wanted);
  /// Scratch to be reordered into output `i` later (`deliver`), or that output itself
  /// if no reorder is needed.
  Ref result(size_t i, const Md& made, const Md& wanted);
  void deliver(Ref made, const Md& made_md, size_t i, const Md& wanted);
  Ref scratch(size_t bytes);

  /// Adds a primitive; its scratchpad is taken from the workspace.
  template <typename PrimitiveDesc>
  void run(const PrimitiveDesc& pd, const dnnl::primitive& primitive,
           std::vector<Argument> arguments) {
    const Md pad = pd.scratchpad_desc();
    if (pad.get_size() > 0) {
      arguments.push_back({DNNL_ARG_SCRATCHPAD, scratch(pad.get_size()), pad});
    }
    if (impl_.empty()) impl_ = pd.impl_info_str();
    steps_.push_back({primitive, std::move(arguments), nullptr});
  }
  /// Adds a step of our own, which finds its arguments with address(); `impl` names
  /// the plan, if this is its main step.
  void run(std::function<void(const KernelArgs&)> function, const char* impl = "") {
    if (impl_.empty()) impl_ = impl;
    steps_.push_back({{}, {}, std::move(function)});
  }

  PlanPtr finish(std::vector<LayoutPtr> layouts, std::vector<TensorSpec> extra = {});

 private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<Argument> arguments;
    std::function<void(const KernelArgs&)> function;
  };
  std::vector<Step> steps_;
  size_t scratch_bytes_ = 0;
  std::string impl_;
};

/// Attributes that every primitive gets: scratchpads are ours. With the library's own,
/// a primitive used by two threads gives wrong numbers.
dnnl::primitive_attr attributes(bool relu = false);

}  // namespace lockstep::cpu
