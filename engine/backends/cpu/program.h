// A plan's kernel as a short program: reorders, one oneDNN primitive, reorders.
#pragma once

#include <dnnl.hpp>

#include "engine/backends/backend.h"

namespace lockstep::cpu {

using Md = dnnl::memory::desc;

/// The process's only engine: primitives run only on streams of the same engine.
dnnl::engine& engine();

/// A oneDNN memory format as a tensor layout; equal formats share one object.
struct DnnlLayout : Layout {
  explicit DnnlLayout(const Md& d) : md(d) {}
  size_t bytes() const override { return md.get_size(); }
  std::string str() const override;
  Md md;
};
/// Returns null if `md` is plain row-major.
LayoutPtr layout_of(const Md& md, const Shape& sizes);

/// Returns oneDNN's descriptor of a tensor in its current layout.
Md described(const TensorSpec& spec);
Md plain(const Shape& sizes);
Md any(const Shape& sizes);
/// The operands of matrix products: float32, with `--amp` bfloat16. Sums and results
/// are float32, so that only convolutions and matrix products differ.
Md any_operand(const Shape& sizes);
Md plain_operand(const Shape& sizes);
/// Returns the layout that this machine's convolutions prefer for activations.
Md preferred(const Shape& sizes);
/// Returns the number of channels per block in that layout.
int64_t channel_block();

dnnl::memory::dims dims(const Shape& sizes);

/// Location of a step's argument.
struct Ref {
  enum class Kind { input, output, scratch } kind;
  size_t index;  ///< of the input or output; byte offset in the workspace
};
void* address(const Ref& ref, const KernelArgs& args);
inline Ref in(size_t i) { return {Ref::Kind::input, i}; }
inline Ref out(size_t i) { return {Ref::Kind::output, i}; }

/// Collects steps, then builds a Plan.
class Program {
 public:
  struct Argument {
    int name;  ///< DNNL_ARG_…
    Ref ref;
    Md md;
  };

  /// Returns `ref` in layout `wanted`: itself if it matches, otherwise a reordered copy
  /// in the workspace.
  Ref as(Ref ref, const Md& have, const Md& wanted);
  /// Returns workspace that `deliver` will reorder into output `i`, or that output
  /// itself if no reorder is needed.
  Ref result(size_t i, const Md& made, const Md& wanted);
  void deliver(Ref made, const Md& made_md, size_t i, const Md& wanted);
  Ref scratch(size_t bytes);

  /// Adds a primitive; its scratchpad is part of the workspace.
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
  /// Adds a custom step, which finds its arguments with address(); `impl` names the
  /// plan if this is its main step.
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

/// Returns the attributes of a primitive: scratchpads are user-managed, because with
/// library-managed ones a primitive shared by two threads computes wrong results.
dnnl::primitive_attr attributes(bool relu = false);

}  // namespace lockstep::cpu
