#include "engine/autograd/node.h"

#include <algorithm>

#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"

namespace lockstep::autograd {
namespace {

std::atomic<uint64_t> sequence_counter{0};
thread_local bool grad_mode = true;

/// A node whose formula is a closure.
class FormulaNode : public Node {
 public:
  FormulaNode(const char* name, Device device, Formula formula, Site site)
      : Node(name, device, site), formula_(std::move(formula)) {}

  Tensors apply(Tensors grads) override {
    Formula formula = std::move(formula_);  // frees the saved tensors on return
    formula_ = nullptr;
    if (!formula) {
      throw std::runtime_error(
          "Trying to backward through the graph a second time: the saved "
          "intermediate values have already been freed.");
    }
    return formula(std::move(grads));
  }

 private:
  Formula formula_;
};

/// Marks in the trace that the leaf's gradient is complete: on the host now, and on the
/// device at the end of the kernel that computed it.
void mark_gradient(const Tensor& variable) {
  if (!tracer::recording()) return;
  const tracer::Arg name("param", tracer::intern(variable.meta().name));
  tracer::mark("grad_hook", -1, 0, {&name, 1});
  if (variable.device().is_host()) return;
  const auto ends = runtime::context(variable.device()).compute().newest_ends();
  tracer::mark("grad_ready", variable.device().trace_id(), 0, {&name, 1},
               ends.empty() ? tracer::kNone : ends[0].id);
}

}  // namespace

Node::Node(const char* name, Device device, Site site)
    : name_(name), device_(device), sequence_nr_(sequence_counter++), site_(site) {}

/// Frees a long tape iteratively, to avoid a stack frame per node.
Node::~Node() {
  thread_local std::vector<NodePtr>* pending = nullptr;
  std::vector<NodePtr> mine;
  const bool outermost = pending == nullptr;
  if (outermost) pending = &mine;
  for (Edge& edge : next_edges) {
    if (edge.node && edge.node.use_count() == 1) pending->push_back(edge.node);
    edge.node.reset();
  }
  if (!outermost) return;
  while (!mine.empty()) {
    NodePtr next = std::move(mine.back());
    mine.pop_back();
  }
  pending = nullptr;
}

AccumulateGrad::AccumulateGrad(const Tensor& variable)
    : Node("AccumulateGrad", variable.device(), UINT64_MAX), variable_(variable) {}

Tensors AccumulateGrad::apply(Tensors grads) {
  NoGrad no_grad;
  const Tensor old = variable_.grad();
  Tensor fresh = grads[0];
  grads.clear();
  if (!fresh.defined()) {
    // An undefined gradient stands for zero: `.grad` is unchanged; hooks still run.
  } else if (!old.defined()) {
    fresh.storage()->set_category(MemoryCategory::gradients);
    variable_.set_grad(fresh);
  } else {
    variable_.set_grad(ops::add(old, fresh));
  }
  mark_gradient(variable_);
  for (const auto& hook : variable_.meta().post_accumulate_hooks) {
    hook(variable_.grad());
  }
  return {};
}

Edge gradient_edge(const Tensor& tensor) {
  const AutogradMeta* meta = tensor.defined() ? tensor.meta_if_any() : nullptr;
  if (meta == nullptr) return {};
  if (meta->grad_fn) return {meta->grad_fn, meta->output_nr};
  if (!meta->requires_grad) return {};
  NodePtr accumulator = meta->accumulator.lock();
  if (!accumulator) {
    accumulator = std::make_shared<AccumulateGrad>(tensor);
    tensor.meta().accumulator = accumulator;
  }
  return {accumulator, 0};
}

bool needs_history(const Tensors& inputs) {
  return grad_mode && std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) {
           return t.defined() && t.requires_grad();
         });
}

NodePtr set_history(const char* name, const Tensors& inputs, const Tensors& outputs,
                    int64_t forward_op, Formula formula, Node::Site site) {
  if (!needs_history(inputs)) return nullptr;
  auto node = std::make_shared<FormulaNode>(name, outputs[0].device(),
                                            std::move(formula), site);
  node->set_forward_op(forward_op);
  node->output_count = static_cast<uint32_t>(outputs.size());
  for (const Tensor& input : inputs) node->next_edges.push_back(gradient_edge(input));
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    AutogradMeta& meta = outputs[i].meta();
    meta.grad_fn = node;
    meta.output_nr = i;
  }
  return node;
}

bool grad_enabled() { return grad_mode; }
GradMode::GradMode(bool enabled) : outer_(grad_mode) { grad_mode = enabled; }
GradMode::~GradMode() { grad_mode = outer_; }

}  // namespace lockstep::autograd
