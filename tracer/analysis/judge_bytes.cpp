// The conservation laws: exactly these bytes must move between exactly these places.
// k = number of chunks, x_i and o_i = bytes of chunk i of the input and the output,
// P and B = bytes of parameters and buffers.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "engine/plan/chunk.h"
#include "tracer/analysis/judge.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

constexpr std::string_view kLossOnEach = "dp-criterion";  ///< the mode

struct BytesRoute {
  int64_t src, dst;
  auto operator<=>(const BytesRoute&) const = default;
};
using Ledger = std::map<BytesRoute, int64_t>;  ///< bytes from src to dst; never zero

std::string port_name(int64_t port) {
  if (port == kHost) return "host";
  return port == kNowhere ? "?" : fmt::format("device {}", port);
}

/// A copy in a step, with its facts.
struct Moved {
  int64_t id;
  CopyFacts facts;
  BytesRoute route() const { return {facts.src, facts.dst}; }
};

/// The bytes that must move in one step.
class Expected {
 public:
  Expected(const TraceUnderTest& test, const Step& step) : step_(step) {
    for (const Json& device : devices(test))
      devices_.push_back(int_arg(device, keys::id));
    std::sort(devices_.begin(), devices_.end());
    const Json& model = object_arg(test.trace.lockstep, top::model);
    const Args& args = step.event->args;
    reorder(args);
    parameters_ = int_arg(args, keys::wrapped_parameter_bytes,
                          int_arg(model, top::parameter_bytes));
    buffers_ =
        int_arg(args, keys::wrapped_buffer_bytes, int_arg(model, top::buffer_bytes));
    const std::string mode = string_arg(test.trace.lockstep, top::mode);
    parallel_ = mode != "single";
    loss_on_each_ = mode == kLossOnEach;
    backward_ = step.train && step.has_phase(phases::backward);
  }

  bool has_devices() const { return !devices_.empty(); }

  /// Returns the sizes of the chunks into which the batch must be split; a batch that
  /// is not shared is one chunk.
  std::vector<int64_t> chunks() const {
    if (!parallel_) return {step_.batch};
    return plan::chunk_sizes(step_.batch, static_cast<int64_t>(devices_.size()));
  }

  Ledger images() const {
    const bool moved = !parallel_ || step_.input_on_device;
    return one({kHost, first()}, moved ? step_.input_bytes : 0);
  }
  Ledger labels() const {
    const bool moved = !loss_on_each_ || step_.input_on_device;
    return one({kHost, output_}, moved ? step_.label_bytes : 0);
  }

  Ledger scatter() const { return parallel_ ? scattered(step_.input_bytes) : Ledger{}; }
  Ledger targets() const { return scattered(step_.label_bytes); }
  /// `chained`: a library's broadcast, from each device to the next.
  Ledger replicate(bool chained) const {
    const int64_t bytes = add_within_range(parameters_, buffers_);
    return each(1, [&](size_t i) {
      return std::pair(
          chained ? BytesRoute{devices_[i - 1], devices_[i]} : from_first(i), bytes);
    });
  }
  Ledger gather() const {
    if (loss_on_each_) return {};
    return each(0, [&](size_t i) {
      const bool is_there = devices_[i] == output_;
      return std::pair(BytesRoute{devices_[i], output_},
                       is_there ? 0 : share(step_.output_bytes, i));
    });
  }
  Ledger grad_scatter() const {
    if (!backward_) return {};
    Ledger ledger;
    for (const auto& [route, bytes] : gather()) {
      ledger.emplace(BytesRoute{route.dst, route.src}, bytes);
    }
    return ledger;
  }
  /// `bytes` from each device but the first.
  Ledger scalars(int64_t bytes) const {
    return each(1, [&](size_t i) { return std::pair(to_first(i), bytes); });
  }
  Ledger grads_of_scalars(int64_t bytes) const {
    if (!backward_) return {};
    return each(1, [&](size_t i) { return std::pair(from_first(i), bytes); });
  }
  /// `chained`: from each device to the one before it.
  Ledger reduce(bool chained) const {
    if (!backward_) return {};
    return each(1, [&](size_t i) {
      return std::pair(chained ? BytesRoute{devices_[i], devices_[i - 1]} : to_first(i),
                       parameters_);
    });
  }

 private:
  static const Json& devices(const TraceUnderTest& test) {
    static const Json none = Json::array();
    const auto found = test.trace.lockstep.find(top::devices);
    return found != test.trace.lockstep.end() && found->is_array() ? *found : none;
  }

  /// Applies DataParallel's `device_ids` and `output_device` if the step states them;
  /// otherwise, its devices are in ascending order.
  void reorder(const Args& args) {
    output_ = devices_.empty() ? 0 : devices_.front();
    std::vector<int64_t> order;
    for (const int64_t id : args.find(keys::device_ids).integers()) {
      if (std::binary_search(devices_.begin(), devices_.end(), id)) order.push_back(id);
    }
    if (order.empty()) return;
    devices_ = std::move(order);
    output_ = int_arg(args, keys::output_device, devices_.front());
  }

  int64_t first() const { return devices_.front(); }
  BytesRoute from_first(size_t i) const { return {first(), devices_[i]}; }
  BytesRoute to_first(size_t i) const { return {devices_[i], first()}; }

  /// Returns the bytes of chunk i: all samples have the same size.
  int64_t share(int64_t bytes, size_t i) const {
    return bytes / step_.batch * step_.chunks[i];
  }

  static Ledger one(BytesRoute route, int64_t bytes) {
    return bytes == 0 ? Ledger{} : Ledger{{route, bytes}};
  }

  /// A chunk to each device, from where the input is.
  Ledger scattered(int64_t bytes) const {
    const bool from_device = step_.input_on_device;
    return each(from_device ? 1 : 0, [&](size_t i) {
      const BytesRoute route = {from_device ? first() : kHost, devices_[i]};
      return std::pair(route, share(bytes, i));
    });
  }

  template <typename Transfer>
  Ledger each(size_t from, Transfer transfer) const {
    Ledger ledger;
    for (size_t i = from; i < step_.chunks.size(); ++i) {
      const auto [route, bytes] = transfer(i);
      if (bytes != 0) ledger.emplace(route, bytes);
    }
    return ledger;
  }

  const Step& step_;
  std::vector<int64_t> devices_;
  int64_t output_ = 0;
  int64_t parameters_ = 0, buffers_ = 0;
  bool parallel_ = false, loss_on_each_ = false, backward_ = false;
};

constexpr int64_t kMaxBatch = int64_t{1} << 40;

/// The facts that a step states about itself must be
/// consistent before they can be compared with anything else.
bool judge_facts(Law& law, const Step& step, const Expected& expected) {
  const int64_t id = step.event->id;
  const bool whole = step.batch >= 1 && step.batch < kMaxBatch &&
                     step.input_bytes >= 0 && step.output_bytes >= 0 &&
                     step.label_bytes >= 0 && step.input_bytes % step.batch == 0 &&
                     step.output_bytes % step.batch == 0;
  law.expect(whole, id, [&] {
    return fmt::format(
        "step {}: `batch` {} does not divide `input_bytes` {} and "
        "`output_bytes` {}",
        step.number, step.batch, step.input_bytes, step.output_bytes);
  });
  if (!whole) return false;
  const std::vector<int64_t> chunks = expected.chunks();
  law.expect(step.chunks == chunks, id, [&] {
    return fmt::format("step {}: `chunks` is [{}], but a batch of {} is cut into [{}]",
                       step.number, fmt::join(step.chunks, ", "), step.batch,
                       fmt::join(chunks, ", "));
  });
  return step.chunks == chunks;
}

int64_t item_size(std::string_view dtype) {
  static constexpr std::pair<std::string_view, int64_t> kSizes[] = {
      {"float32", 4}, {"float64", 8},  {"int64", 8}, {"int32", 4}, {"float16", 2},
      {"uint8", 1},   {"bfloat16", 2}, {"int8", 1},  {"bool", 1}};
  for (const auto& [name, size] : kSizes) {
    if (name == dtype) return size;
  }
  return 0;
}

/// Compares what moved in a step with what was required to move, route by route.
class Comparison {
 public:
  explicit Comparison(const Step& step) : step_(step) {
    for (const Event* task : step.tasks) {
      if (task->is(categories::copy)) moved_.push_back({task->id, copy_facts(*task)});
    }
  }

  void judge(Law& law, std::string_view why, const Ledger& expected) const {
    judge(law, why, expected, [&](const CopyFacts& copy) { return copy.why == why; });
  }

  void judge_h2d(Law& law, std::string_view tensor, const Ledger& expected) const {
    judge(law, tensor, expected, [&](const CopyFacts& copy) {
      return copy.why == reasons::h2d && copy.tensor == tensor;
    });
  }

  /// Returns true if a library moved these bytes: such copies are recorded as its
  /// algorithm prescribes them.
  bool modelled(std::string_view why) const {
    return std::any_of(moved_.begin(), moved_.end(), [&](const Moved& copy) {
      return copy.facts.why == why && copy.facts.modelled;
    });
  }

  /// Returns the size of a scalar that is copied for this reason: 4 B for float32.
  int64_t scalar_bytes(std::string_view why) const {
    for (const Moved& copy : moved_) {
      const int64_t size = copy.facts.why == why ? item_size(copy.facts.dtype) : 0;
      if (size != 0) return size;
    }
    return item_size("float32");
  }

 private:
  template <typename Counts>
  void judge(Law& law, std::string_view what, const Ledger& expected,
             Counts counts) const {
    struct Sum {
      int64_t bytes = 0, wanted = 0, last_copy = kNone;
    };
    std::map<BytesRoute, Sum> sums;
    for (const auto& [route, bytes] : expected) {
      sums[route] = {0, bytes, step_.event->id};
    }
    for (const Moved& copy : moved_) {
      if (!counts(copy.facts)) continue;
      Sum& sum = sums[copy.route()];
      sum.bytes = add_within_range(sum.bytes, copy.facts.known_bytes());
      sum.last_copy = copy.id;
    }
    for (const auto& [route, sum] : sums) {
      law.expect(sum.bytes == sum.wanted, sum.last_copy, [&] {
        return fmt::format("step {}: {} moved {} B from {} to {}, expected {} B",
                           step_.number, what, sum.bytes, port_name(route.src),
                           port_name(route.dst), sum.wanted);
      });
    }
  }

  const Step& step_;
  std::vector<Moved> moved_;
};

/// Laws that apply to each copy individually: its lane and its size.
void judge_copies(TraceUnderTest& test) {
  Law& lanes = test.law("copies-on-receiver", "a copy is on its receiver's lane");
  Law& sizes = test.law("copy-bytes",
                        "a copy's size is its element count times the element size");
  Law& scalars = test.law("d2h-scalars", "a scalar read moves one element");
  for (const Event& event : test.trace.events) {
    if (event.ph != 'X' || !event.is(categories::copy)) continue;
    const CopyFacts copy = copy_facts(event);
    lanes.expect(copy.src != kNowhere && copy.dst != kNowhere && copy.src != copy.dst,
                 event.id, [&] {
                   return fmt::format(
                       "{} goes from {} to {}, which is not a copy between memories",
                       name_of(event), port_name(copy.src), port_name(copy.dst));
                 });
    const int64_t place = test.lanes.of(event).device;
    lanes.expect(place == copy.dst, event.id, [&] {
      return fmt::format("{} goes to {}, but is on a lane of {}", name_of(event),
                         port_name(copy.dst), port_name(place));
    });
    sizes.expect(copy.bytes >= 0, event.id,
                 [&] { return fmt::format("{} has no `bytes`", name_of(event)); });

    const int64_t item = item_size(copy.dtype);
    if (item == 0 || !copy.shape.is_array()) continue;
    double elements = 1;  // exact up to 2^53, and does not overflow
    for (const int64_t length : copy.shape.integers()) elements *= length;
    if (copy.why == reasons::d2h && elements == 1) {
      scalars.expect(copy.bytes == item, event.id, [&] {
        return fmt::format("reading one {} moved {} B, expected {} B", copy.dtype,
                           copy.bytes, item);
      });
    } else {
      sizes.expect(copy.bytes == elements * item, event.id, [&] {
        return fmt::format("{} reports {} B, but its shape has {} elements of {} B",
                           name_of(event), copy.bytes, elements, item);
      });
    }
  }
}

/// The laws of a loss that is computed on each device; not opened for other traces.
struct LossLaws {
  explicit LossLaws(TraceUnderTest& test)
      : targets(test.law("targets-bytes", "every device gets its chunk's labels")),
        loss(test.law("loss-bytes", "device 0 gets a scalar from each replica")),
        grads(test.law("loss-grad-bytes", "each replica gets the loss's gradient")),
        metrics(test.law("metrics-bytes", "device 0 gets two accuracies from each")) {}

  void judge(const Comparison& moved, const Expected& expected) {
    const int64_t scalar = moved.scalar_bytes(reasons::loss);
    moved.judge(targets, reasons::targets, expected.targets());
    moved.judge(loss, reasons::loss, expected.scalars(scalar));
    moved.judge(grads, reasons::loss_grad, expected.grads_of_scalars(scalar));
    moved.judge(metrics, reasons::metrics, expected.scalars(2 * scalar));
  }

  Law &targets, &loss, &grads, &metrics;
};

}  // namespace

void judge_bytes(TraceUnderTest& test) {
  judge_copies(test);
  const std::string mode = string_arg(test.trace.lockstep, top::mode);
  const bool on_each = mode == kLossOnEach;
  Law& facts = test.law("chunks", "a batch is split as torch.chunk splits it");
  Law& images =
      test.law("images-h2d", "images are copied to device 0 once or not at all");
  Law& labels =
      test.law("labels-h2d", on_each ? "labels go to device 0 only if the images do"
                                     : "labels go to device 0 and are never scattered");
  Law& scatter = test.law("scatter-bytes", "every device gets its chunk: Σx_i = S");
  Law& replicate = test.law("replicate-bytes", "each replica gets P + B");
  Law& gather =
      test.law("gather-bytes", on_each ? "no output leaves its device"
                                       : "device 0 gets each output chunk: O − o_0");
  Law& grads =
      test.law("grad-scatter-bytes", on_each ? "no output's gradient leaves its device"
                                             : "replicas get their gradients: O − o_0");
  Law& reduce = test.law("reduce-bytes", "each replica returns its gradients: P");
  std::optional<LossLaws> loss;
  if (on_each) loss.emplace(test);

  if (mode != "single" && mode != "dp" && mode != "dp-features" && !on_each) return;
  for (const Step& step : test.steps) {
    if (step.interrupted) continue;
    const Expected expected(test, step);
    if (!expected.has_devices() || !judge_facts(facts, step, expected)) continue;
    const Comparison moved(step);
    moved.judge_h2d(images, "images", expected.images());
    moved.judge_h2d(labels, "labels", expected.labels());
    moved.judge(scatter, reasons::scatter, expected.scatter());
    moved.judge(replicate, "replicate",
                expected.replicate(moved.modelled(reasons::replicate)));
    moved.judge(gather, reasons::gather, expected.gather());
    moved.judge(grads, reasons::grad_scatter, expected.grad_scatter());
    moved.judge(reduce, reasons::reduce,
                expected.reduce(moved.modelled(reasons::reduce)));
    if (loss) loss->judge(moved, expected);
  }
}

}  // namespace lockstep::tracer
