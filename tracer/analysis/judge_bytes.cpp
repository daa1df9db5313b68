// The conservation laws: exactly these bytes move, between exactly these places.
// k = number of chunks, x_i and o_i = bytes of chunk i of the input and the output,
// P and B = bytes of parameters and buffers.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "engine/plan/chunk.h"
#include "tracer/analysis/judge.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

struct Route {
  int64_t src, dst;
  auto operator<=>(const Route&) const = default;
};
using Ledger = std::map<Route, int64_t>;  ///< bytes from src to dst; never zero

std::string port_name(int64_t port) {
  if (port == kHost) return "host";
  return port == kNowhere ? "?" : fmt::format("device {}", port);
}

std::string why(const Event& copy) { return string_arg(copy.args, "why"); }

Route route_of(const Event& copy) {
  return {port_arg(copy.args, "src"), port_arg(copy.args, "dst")};
}

/// What must move in one step.
class Expected {
 public:
  Expected(const Case& the, const Step& step) : step_(step) {
    for (const Json& device : devices(the)) devices_.push_back(int_arg(device, "id"));
    std::sort(devices_.begin(), devices_.end());
    const Json& model = object_arg(the.trace.lockstep, "model");
    const Json& args = step.event->args;
    parameters_ =
        int_arg(args, "wrapped_parameter_bytes", int_arg(model, "parameter_bytes"));
    buffers_ = int_arg(args, "wrapped_buffer_bytes", int_arg(model, "buffer_bytes"));
    parallel_ = string_arg(the.trace.lockstep, "mode") != "single";
    backward_ = step.train && step.has_phase("backward");
  }

  bool has_devices() const { return !devices_.empty(); }

  /// The sizes into which the batch must be cut: whole when nothing is shared.
  std::vector<int64_t> chunks() const {
    if (!parallel_) return {step_.batch};
    return plan::chunk_sizes(step_.batch, static_cast<int64_t>(devices_.size()));
  }

  Ledger images() const {
    const bool moved = !parallel_ || step_.input_on_device;
    return one({kHost, first()}, moved ? step_.input_bytes : 0);
  }
  Ledger labels() const { return one({kHost, first()}, step_.label_bytes); }

  Ledger scatter() const {
    if (!parallel_) return {};
    const bool from_device = step_.input_on_device;
    return each(from_device ? 1 : 0, [&](size_t i) {
      const Route route = {from_device ? first() : kHost, devices_[i]};
      return std::pair(route, share(step_.input_bytes, i));
    });
  }
  /// `chained`: a library's broadcast, from each device to the next one.
  Ledger replicate(bool chained) const {
    const int64_t bytes = add_within_range(parameters_, buffers_);
    return each(1, [&](size_t i) {
      return std::pair(chained ? Route{devices_[i - 1], devices_[i]} : from_first(i),
                       bytes);
    });
  }
  Ledger gather() const {
    return each(1, [&](size_t i) {
      return std::pair(to_first(i), share(step_.output_bytes, i));
    });
  }
  Ledger grad_scatter() const {
    if (!backward_) return {};
    return each(1, [&](size_t i) {
      return std::pair(from_first(i), share(step_.output_bytes, i));
    });
  }
  /// `chained`: from each device to the one before it.
  Ledger reduce(bool chained) const {
    if (!backward_) return {};
    return each(1, [&](size_t i) {
      return std::pair(chained ? Route{devices_[i], devices_[i - 1]} : to_first(i),
                       parameters_);
    });
  }

 private:
  static const Json& devices(const Case& the) {
    static const Json none = Json::array();
    const auto found = the.trace.lockstep.find("devices");
    return found != the.trace.lockstep.end() && found->is_array() ? *found : none;
  }

  int64_t first() const { return devices_.front(); }
  Route from_first(size_t i) const { return {first(), devices_[i]}; }
  Route to_first(size_t i) const { return {devices_[i], first()}; }

  /// The bytes of chunk i: every sample has as many.
  int64_t share(int64_t bytes, size_t i) const {
    return bytes / step_.batch * step_.chunks[i];
  }

  static Ledger one(Route route, int64_t bytes) {
    return bytes == 0 ? Ledger{} : Ledger{{route, bytes}};
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
  int64_t parameters_ = 0, buffers_ = 0;
  bool parallel_ = false, backward_ = false;
};

constexpr int64_t kMaxBatch = int64_t{1} << 40;

/// The facts that a step states about itself must fit together before they can be
/// compared with anything.
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

/// Compares what moved with what had to move, route by route.
class Comparison {
 public:
  explicit Comparison(const Step& step) : step_(step) {}

  template <typename Counts>
  void judge(Law& law, const char* what, const Ledger& expected, Counts counts) const {
    Ledger moved = expected;
    for (auto& [route, bytes] : moved) bytes = 0;
    std::map<Route, int64_t> last_copy;
    for (const Event* task : step_.tasks) {
      if (!task->is("copy") || !counts(*task)) continue;
      int64_t& bytes = moved[route_of(*task)];
      bytes = add_within_range(bytes, int_arg(task->args, "bytes"));
      last_copy[route_of(*task)] = task->id;
    }
    for (const auto& [route, bytes] : moved) {
      const auto due = expected.find(route);
      const int64_t wanted = due == expected.end() ? 0 : due->second;
      const auto blamed = last_copy.find(route);
      const int64_t id = blamed == last_copy.end() ? step_.event->id : blamed->second;
      law.expect(bytes == wanted, id, [&] {
        return fmt::format("step {}: {} moved {} B from {} to {}, must be {} B",
                           step_.number, what, bytes, port_name(route.src),
                           port_name(route.dst), wanted);
      });
    }
  }

  void judge(Law& law, const char* what, const Ledger& expected) const {
    judge(law, what, expected, [&](const Event& copy) { return why(copy) == what; });
  }

  /// Did a library move it, which shows only what its algorithm prescribes?
  bool modelled(const char* what) const {
    return std::any_of(step_.tasks.begin(), step_.tasks.end(), [&](const Event* task) {
      return task->is("copy") && why(*task) == what && bool_arg(task->args, "modelled");
    });
  }

  void judge_h2d(Law& law, const char* tensor, const Ledger& expected) const {
    judge(law, tensor, expected, [&](const Event& copy) {
      return why(copy) == "h2d" && string_arg(copy.args, "tensor") == tensor;
    });
  }

 private:
  const Step& step_;
};

int64_t item_size(const std::string& dtype) {
  static const std::map<std::string, int64_t> sizes = {
      {"float64", 8},  {"int64", 8}, {"float32", 4}, {"int32", 4}, {"float16", 2},
      {"bfloat16", 2}, {"uint8", 1}, {"int8", 1},    {"bool", 1}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

/// Laws of each copy alone: where it stands, how large it is.
void judge_copies(Case& the) {
  Law& lanes = the.law("copies-on-receiver", "a copy stands on its receiver's lane");
  Law& sizes =
      the.law("copy-bytes", "a copy's bytes are its elements times their size");
  Law& scalars = the.law("d2h-scalars", "a scalar read moves one element");
  for (const Event& event : the.trace.events) {
    if (event.ph != 'X' || !event.is("copy")) continue;
    const Route route = route_of(event);
    lanes.expect(
        route.src != kNowhere && route.dst != kNowhere && route.src != route.dst,
        event.id, [&] {
          return fmt::format("{} goes from {} to {}: no copy between memories",
                             name_of(event), port_name(route.src),
                             port_name(route.dst));
        });
    const int64_t place = the.lanes.of(event).device;
    lanes.expect(place == route.dst, event.id, [&] {
      return fmt::format("{} goes to {}, but stands on a lane of {}", name_of(event),
                         port_name(route.dst), port_name(place));
    });

    const int64_t item = item_size(string_arg(event.args, "dtype"));
    const int64_t bytes = int_arg(event.args, "bytes", -1);
    sizes.expect(bytes >= 0, event.id, [&] {
      return fmt::format("{} does not say its `bytes`", name_of(event));
    });
    const auto shape = event.args.find("shape");
    if (item == 0 || shape == event.args.end() || !shape->is_array()) continue;
    double elements = 1;  // exact up to 2^53, and never overflows
    for (const int64_t length : ints_arg(event.args, "shape")) elements *= length;
    if (why(event) == "d2h" && elements == 1) {
      scalars.expect(bytes == item, event.id, [&] {
        return fmt::format("reading one {} moved {} B, must be {} B",
                           string_arg(event.args, "dtype"), bytes, item);
      });
    } else {
      sizes.expect(bytes == elements * item, event.id, [&] {
        return fmt::format("{} says {} B, but its shape has {} elements of {} B",
                           name_of(event), bytes, elements, item);
      });
    }
  }
}

}  // namespace

void judge_bytes(Case& the) {
  judge_copies(the);
  Law& facts = the.law("chunks", "a batch is cut as torch.chunk cuts it");
  Law& images = the.law("images-h2d", "images cross to device 0 once, or not at all");
  Law& labels = the.law("labels-h2d", "labels go to device 0 and are never scattered");
  Law& scatter = the.law("scatter-bytes", "every device gets its chunk: Σx_i = S");
  Law& replicate = the.law("replicate-bytes", "each replica gets P + B");
  Law& gather = the.law("gather-bytes", "device 0 gets each output chunk: O − o_0");
  Law& grads = the.law("grad-scatter-bytes", "replicas get their gradients: O − o_0");
  Law& reduce = the.law("reduce-bytes", "each replica's gradients come back: P");

  const std::string mode = string_arg(the.trace.lockstep, "mode");
  if (mode != "single" && mode != "dp" && mode != "dp-features") return;
  for (const Step& step : the.steps) {
    if (step.interrupted) continue;
    const Expected expected(the, step);
    if (!expected.has_devices() || !judge_facts(facts, step, expected)) continue;
    const Comparison moved(step);
    moved.judge_h2d(images, "images", expected.images());
    moved.judge_h2d(labels, "labels", expected.labels());
    moved.judge(scatter, "scatter", expected.scatter());
    moved.judge(replicate, "replicate",
                expected.replicate(moved.modelled("replicate")));
    moved.judge(gather, "gather", expected.gather());
    moved.judge(grads, "grad_scatter", expected.grad_scatter());
    moved.judge(reduce, "reduce", expected.reduce(moved.modelled("reduce")));
  }
}

}  // namespace lockstep::tracer
