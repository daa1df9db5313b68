#include <functional>
#include <limits>
#include <map>

#include "engine/autograd/engine.h"
#include "engine/models/resnet.h"
#include "engine/ops/copy.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"

namespace lockstep::lessons::lesson_01 {

using autograd::Edge;
using Numbers = std::vector<double>;

/// The engine's walk, saved before the learner's library is loaded.
const std::function<autograd::TapeWalk> engines_walk =
    autograd::tape_walk().reference();

constexpr Device kDevice{DeviceType::reference, 0};

Tensor on_device(const Numbers& numbers) {
  const Tensor host =
      Tensor::from(numbers, {static_cast<int64_t>(numbers.size())}, DType::f64);
  return ops::copy_to(host, kDevice, {"h2d", "numbers"});
}

Tensor leaf(const Numbers& numbers) {
  return on_device(numbers).detach().set_requires_grad(true);
}

/// Returns no numbers for an undefined tensor.
Numbers numbers_of(const Tensor& tensor) {
  return tensor.defined() ? values(tensor) : Numbers{};
}

// --- an operation ---

Tensor product(const Exam& exam, const Tensor& a, const Tensor& b) {
  using Product = void(const Tensor&, const Tensor&, Tensor&);
  Tensor y;
  exam.function<Product>("lesson_product")(a, b, y);
  return y;
}

/// Returns d(Σ dy · product(a, b)) / da by perturbing each element of `a`; d/db if
/// `second`.
Numbers finite_differences(const Exam& exam, Numbers a, Numbers b, const Numbers& dy,
                           bool second) {
  const double step = 1e-3;
  Numbers& moved = second ? b : a;
  Numbers gradient;
  for (double& element : moved) {
    const double middle = element;
    double difference = 0;
    for (double sign : {1.0, -1.0}) {
      element = middle + sign * step;
      const Numbers y = values(product(exam, on_device(a), on_device(b)));
      for (size_t i = 0; i < y.size(); ++i) difference += sign * dy[i] * y[i];
    }
    element = middle;
    gradient.push_back(difference / (2 * step));
  }
  return gradient;
}

LESSON_TEST(1, product_gradient, "product's gradient equals finite differences") {
  const Numbers a = {1, -2, 3}, b = {5, 7, -0.5}, dy = {1, 10, 100};
  const Tensor left = leaf(a), right = leaf(b);
  const Tensor y = product(exam, left, right);
  exam.that(y.requires_grad(), "product(a, b)", "a tensor with a grad_fn",
            "a tensor without a link to a and b",
            {"set_history attaches the node to y: without it the tape ends here, and a "
             "and b receive no gradient",
             "A note on the tape"});
  engines_walk(autograd::gradient_edge(y), on_device(dy));
  const Because because{
      "by the product rule da = dy · b and db = dy · a: the incoming gradient is a "
      "factor, and each input's gradient contains the other input",
      "A note on the tape"};
  exam.close("da of a · b", finite_differences(exam, a, b, dy, false),
             numbers_of(left.grad()), 1e-6, because);
  exam.close("db of a · b", finite_differences(exam, a, b, dy, true),
             numbers_of(right.grad()), 1e-6, because);
}

// --- the walk, over nodes that record what they receive ---

/// For each node and each of its runs: the gradients of its inputs.
using Log = std::map<std::string, std::vector<std::vector<Numbers>>>;

/// Sums what its inputs receive, and sends that sum times 2 along its first edge, times
/// 3 along its second, …; nothing along the edge `mute`.
class Probe : public autograd::Node {
 public:
  Probe(const char* name, uint32_t inputs, Log& log) : Node(name, kDevice), log_(log) {
    output_count = inputs;
    log_[name];
  }

  Tensors apply(Tensors grads) override {
    Tensor sum;
    auto& given = log_[name()].emplace_back();
    for (const Tensor& grad : grads) {
      given.push_back(numbers_of(grad));
      if (grad.defined()) sum = sum.defined() ? ops::add(sum, grad) : grad;
    }
    Tensors results(next_edges.size());
    for (int i = 0; i < std::ssize(next_edges); ++i) {
      if (i != mute && sum.defined()) results[i] = ops::scale(sum, i + 2);
    }
    return results;
  }

  int mute = -1;

 private:
  Log& log_;
};

/// Nodes are created from leaf to root, as an operation's inputs exist before it.
struct Graph {
  Log log;

  std::shared_ptr<Probe> node(const char* name, std::vector<Edge> edges,
                              uint32_t inputs = 1) {
    auto made = std::make_shared<Probe>(name, inputs, log);
    made->next_edges = std::move(edges);
    return made;
  }
  void walk_from(const NodePtr& root, uint32_t input = 0) {
    autograd::tape_walk()({root, input}, on_device({1, -10}));
  }
  /// Returns what a node received in its first run; nothing if it never ran.
  std::vector<Numbers> given(const char* name) const {
    const auto& runs = log.at(name);
    return runs.empty() ? std::vector<Numbers>{} : runs.front();
  }
  Numbers sum_at(const char* name) const {
    const std::vector<Numbers> inputs = given(name);
    return inputs.empty() ? Numbers{} : inputs.front();
  }
  std::map<std::string, size_t> runs() const {
    std::map<std::string, size_t> counts;
    for (const auto& [name, given] : log) counts[name] = given.size();
    return counts;
  }
};

LESSON_TEST(1, chain,
            "a chain of nodes: each runs once, with the result of the previous one") {
  Graph graph;
  const auto leaf = graph.node("leaf", {});
  const auto middle = graph.node("middle", {{leaf}, {}});  // one edge leads nowhere
  const auto root = graph.node("root", {{middle}});
  graph.walk_from(root);
  exam.equal("root → middle → leaf: how often each ran",
             {{"leaf", 1}, {"middle", 1}, {"root", 1}}, graph.runs(),
             {"a node that has received all of its gradients is ready and runs; a node "
              "without edges (a parameter's AccumulateGrad) runs like all others",
              "When a node may run"});
  exam.close("the gradient passed to the leaf", {4, -40}, graph.sum_at("leaf"), 0,
             {"pass on a node's results, not its inputs: that is the chain rule",
              "When a node may run"});
}

LESSON_TEST(1, diamond,
            "two paths to one node: it waits for both and adds their gradients") {
  // root ─→ short ───────→ shared → leaf
  //    └──→ long → longer ──┘
  Graph graph;
  const auto leaf = graph.node("leaf", {});
  const auto shared = graph.node("shared", {{leaf}});
  const auto longer = graph.node("longer", {{shared}});
  const auto long_way = graph.node("long", {{longer}});
  const auto short_way = graph.node("short", {{shared}});
  const auto root = graph.node("root", {{short_way}, {long_way}});
  graph.walk_from(root);
  const std::map<std::string, size_t> once = {{"leaf", 1}, {"long", 1},   {"longer", 1},
                                              {"root", 1}, {"shared", 1}, {"short", 1}};
  exam.equal("how often each node ran", once, graph.runs(),
             {"`shared` receives two gradients and `leaf` one: count each edge once, "
              "and run a node once a gradient has arrived along every edge to it",
              "When a node may run"});
  exam.close(
      "the gradient passed to `shared`: 2 · 2 along the short path plus 3 · 2 · 2 "
      "along the long one",
      {16, -160}, graph.sum_at("shared"), 0,
      {"a tensor that was used twice receives the sum of both gradients: wait for the "
       "second, and add it to the first",
       "When a node may run"});
}

LESSON_TEST(1, inputs, "a gradient goes to the input that its edge names") {
  Graph graph;
  const auto second_only = graph.node("second_only", {}, 3);
  const auto both = graph.node("both", {}, 2);
  const auto a = graph.node("a", {{both, 1}, {second_only, 1}});
  const auto root = graph.node("root", {{both, 0}, {a}}, 2);
  graph.walk_from(root, 1);
  const auto expect = [&](const char* name, const std::vector<Numbers>& given,
                          const std::string& likely) {
    exam.equal(fmt::format("the gradients of the inputs of `{}`", name), given,
               graph.given(name), {likely, "Which input"});
  };
  expect("root", {{}, {1, -10}},
         "the walk starts at input root.input_nr, which need not be 0");
  expect("both", {{2, -20}, {6, -60}},
         "an operation with two outputs has a node with two inputs, and their "
         "gradients must not be mixed: store each at index edge.input_nr");
  expect("second_only", {{}, {9, -90}, {}},
         "a node requires output_count gradients, even if only one has arrived: the "
         "others stay undefined");
}

LESSON_TEST(1, undefined, "an undefined gradient counts as arrived") {
  Graph graph;
  const auto leaf = graph.node("leaf", {});
  const auto a = graph.node("a", {{leaf}});
  a->mute = 0;
  const auto b = graph.node("b", {{leaf}});
  const auto root = graph.node("root", {{a}, {b}});
  graph.walk_from(root);
  exam.equal("how often each node ran, when `a` sends an undefined gradient to `leaf`",
             {{"a", 1}, {"b", 1}, {"leaf", 1}, {"root", 1}}, graph.runs(),
             {"an undefined gradient stands for zero. It adds nothing, but it has "
              "arrived: count it",
              "Which input"});
}

// --- in a model ---

LESSON_TEST(1, one_tensor_two_owners,
            "adding to one gradient does not change another") {
  // Both additions pass the gradient that they receive to both sides without copying.
  const Tensor x = leaf({1}), z = leaf({1});
  const Tensor a = ops::scale(x, 2), b = ops::scale(z, 3);
  const Tensor y = ops::add(ops::add(a, b), a);
  autograd::tape_walk()(autograd::gradient_edge(y), on_device({1}));
  exam.close(
      "the gradient of z in (2x + 3z) + 2x", {3}, numbers_of(z.grad()), 0,
      {"an addition passes one tensor to both of its sides. Adding to it in place "
       "changes the other side's gradient: accumulate_grad checks whether it is shared",
       "When a node may run"});
}

LESSON_TEST(1, residual_block,
            "ResNet's block gets the same gradients as from the engine's walk") {
  nn::ConstructionScope doubles({.dtype = DType::f64, .seed = 1});
  models::BasicBlock block(2, 3, 2);
  block.to(kDevice);
  Tensor x = ops::copy_to(counting({2, 2, 4, 4}, -30), kDevice, {"h2d", "x"});
  x.set_requires_grad(true);
  std::vector<nn::Named<Tensor>> all = block.named_parameters();
  all.push_back({"x", x});
  const auto gradients_by = [&](const auto& walk) {
    for (auto& [name, tensor] : all) tensor.set_grad({});
    const Tensor y = block(x);
    const Tensor dy = ops::copy_to(counting(y.sizes(), -3), kDevice, {"h2d", "dy"});
    walk(autograd::gradient_edge(y), dy);
    std::vector<Numbers> gradients;
    for (const auto& [name, tensor] : all)
      gradients.push_back(numbers_of(tensor.grad()));
    return gradients;
  };
  const auto expected = gradients_by(engines_walk);
  const auto got = gradients_by(autograd::tape_walk());
  for (size_t i = 0; i < all.size(); ++i) {
    exam.close(
        "the gradient of " + all[i].name, expected[i], got[i], 1e-9,
        {"x has two gradients, one from conv1 and one from the shortcut. An "
         "AccumulateGrad takes priority only once it is ready: if it runs after "
         "the first of the two arrives, it accumulates only part of the gradient",
         "When a node may run"});
  }
}

LESSON_TEST(1, latest_first, "ResNet18's tape unwinds in reverse, leaves first") {
  const tracer::Trace& trace = exam.train(
      "-a resnet18 --dataset generated --device-type null --gpu 0 -b 4 --steps 1",
      {"the engine trains with your walk; its output is printed below",
       "Latest first"});
  const auto leaves = events_of(trace, "op", "AccumulateGrad");
  exam.equal("nodes in the trace that accumulate a parameter's gradient",
             events_of(trace, "mark", "grad_hook").size(), leaves.size(),
             {"run nodes with autograd::apply_node: it writes them into the trace and "
              "keeps their computations off the tape",
              "Latest first"});
  int64_t last = std::numeric_limits<int64_t>::max(), before_fc = 0, fc = tracer::kNone;
  for (const tracer::Event& event : trace.events) {
    if (event.name == "grad_hook" && text(event, "param") == "fc.weight") fc = event.id;
    if (event.fwd == tracer::kNone) continue;
    if (fc == tracer::kNone) ++before_fc;
    const tracer::Event* forward = event_with_id(trace, event.fwd);
    exam.that(
        event.fwd < last, "the operations of backward",
        "each belongs to an earlier forward operation than the previous one",
        fmt::format("{} belongs to {}, which ran later", event.name, forward->name),
        {"of the ready nodes, take the latest in forward order: ReadyNodes keeps it on "
         "top",
         "Latest first", event.id});
    last = event.fwd;
  }
  exam.at_most("operations of backward before the gradient of fc.weight is ready",
               int64_t{3}, before_fc,
               {"parameters come last in your walk. A gradient can be sent to other "
                "devices only after it has been accumulated, so an AccumulateGrad that "
                "is ready runs first",
                "Latest first", fc});
}

}  // namespace lockstep::lessons::lesson_01
