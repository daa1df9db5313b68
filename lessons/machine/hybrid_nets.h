// What a model in two parts sends, and where it should be cut: lesson 26.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/autograd/engine.h"
#include "engine/autograd/node.h"
#include "engine/distributed/ddp/bucket.h"
#include "engine/ops/copy.h"
#include "engine/sharing/hybrid_parts.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"
#include "lessons/plugin.h"

namespace lockstep::lessons::lesson_26 {

using Numbers = std::vector<double>;
using Rows = std::vector<int64_t>;

inline Device reference(int index) { return {DeviceType::reference, index}; }

inline Tensor on(Device device, const Tensor& host) {
  return ops::copy_to(host, device, {"h2d", "numbers"});
}

/// Outputs of two columns on the devices 0, 1, …: leaves with the numbers 0, 1, …
inline Tensors outputs_of(const Rows& rows) {
  Tensors outputs;
  double first = 0;
  for (const int64_t count : rows) {
    const Device device = reference(static_cast<int>(outputs.size()));
    outputs.push_back(on(device, counting({count, 2}, first)));
    outputs.back().set_requires_grad(true);
    first += static_cast<double>(count) * 2;
  }
  return outputs;
}

inline std::vector<Rows> row_counts(const Exam& exam) {
  std::mt19937_64 random(exam.seed());
  std::vector<Rows> all{{4, 4, 2}, {2, 2}, {1}, {2, 4, 3}};
  for (int i = 0; i < 3; ++i) {
    const auto largest = static_cast<int64_t>(2 + random() % 4);
    Rows& rows = all.emplace_back(1 + random() % 3, largest);
    rows.back() = static_cast<int64_t>(1 + random() % largest);
  }
  return all;
}

inline std::string named(const Exam& exam, const Rows& rows) {
  return fmt::format("outputs of {} rows (seed {})", fmt::join(rows, ", "),
                     exam.seed());
}

inline constexpr const char *kThere = "There and back", *kSum = "A sum, not a mean",
                            *kIdle = "Who has nothing adds zeros",
                            *kLedger = "The ledger", *kCut = "Where to cut";

inline Because why_not_joined(const Rows& rows) {
  if (rows.size() > 1 && rows[0] < rows[1]) {
    return {
        "an output begins where the one before it has ended: chunks need not be as "
        "large as the first",
        kThere};
  }
  return {
      "row i belongs to label i: the outputs stand below each other in the order of "
      "the devices, the last one as well",
      kThere};
}

inline constexpr int kClassifier = 3;

inline Tensor gathered(const Tensors& outputs) {
  return sharing::hybrid_gather().in_use()(outputs, reference(kClassifier));
}

inline Numbers numbers_from(double first, int64_t count) {
  Numbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

/// Runs gather's backward pass. What a tensor refuses is explained.
inline void walk_back(const Tensor& joined, const Tensor& gradient,
                      const std::string& name) {
  try {
    autograd::tape_walk()(autograd::gradient_edge(joined), gradient);
  } catch (const NotWritten&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw Wrong{
        "the backward pass of gather, " + name,
        "a gradient for each output",
        error.what(),
        {gradient.is_plain()
             ? "cut the gradient where the outputs were joined: chunks need not "
               "be of equal size, the last chunk is smaller"
             : "a convolution leaves its result in blocks of channels, which "
               "cannot be cut into rows: ops::contiguous first",
         kThere}};
  }
}

/// Four parameters of a replica, as the engine names them.
inline distributed::Parameters parameters_on(Device device) {
  distributed::Parameters all;
  for (const int64_t size : {3, 5, 1, 4}) {
    all.push_back(
        {fmt::format("parameter {}", all.size()), on(device, counting({size}))});
  }
  return all;
}

/// A replica's gradients: the numbers `first`, 2 `first`, …, or nothing.
inline Tensors gradients_on(Device device, double first) {
  Tensors all;
  double next = 0;
  for (const auto& [name, parameter] : parameters_on(device)) {
    Numbers numbers;
    for (int64_t i = 0; i < parameter.numel(); ++i) numbers.push_back(first * ++next);
    all.push_back(first == 0 ? Tensor()
                             : on(device, Tensor::from(numbers, {parameter.numel()},
                                                       DType::f64)));
  }
  return all;
}

inline distributed::Bucket bucket_on(Device device) {
  return {0, {0, 1, 2, 3}, parameters_on(device)};
}

/// Returns the bytes that devices send to other devices in a trace, by sender.
inline std::map<int64_t, int64_t> sent_by(const tracer::Trace& trace) {
  std::map<int64_t, int64_t> bytes;
  for (const tracer::Event* copy : events_of(trace, "copy")) {
    if (text(*copy, "src") == "host" || text(*copy, "dst") == "host") continue;
    bytes[number(*copy, "src")] += number(*copy, "bytes");
  }
  return bytes;
}

constexpr int64_t kFeatures = 14'714'688 * 4;

struct Net {
  int64_t features, classifier, activation;
};
struct Ledger {
  int64_t feature_device, classifier_device, ddp;
};

inline int64_t ring(int64_t bytes, int64_t ranks) {
  return 2 * (ranks - 1) * (bytes / ranks);
}

inline Ledger expected_of(const Net& net, int64_t batch, int64_t devices) {
  const int64_t chunk = (batch + devices - 2) / (devices - 1);
  return {ring(net.features, devices - 1) + chunk * net.activation,
          batch * net.activation, ring(net.features + net.classifier, devices)};
}

inline Because why_not_sent(const Net& net, int64_t batch, int64_t devices,
                            int64_t got) {
  const int64_t chunk = (batch + devices - 2) / (devices - 1);
  const int64_t gradients = ring(net.features, devices - 1);
  if (got == ring(net.features, devices) + chunk * net.activation) {
    return {"a ring of devices − 1: the classifier's device has no part in it",
            kLedger};
  }
  if (got == gradients) return {"activations have bytes as well", kLedger};
  if (got == gradients + 2 * chunk * net.activation) {
    return {
        "activations leave this device once; their gradients leave the classifier's",
        kLedger};
  }
  if (got - chunk * net.activation == gradients / 2) {
    return {
        "in a ring each part leaves a device twice: to be added, and to be "
        "distributed",
        kLedger};
  }
  if (got ==
      2 * (devices - 2) * net.features / (devices - 1) + chunk * net.activation) {
    return {"a part has a whole number of bytes: divide first, then multiply", kLedger};
  }
  return {
      "the ring's part for the features' gradients, and the activations of the "
      "largest chunk, ceil(batch / (devices − 1)) samples",
      kLedger};
}

inline Because why_not_ddp(const Net& net, int64_t devices, int64_t got) {
  if (got == 2 * (devices - 1) * (net.features + net.classifier) / devices) {
    return {"a part has a whole number of bytes: divide first, then multiply", kLedger};
  }
  if (got == ring(net.features, devices) + ring(net.classifier, devices)) {
    return {"all gradients go around together: add first, then divide", kLedger};
  }
  return {"the ring of DDP has all devices and all parameters", kLedger};
}

struct Layer {
  int64_t parameters, output;
};

struct Cut {
  int64_t best, busiest;
};

/// Returns the ledger of a cut behind the first `cut` layers.
inline Ledger ledger_of(const std::vector<Layer>& layers, int64_t cut, int64_t batch,
                        int64_t devices) {
  int64_t before = 0, all = 0;
  for (size_t n = 0; n < layers.size(); ++n) {
    all += layers[n].parameters;
    if (static_cast<int64_t>(n) < cut) before += layers[n].parameters;
  }
  return expected_of({before, all - before, layers[cut - 1].output}, batch, devices);
}

/// Returns the best number of feature layers, and what its busiest device sends.
inline Cut expected_cut(const std::vector<Layer>& layers, int64_t batch,
                        int64_t devices) {
  Cut best{0, ledger_of(layers, 1, batch, devices).ddp};
  for (int64_t n = 1; n < static_cast<int64_t>(layers.size()); ++n) {
    const Ledger sent = ledger_of(layers, n, batch, devices);
    const int64_t most = std::max(sent.feature_device, sent.classifier_device);
    if (most < best.busiest) best = {n, most};
  }
  return best;
}

/// VGG16's layers at 224×224 pixels, with pooling in the layer before it.
inline std::vector<Layer> vgg16() {
  std::vector<Layer> layers;
  int64_t in = 3, pixels = 224 * 224;
  for (const int64_t out :
       {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0}) {
    if (out == 0) {
      pixels /= 4;
      layers.back().output = in * pixels * 4;
      continue;
    }
    layers.push_back({(9 * in * out + out) * 4, out * pixels * 4});
    in = out;
  }
  in *= pixels;
  for (const int64_t out : {4096, 4096, 1000}) {
    layers.push_back({(in * out + out) * 4, out * 4});
    in = out;
  }
  return layers;
}

inline Because why_not_there(const std::vector<Layer>& layers, int64_t batch,
                             int64_t devices, const Cut& best, int64_t got) {
  if (got < 0 || got >= static_cast<int64_t>(layers.size())) {
    return {"a hybrid has at least one layer in each of its parts", kCut};
  }
  if (best.best == 0 && got > 0) {
    const Ledger as_good = ledger_of(layers, got, batch, devices);
    if (std::max(as_good.feature_device, as_good.classifier_device) == best.busiest) {
      return {
          "with DDP no device sends more than with this cut: a hybrid gains nothing",
          kCut};
    }
  }
  if (best.best == 0) {
    return {
        "no cut is better than DDP here: where activations are large and the weights "
        "are spread, there should be no hybrid",
        kCut};
  }
  if (got == 0) return {"this net has a cut that is better than DDP", kCut};
  const Ledger sent = ledger_of(layers, got, batch, devices);
  const int64_t most = std::max(sent.feature_device, sent.classifier_device);
  if (most == best.busiest) return {"as good, but of equal cuts the first", kCut};
  if (got == best.best - 1) {
    return {
        "n layers of features: the cut is behind layer n − 1, if they are counted "
        "from 0, and what travels is that layer's output",
        kCut};
  }
  const bool classifier = sent.classifier_device > sent.feature_device;
  return {
      fmt::format("with that cut {} sends most, {} B; with the best one nobody sends "
                  "more than {} B",
                  classifier ? "the classifier's device" : "a device of the features",
                  most, best.busiest),
      kCut};
}

}  // namespace lockstep::lessons::lesson_26
