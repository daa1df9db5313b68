// The operations, with PyTorch's names, arguments and error messages. Each records
// itself, enqueues its kernel and, where an input needs a gradient, puts its formula on
// the tape. All tensors of one call must live on one device. No operation waits.
#pragma once

#include <optional>
#include <source_location>

#include "engine/tensor/tensor.h"

namespace lockstep::ops {

using Site = std::source_location;

struct Conv2dOptions {
  int64_t stride = 1, padding = 0;
};

/// x N×C×H×W, weight O×C×kH×kW, bias O or undefined → N×O×H'×W'.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              Conv2dOptions options = {}, Site site = Site::current());

/// x N×I, weight O×I, bias O or undefined → N×O: x weightᵀ + bias.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              Site site = Site::current());

/// A batch norm's parameters and buffers, each of C elements; `tracked` counts batches.
struct BatchNormState {
  Tensor weight, bias, running_mean, running_var, tracked;
};

/// Normalises each channel: with the batch's own mean and biased variance if
/// `training`, updating the running ones (variance unbiased), else with the running
/// ones. x N×C×H×W. Source: Ioffe & Szegedy 2015;
/// aten/src/ATen/native/Normalization.cpp.
Tensor batch_norm(const Tensor& x, const BatchNormState& state, bool training,
                  double momentum = 0.1, double eps = 1e-5,
                  Site site = Site::current());

Tensor relu(const Tensor& x, Site site = Site::current());
/// In place; fused into the kernel that makes `x` if that is still held back.
Tensor& relu_(Tensor& x, Site site = Site::current());

struct Pool2dOptions {
  int64_t kernel = 2, stride = 2, padding = 0;
};
/// Ties go to the first position of the window, as in PyTorch.
Tensor max_pool2d(const Tensor& x, Pool2dOptions options, Site site = Site::current());
/// Divides by the whole window, padding included (PyTorch's default).
Tensor avg_pool2d(const Tensor& x, Pool2dOptions options, Site site = Site::current());
/// Averages over windows that cover the image evenly, for any output size.
Tensor adaptive_avg_pool2d(const Tensor& x, int64_t height, int64_t width,
                           Site site = Site::current());

/// Equal shapes only (no broadcasting).
Tensor add(const Tensor& a, const Tensor& b, Site site = Site::current());
Tensor& add_(Tensor& a, const Tensor& b, Site site = Site::current());
Tensor scale(const Tensor& x, double factor, Site site = Site::current());

/// Arithmetic for statistics: `b` has a's shape or a single element. Not differentiable
/// (they throw where an input needs a gradient).
Tensor sub(const Tensor& a, const Tensor& b, Site site = Site::current());
Tensor mul(const Tensor& a, const Tensor& b, Site site = Site::current());
Tensor div(const Tensor& a, const Tensor& b, Site site = Site::current());
/// Returns the elements of all tensors as one flat tensor. Not differentiable.
Tensor cat(const Tensors& tensors, Site site = Site::current());

/// N×… → N×rest. A view where memory is plain.
Tensor flatten(const Tensor& x, Site site = Site::current());

/// Zeroes elements with probability `p` and scales the rest by 1/(1−p). The mask is
/// Philox's, by the device's seed and a counter.
Tensor dropout(const Tensor& x, double p, bool training, Site site = Site::current());
void manual_seed(uint64_t seed);
/// Returns the number of masks that a device has drawn since `manual_seed`: with the
/// seed, the whole state of its generator (torch.cuda.get_rng_state). Must be called
/// while the device's thread draws none.
uint64_t dropout_calls(Device device);
void set_dropout_calls(Device device, uint64_t calls);

Tensor log_softmax(const Tensor& x, Site site = Site::current());

enum class Reduction { mean, sum };
/// log_probabilities N×C, labels int64 N → scalar.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& labels,
                Reduction reduction = Reduction::mean, Site site = Site::current());
/// nll_loss(log_softmax(logits)). With `label_smoothing` ε of [0, 1] the target is
/// 1 − ε for the label's class plus ε / C for every class (Szegedy et al. 2016).
Tensor cross_entropy(const Tensor& logits, const Tensor& labels,
                     Reduction reduction = Reduction::mean, double label_smoothing = 0,
                     Site site = Site::current());

/// Returns the percentage of rows whose label is among the k largest logits. Not
/// differentiable.
Tensor accuracy(const Tensor& logits, const Tensor& labels, int64_t k,
                Site site = Site::current());

Tensor full_like(const Tensor& x, double value, Site site = Site::current());
/// Returns the elements in plain row-major memory; `x` itself if it is plain already.
Tensor contiguous(const Tensor& x, Site site = Site::current());

}  // namespace lockstep::ops
