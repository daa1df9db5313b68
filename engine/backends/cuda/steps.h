// Builds a plan from steps that are enqueued in order and share scratch memory.
#pragma once

#include "engine/backends/backend.h"
#include "engine/backends/cuda/form.h"

namespace lockstep::cuda {

using Step = std::function<void(const KernelArgs&)>;

/// Location and form of a step's argument.
struct Ref {
  enum class Kind { input, output, scratch } kind = Kind::input;
  size_t index = 0;  ///< of the input or output, or byte offset in scratch
  Form form = {};

  template <typename T>
  T* in(const KernelArgs& args) const {
    switch (kind) {
      case Kind::input:
        return args.in[index].as<T>();
      case Kind::output:
        return args.out[index].as<T>();
      default:
        return reinterpret_cast<T*>(static_cast<char*>(args.workspace) + index);
    }
  }
};

inline Ref input(const PlanRequest& r, size_t i) {
  return {Ref::Kind::input, i, form_of(r.in[i])};
}
inline Ref output(size_t i, Form form = {}) { return {Ref::Kind::output, i, form}; }
/// Returns true if an optional input is present.
inline bool given(const PlanRequest& r, size_t i) {
  return i < r.in.size() && !(r.in[i].dtype == DType::u8 && r.in[i].sizes.rank() == 0);
}

/// Collects steps, then builds a plan.
class Steps {
 public:
  explicit Steps(std::string impl) : impl_(std::move(impl)) {}

  Ref scratch(size_t bytes, Form form = {}) {
    const Ref ref{Ref::Kind::scratch, scratch_, form};
    scratch_ += (bytes + 255) / 256 * 256;  // cudaMalloc's alignment
    return ref;
  }
  void add(Step step) { steps_.push_back(std::move(step)); }

  /// Builds the plan. `forms` are those of the outputs in order; plain if missing.
  PlanPtr finish(const PlanRequest& r, const std::vector<Form>& forms = {},
                 std::vector<TensorSpec> extra = {}) {
    auto plan = std::make_shared<Plan>();
    for (size_t i = 0; i < forms.size(); ++i) {
      plan->layouts.push_back(layout_of(r.out[i].sizes, forms[i]));
    }
    plan->extra = std::move(extra);
    plan->workspace = scratch_;
    plan->impl = impl_;
    plan->run = [steps = std::move(steps_)](const KernelArgs& args) {
      for (const Step& step : steps) step(args);
    };
    return plan;
  }

 private:
  std::vector<Step> steps_;
  size_t scratch_ = 0;
  std::string impl_;
};

}  // namespace lockstep::cuda
