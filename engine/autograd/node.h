// The tape: one Node per differentiable operation that ran, linked backwards.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "engine/tensor/tensor.h"
#include "tracer/record/recorder.h"

namespace lockstep::autograd {

/// Where an input's gradient goes: to input `input_nr` of `node`, or nowhere if null.
struct Edge {
  NodePtr node;
  uint32_t input_nr = 0;
};

/// A step of the backward pass: takes the gradients of an operation's outputs, returns
/// those of its inputs. Source: torch/csrc/autograd/function.h.
class Node {
 public:
  Node(const char* name, Device device);
  Node(const char* name, Device device, uint64_t sequence_nr)
      : name_(name), device_(device), sequence_nr_(sequence_nr) {}
  virtual ~Node();

  /// Must be called once, with one gradient per output of the forward operation;
  /// undefined ones stand for zero. The engine calls it on the thread of `device()`.
  virtual Tensors apply(Tensors grads) = 0;

  const char* name() const { return name_; }  ///< `ConvolutionBackward0`
  Device device() const { return device_; }
  /// Counts up in forward order; the engine takes the highest ready one first.
  uint64_t sequence_nr() const { return sequence_nr_; }
  int64_t forward_op() const { return forward_op_; }  ///< trace id, or kNone
  void set_forward_op(int64_t id) { forward_op_ = id; }

  std::vector<Edge> next_edges;
  uint32_t output_count = 1;  ///< outputs of the forward operation

 private:
  const char* name_;
  Device device_;
  uint64_t sequence_nr_;
  int64_t forward_op_ = tracer::kNone;
};

/// Adds a leaf's gradient to its `.grad` and calls its hooks. Runs before every other
/// ready node, so that hooks get each gradient as early as possible.
class AccumulateGrad : public Node {
 public:
  explicit AccumulateGrad(const Tensor& variable);
  Tensors apply(Tensors grads) override;
  const Tensor& variable() const { return variable_; }

 private:
  Tensor variable_;
};

/// Returns where the gradient of `tensor` goes: to the node that made it, or to its
/// AccumulateGrad; an edge without a node if it needs none.
Edge gradient_edge(const Tensor& tensor);

/// A gradient formula: called with the gradients of the outputs.
using Formula = std::function<Tensors(Tensors grads)>;

/// If gradients are enabled and an input needs one, makes a node that computes the
/// inputs' gradients by `formula` and attaches it to the outputs. Returns the node, or
/// null. The formula must hold outputs only through `detach()`: a node that owned its
/// own output would never be freed.
NodePtr set_history(const char* name, const Tensors& inputs, const Tensors& outputs,
                    int64_t forward_op, Formula formula);

/// Returns whether `set_history` with these inputs would make a node.
bool needs_history(const Tensors& inputs);

/// Returns whether operations of this thread are recorded on the tape.
bool grad_enabled();

/// Disables (or enables) the tape on this thread until destruction (torch.no_grad).
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
