// The tape: one Node per executed differentiable operation, linked backwards.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <source_location>
#include <vector>

#include "engine/tensor/tensor.h"
#include "tracer/record/recorder.h"

namespace lockstep::autograd {

/// Destination of an input's gradient: input `input_nr` of `node`; none if null.
struct Edge {
  NodePtr node;
  uint32_t input_nr = 0;
  bool operator==(const Edge&) const = default;
};

/// A step of the backward pass: maps the gradients of an operation's outputs to the
/// gradients of its inputs. Source: torch/csrc/autograd/function.h.
class Node {
 public:
  using Site = std::source_location;

  /// `site` is where the gradient formula is written: the source of its event.
  Node(const char* name, Device device, Site site = Site::current());
  Node(const char* name, Device device, uint64_t sequence_nr,
       Site site = Site::current())
      : name_(name), device_(device), sequence_nr_(sequence_nr), site_(site) {}
  virtual ~Node();

  /// Must be called once, with one gradient per output of the forward operation; an
  /// undefined one stands for zero. The engine calls it on the thread of `device()`.
  virtual Tensors apply(Tensors grads) = 0;

  const char* name() const { return name_; }  ///< `ConvolutionBackward0`
  Device device() const { return device_; }
  /// Increases in forward order; the engine runs the ready node with the highest first.
  uint64_t sequence_nr() const { return sequence_nr_; }
  int64_t forward_op() const { return forward_op_; }  ///< trace id, or kNone
  void set_forward_op(int64_t id) { forward_op_ = id; }
  const Site& site() const { return site_; }

  std::vector<Edge> next_edges;
  uint32_t output_count = 1;  ///< number of outputs of the forward operation

 private:
  const char* name_;
  Device device_;
  uint64_t sequence_nr_;
  Site site_;
  int64_t forward_op_ = tracer::kNone;
};

/// Adds a leaf's gradient to its `.grad` and calls its hooks. Runs before all other
/// ready nodes, so that hooks receive each gradient as early as possible.
class AccumulateGrad : public Node {
 public:
  explicit AccumulateGrad(const Tensor& variable);
  Tensors apply(Tensors grads) override;
  const Tensor& variable() const { return variable_; }

 private:
  Tensor variable_;
};

/// Returns the destination of the gradient of `tensor`: the node that produced it, or
/// its AccumulateGrad node; an edge without a node if it requires no gradient.
Edge gradient_edge(const Tensor& tensor);

/// A gradient formula: maps the gradients of the outputs to those of the inputs.
using Formula = std::function<Tensors(Tensors grads)>;

/// If gradients are enabled and an input requires one, creates a node that computes the
/// inputs' gradients with `formula` and attaches it to the outputs. Returns the node,
/// or null. The formula must capture outputs only through `detach()`: a node that owns
/// its own output is never freed.
NodePtr set_history(const char* name, const Tensors& inputs, const Tensors& outputs,
                    int64_t forward_op, Formula formula,
                    Node::Site site = Node::Site::current());

/// Returns whether `set_history` would create a node for these inputs.
bool needs_history(const Tensors& inputs);

/// Returns whether operations on this thread are recorded on the tape.
bool grad_enabled();

/// Disables (or enables) the tape on this thread until destroyed (torch.no_grad).
class GradMode {
 public:
  explicit GradMode(bool enabled);
  ~GradMode();

 private:
  bool outer_;
};
struct NoGrad : GradMode {
  NoGrad() : GradMode(false) {}
};

}  // namespace lockstep::autograd
