// Lesson 26: the VGG16 hybrid. Convolutions share the samples, and the classifier stays
// where it is. What travels then?
#include <cstdint>
#include <vector>

#include "engine/autograd/node.h"
#include "engine/distributed/ddp/bucket.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/sharing/hybrid_parts.h"
#include "lessons/plugin.h"

using namespace lockstep;
using Devices = std::vector<Device>;

/// Joins the replicas' outputs (each n×…, with its own n) below each other on device
/// `classifier`. Each output travels once, straight from its device.
/// `Shape sizes = outputs[0].sizes()` is a copy that you may change.
/// `Tensor::empty({sizes, outputs[0].dtype(), nullptr}, device)` allocates;
/// `joined.narrowed(first, count)` is a view of some rows; `ops::copy_into(
/// output.detach(), view, {"activation", "output"})` sends an output into it.
///
/// `autograd::set_history("GatherBackward", outputs, {joined},
/// tracer::innermost_event(), formula)` says how gradients get back. `formula` receives
/// a list with one tensor, the gradient of `joined`, and returns the gradient of each
/// output, on that output's device (`ops::copy_to(rows, device, {"activation_grad",
/// "output"})`). Begin with `ops::contiguous(grads[0])`, since convolutions leave their
/// results in blocks that cannot be cut, and capture devices and numbers by value.
Tensor gather(const Tensors& outputs, Device classifier) {
  // [solution-gather]
  Shape sizes = outputs[0].sizes();
  sizes[0] = 0;
  std::vector<int64_t> rows;
  Devices devices;
  for (const Tensor& output : outputs) {
    rows.push_back(output.size(0));
    devices.push_back(output.device());
    sizes[0] += output.size(0);
  }
  const Tensor joined = Tensor::empty({sizes, outputs[0].dtype(), nullptr}, classifier);
  int64_t first = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    ops::copy_into(outputs[i].detach(), joined.narrowed(first, rows[i]),
                   {"activation", "output"});
    first += rows[i];
  }
  autograd::set_history(
      "GatherBackward", outputs, {joined}, tracer::innermost_event(),
      [rows, devices](Tensors grads) {
        const Tensor grad = ops::contiguous(grads[0]);
        Tensors pieces;
        int64_t first = 0;
        for (size_t i = 0; i < rows.size(); ++i) {
          pieces.push_back(ops::copy_to(grad.narrowed(first, rows[i]), devices[i],
                                        {"activation_grad", "output"}));
          first += rows[i];
        }
        return pieces;
      });
  return joined;
  // [/solution-gather]
  lessons::not_written("gather: to the classifier, and back to the replicas");
}

/// The all-reduce's name in traces; pass it along. (Do not change this function.)
distributed::CollectiveLabel label() {
  distributed::CollectiveLabel label;
  label.tensor = "gradients of features";
  return label;
}

/// Begins the all-reduce of a replica's gradients with the other replicas, and returns
/// what it returns, at once. The loss is the mean over the whole batch, computed on the
/// classifier's device. A replica without samples has undefined gradients, which count
/// as zeros. `flat` has a place for each gradient, and still has the last step's sum:
///   flat.pack(i, gradient, factor)  writes factor times the gradient to place i; zeros
///                                   if the gradient is undefined
///   ring.all_reduce(flat.flat(), ReduceOp::sum, label())
///                                   adds `flat` over all replicas (there are
///                                   `ring.size()` of them)
distributed::Work sum(const Tensors& gradients, distributed::Bucket& flat,
                      distributed::ProcessGroup& ring) {
  // [solution-sum]
  for (size_t i = 0; i < gradients.size(); ++i) flat.pack(i, gradients[i], 1);
  return ring.all_reduce(flat.flat(), ReduceOp::sum, label());
  // [/solution-sum]
  lessons::not_written("sum: one all-reduce. A sum, or a mean?");
}

/// A model in two parts.
struct Net {
  int64_t features;    ///< bytes of the parameters of the features
  int64_t classifier;  ///< bytes of the parameters of the classifier
  int64_t activation;  ///< bytes that the features return for one sample
};

/// Bytes that leave a device in one training step.
struct Ledger {
  int64_t feature_device;     ///< hybrid: device 0, which has the largest chunk
  int64_t classifier_device;  ///< hybrid: the last device
  int64_t ddp;                ///< each device of DDP
};

/// Returns the ledger of `devices` devices and `batch` samples. In the hybrid the first
/// devices − 1 of them have the features, and chunks of ceil(batch / (devices − 1))
/// samples (the last ones fewer, or none). Gradients go around in rings: in a ring of
/// n, 2 (n − 1) parts of 1/n leave each device. (The parts have whole numbers of bytes:
/// divide first.) Samples come from the host, and don't count.
Ledger ledger(const Net& net, int64_t batch, int64_t devices) {
  // [solution-ledger]
  const int64_t replicas = devices - 1;
  const int64_t chunk = (batch + replicas - 1) / replicas;
  const auto ring = [](int64_t bytes, int64_t n) { return 2 * (n - 1) * (bytes / n); };
  return {ring(net.features, replicas) + chunk * net.activation, batch * net.activation,
          ring(net.features + net.classifier, devices)};
  // [/solution-ledger]
  lessons::not_written("ledger: a ring, a chunk's activations, and their gradients");
}

/// A layer of a model.
struct Layer {
  int64_t parameters;  ///< bytes
  int64_t output;      ///< bytes that it returns for one sample
};

/// Returns how many of the layers should be features: the number n, 1 ≤ n < the number
/// of layers, with which the device that sends most sends least (the smallest such n).
/// Returns 0 if DDP's devices send as little or less: a hybrid would gain nothing.
/// `ledger` knows what devices send.
int64_t best_cut(const std::vector<Layer>& layers, int64_t batch, int64_t devices) {
  // [solution-cut]
  int64_t all = 0, before = 0, best = 0, least = 0;
  for (const Layer& layer : layers) all += layer.parameters;
  for (size_t i = 0; i + 1 < layers.size(); ++i) {
    before += layers[i].parameters;
    const Ledger sent =
        ledger({before, all - before, layers[i].output}, batch, devices);
    if (i == 0) least = sent.ddp;
    const int64_t most = std::max(sent.feature_device, sent.classifier_device);
    if (most < least) {
      least = most;
      best = static_cast<int64_t>(i) + 1;
    }
  }
  return best;
  // [/solution-cut]
  lessons::not_written("best_cut: try each cut, and DDP");
}

// The check finds your functions through these; do not change them.
extern "C" void lesson_ledger(const Net& net, int64_t batch, int64_t devices,
                              Ledger& sent) {
  sent = ledger(net, batch, devices);
}
extern "C" int64_t lesson_best_cut(const std::vector<Layer>& layers, int64_t batch,
                                   int64_t devices) {
  return best_cut(layers, batch, devices);
}

LOCKSTEP_LESSON(26) {
  sharing::hybrid_gather().plug(gather);
  sharing::hybrid_sum().plug(sum);
}
