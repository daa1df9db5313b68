// The laws of a hybrid: the features are data-parallel on N−1 devices, the classifier
// is on one. P, B = bytes of the features' parameters and buffers, A = of their
// outputs.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "tracer/analysis/hybrid_step.h"
#include "tracer/analysis/judge.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {
namespace {

/// From where to where, and why.
struct HybridRoute {
  std::string_view why;
  int64_t src, dst;
  auto operator<=>(const HybridRoute&) const = default;
};
using HybridRoutes = std::map<HybridRoute, int64_t>;  ///< bytes

constexpr int64_t kLargestMetric = 1024;  ///< bytes: partial norms of --clip-grad-norm

struct HybridLaws {
  explicit HybridLaws(TraceUnderTest& test)
      : test(test),
        inputs(test.law("inputs-of-hybrid",
                        "features get their chunks of the images, the classifier all "
                        "labels")),
        activations(
            test.law("features-gathered",
                     "the classifier gets each chunk's features: A by its rows")),
        grads(
            test.law("features-grad", "each chunk's gradient returns: A by its rows")),
        sums(test.law("features-reduced",
                      "each synced step sums P among the N−1 devices of the features")),
        ring(test.law("features-ring",
                      "each device sends 2(N−2)/(N−1) of P to the next one")),
        replicas(test.law("replicas-bytes",
                          "replicas get P + B once, later only B to evaluate")),
        classifier(test.law("classifier-stays",
                            "the classifier's device sends gradients of features and "
                            "scalars, and no weights")) {}

  void judge(const HybridStep& step) {
    HybridRoutes moved;
    for (const Event* task : step.step.tasks) {
      if (!task->is(categories::copy)) continue;
      const CopyFacts copy = copy_facts(*task);
      judge_classifier(step, *task, copy);
      const bool is_input = copy.why != reasons::h2d || copy.tensor == "labels" ||
                            copy.tensor == "images";
      if (!is_input) continue;  // the state of a resumed optimizer
      int64_t& sum = moved[{copy.why, copy.src, copy.dst}];
      sum = add_within_range(sum, copy.known_bytes());
    }
    const bool goes_back = step.step.has_phase(phases::backward);
    HybridRoutes images, gathered, returned, sent;
    images[{reasons::h2d, kHost, step.classifier}] = step.step.label_bytes;
    for (size_t i = 0; i < step.chunks(); ++i) {
      const int64_t device = step.devices[i];
      const int64_t bytes = step.share(step.step.output_bytes, i);
      images[{reasons::scatter, kHost, device}] = step.share(step.step.input_bytes, i);
      gathered[{reasons::activation, device, step.classifier}] = bytes;
      returned[{reasons::activation_grad, step.classifier, device}] =
          goes_back ? bytes : 0;
    }
    for (size_t i = 1; i < step.devices.size(); ++i) {
      sent[{reasons::replicate, step.devices[0], step.devices[i]}] = step.sent;
    }
    compare(inputs, step, moved, {reasons::h2d, reasons::scatter}, images);
    compare(activations, step, moved, {reasons::activation}, gathered);
    compare(grads, step, moved, {reasons::activation_grad}, returned);
    compare(replicas, step, moved, {reasons::replicate}, sent);
    judge_what_was_sent(step);
    judge_sums(step);
    judge_ring(step);
  }

 private:
  void compare(Law& law, const HybridStep& step, const HybridRoutes& moved,
               std::initializer_list<std::string_view> reasons_of_law,
               HybridRoutes wanted) const {
    for (const auto& [route, bytes] : moved) {
      for (const std::string_view why : reasons_of_law) {
        if (route.why == why) wanted.emplace(route, 0);
      }
    }
    for (const auto& [route, bytes] : wanted) {
      const auto found = moved.find(route);
      const int64_t sum = found == moved.end() ? 0 : found->second;
      law.expect(
          sum == bytes, step.step.event->id, [&, &route = route, &bytes = bytes] {
            return fmt::format("step {}: {} moved {} B from {} to {}, expected {} B",
                               step.step.number, route.why, sum,
                               name_of_port(route.src), name_of_port(route.dst), bytes);
          });
    }
  }

  static std::string name_of_port(int64_t port) {
    return port == kHost ? "the host" : fmt::format("device {}", port);
  }

  /// Weights are sent in the step that creates the replicas, statistics only before
  /// they are used.
  void judge_what_was_sent(const HybridStep& step) const {
    const bool whole = step.sent == step.parameters + step.buffers;
    const bool evaluates = !step.step.train && step.sent == step.buffers;
    replicas.expect(step.sent == 0 || whole || evaluates, step.step.event->id, [&] {
      return fmt::format(
          "step {}: {} B were sent to each replica, expected 0, {} or {}",
          step.step.number, step.sent, step.parameters + step.buffers,
          step.step.train ? 0 : step.buffers);
    });
  }

  void judge_classifier(const HybridStep& step, const Event& task,
                        const CopyFacts& copy) const {
    if (copy.src != step.classifier && copy.dst != step.classifier) return;
    const bool arrives = copy.dst == step.classifier;
    const bool are_scalars = copy.known_bytes() <= 3 * 8;  // loss and accuracies
    const bool is_metric =
        copy.why == reasons::metrics && copy.known_bytes() <= kLargestMetric;
    const bool allowed =
        arrives ? copy.why == reasons::activation ||
                      (copy.why == reasons::h2d && copy.tensor == "labels")
                : copy.why == reasons::activation_grad ||
                      (copy.why == reasons::d2h && are_scalars) || is_metric;
    classifier.expect(allowed, task.id, [&] {
      return fmt::format("step {}: {} moved {} B {} the classifier's device {}",
                         step.step.number, copy.why, copy.known_bytes(),
                         arrives ? "to" : "from", step.classifier);
    });
  }

  void judge_sums(const HybridStep& step) const {
    std::map<int64_t, int64_t> summed;  // by device
    const auto size = static_cast<int64_t>(step.devices.size());
    for (const int64_t device : step.devices) summed[device] = 0;
    for (const Event* task : step.step.tasks) {
      if (!task->is(categories::collective)) continue;
      const CollectiveFacts facts = collective_facts(*task);
      const int64_t device = test.lanes.of(*task).device;
      const bool belongs = summed.contains(device) && facts.group_size == size;
      sums.expect(belongs, task->id, [&] {
        return fmt::format(
            "step {}: {} on device {} in a group of {}, expected one of "
            "the {} devices of the features",
            step.step.number, name_of(*task), device, facts.group_size, size);
      });
      if (belongs) summed[device] = add_within_range(summed[device], facts.bytes);
    }
    const int64_t wanted = step.synced && size > 1 ? step.parameters : 0;
    for (const auto& [device, bytes] : summed) {
      sums.expect(bytes == wanted, step.step.event->id,
                  [&, device = device, bytes = bytes] {
                    return fmt::format(
                        "step {}: device {} summed {} B of gradients, expected {}",
                        step.step.number, device, bytes, wanted);
                  });
    }
  }

  void judge_ring(const HybridStep& step) const {
    const size_t size = step.devices.size();
    std::map<int64_t, int64_t> sent;
    for (const Event* task : step.step.tasks) {
      if (!task->is(categories::copy)) continue;
      const CopyFacts copy = copy_facts(*task);
      if (!copy.is_message) continue;
      bool neighbors = false;
      for (size_t i = 0; i < size; ++i) {
        neighbors |= copy.src == step.devices[i] &&
                     copy.dst == step.devices[(i + 1) % size] && size > 1;
      }
      ring.expect(neighbors, task->id, [&] {
        return fmt::format(
            "step {}: a message goes from device {} to device {}, which "
            "is not the next device of the features",
            step.step.number, copy.src, copy.dst);
      });
      if (neighbors)
        sent[copy.src] = add_within_range(sent[copy.src], copy.known_bytes());
    }
    const auto n = static_cast<double>(size);
    const double due =
        step.synced ? 2 * (n - 1) / n * static_cast<double>(step.parameters) : 0;
    for (const int64_t device : step.devices) {
      ring.expect(
          std::abs(static_cast<double>(sent[device]) - due) <= 8, step.step.event->id,
          [&] {
            return fmt::format(
                "step {}: device {} sent {} B of gradients, expected {:.1f} ± 8",
                step.step.number, device, sent[device], due);
          });
    }
  }

  TraceUnderTest& test;
  Law &inputs, &activations, &grads, &sums, &ring, &replicas, &classifier;
};

}  // namespace

void judge_hybrid(TraceUnderTest& test) {
  if (string_arg(test.trace.lockstep, top::mode) != kHybrid) return;
  Law& facts = test.law("hybrid-facts",
                        "a step states its devices, and chunks as torch.chunk's");
  HybridLaws laws(test);
  for (const Step& step : test.steps) {
    if (step.interrupted || step.batch == 0) continue;
    const HybridStep hybrid(step);
    const bool whole = hybrid.stated();
    facts.expect(whole, step.event->id, [&] {
      return fmt::format(
          "step {}: `feature_devices`, `output_device` and `chunks` do "
          "not describe a hybrid for a batch of {}",
          step.number, step.batch);
    });
    if (whole) laws.judge(hybrid);
  }
}

}  // namespace lockstep::tracer
