#include <cmath>
#include <functional>
#include <memory>
#include <mutex>

#include "engine/nn/layers.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/optim/sgd.h"
#include "engine/runtime/device_context.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"
#include "lessons/machine/ranks.h"

class Averaged;
class NoSync;

namespace lockstep::lessons {
namespace {

using Numbers = std::vector<double>;
using Parts = std::vector<std::pair<Tensor, Tensor>>;

constexpr const char* kTogether = "all ranks average together";
const Because kHangs{
    "the ranks did not all-reduce equally often, so one waits for the others: which "
    "pass averages must not depend on the rank",
    "Decided on the way in"};

/// The learner's functions, called as Python would call the wrapper.
class Model {
 public:
  Model(const Exam& exam, const Rank& rank, nn::ModulePtr net)
      : exam_(exam), net_(std::move(net)) {
    net_->to(rank.device);
    model_ = exam.function<::Averaged*(
        const nn::ModulePtr&, const std::shared_ptr<distributed::ProcessGroup>&)>(
        "lesson_wrap")(net_, rank.group);
  }

  Tensor operator()(const Tensor& input) const {
    Tensor output;
    exam_.function<void(::Averaged&, const Tensor&, Tensor&)>("lesson_forward")(
        *model_, input, output);
    return output;
  }
  void step(optim::Optimizer& optimizer, const Parts& parts) const {
    exam_.function<void(::Averaged&, optim::Optimizer&, const Parts&)>("lesson_step")(
        *model_, optimizer, parts);
  }
  /// `with model.no_sync():`
  class Alone {
   public:
    explicit Alone(const Model& model)
        : end_(model.exam_.function<void(::NoSync*)>("lesson_end")),
          guard_(model.exam_.function<::NoSync*(::Averaged&)>("lesson_no_sync")(
              *model.model_)) {}
    ~Alone() { end_(guard_); }

   private:
    void (*end_)(::NoSync*);
    ::NoSync* guard_;
  };

  const nn::ModulePtr& net() const { return net_; }

 private:
  const Exam& exam_;
  nn::ModulePtr net_;
  ::Averaged* model_;  // never deleted: the parameters' hooks keep using it
};

/// Returns a module made in double on the host.
template <typename Make>
nn::ModulePtr in_double(Make make) {
  nn::Construction construction;
  construction.dtype = DType::f64;
  construction.seed = 5;
  const nn::ConstructionScope scope(construction);
  return make();
}

/// y = w x, whose gradient is x.
nn::ModulePtr one_weight() {
  return std::make_shared<nn::Linear>(1, 1, nn::Init::constant(2));
}

nn::ModulePtr classifier() {
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<nn::Linear>(3, 4), std::make_shared<nn::ReLU>(),
      std::make_shared<nn::Linear>(4, 2)});
}

Tensor number_on(Device device, double value) {
  return ops::copy_to(counting({1, 1}, value), device, {"h2d", "number"});
}

double gradient(const Model& model) {
  return values(model.net()->parameters()[0].grad()).at(0);
}

/// Runs `work` on two ranks with a model of one weight. Returns the gradient of the
/// weight on each of them.
Numbers gradients(const Exam& exam,
                  const std::function<void(const Model&, const Rank&)>& work) {
  Numbers got(2);
  on_ranks(2, kTogether, kHangs, [&](Rank& rank) {
    const Model model(exam, rank, in_double(one_weight));
    work(model, rank);
    runtime::context(rank.device).synchronize();
    got[rank.rank] = gradient(model);
  });
  return got;
}

/// Rank 0's numbers are 1 and 3, rank 1's are 3 and 4.
Tensor input(const Rank& rank, int pass) {
  const double numbers[2][2] = {{1, 3}, {3, 4}};
  return number_on(rank.device, numbers[rank.rank][pass]);
}

LESSON_TEST(17, averages, "without no_sync, backward averages") {
  const Numbers got = gradients(exam, [](const Model& model, const Rank& rank) {
    model(input(rank, 0)).backward();
  });
  exam.close("gradients of the two ranks, whose own are 1 and 3", {2, 2}, got, 1e-12,
             {"after a backward pass that averages, every rank has the mean: `average` "
              "is called once, when the pass is over",
              "Who decides"});
}

LESSON_TEST(17, alone, "inside no_sync, it does not") {
  const Numbers got = gradients(exam, [](const Model& model, const Rank& rank) {
    const Model::Alone alone(model);
    model(input(rank, 0)).backward();
  });
  exam.close("gradients of the two ranks, whose own are 1 and 3", {1, 3}, got, 1e-12,
             {"a forward pass inside no_sync begins a backward pass that does not "
              "average: every rank keeps its own gradient",
              "Who decides"});
}

LESSON_TEST(17, decided_by_forward, "it is decided by the forward pass") {
  const Because because{
      "the forward pass decides: a backward pass averages if its forward pass was "
      "outside of no_sync, wherever backward is called",
      "Decided on the way in"};
  Numbers got = gradients(exam, [](const Model& model, const Rank& rank) {
    Tensor output;
    {
      const Model::Alone alone(model);
      output = model(input(rank, 0));
    }
    output.backward();  // outside
  });
  exam.close("forward inside no_sync, backward outside: the ranks' own gradients",
             {1, 3}, got, 1e-12, because);
  got = gradients(exam, [](const Model& model, const Rank& rank) {
    const Tensor output = model(input(rank, 0));
    const Model::Alone alone(model);
    output.backward();  // inside
  });
  exam.close("forward outside of no_sync, backward inside: the mean", {2, 2}, got,
             1e-12, because);
}

LESSON_TEST(17, restores, "no_sync leaves everything as it was") {
  const Because because{
      "the guard's end restores what was there at its beginning. Inside another "
      "no_sync, that is `false`",
      "A guard restores"};
  Numbers got = gradients(exam, [](const Model& model, const Rank& rank) {
    const Model::Alone outer(model);
    {
      const Model::Alone inner(model);
    }
    model(input(rank, 0)).backward();
  });
  exam.close("after an inner no_sync, still inside an outer one", {1, 3}, got, 1e-12,
             because);
  got = gradients(exam, [](const Model& model, const Rank& rank) {
    const Model::Alone outer(model);
    const Model::Alone inner(model);
    model(input(rank, 0)).backward();
  });
  exam.close("inside two of them", {1, 3}, got, 1e-12, because);
  got = gradients(exam, [](const Model& model, const Rank& rank) {
    {
      const Model::Alone alone(model);
    }
    model(input(rank, 0)).backward();
  });
  exam.close("after no_sync", {2, 2}, got, 1e-12, because);
}

LESSON_TEST(17, sum_is_averaged, "the last pass averages the sum of all") {
  const Numbers got = gradients(exam, [](const Model& model, const Rank& rank) {
    {
      const Model::Alone alone(model);
      model(input(rank, 0)).backward();
    }
    model(input(rank, 1)).backward();
  });
  exam.close("1 + 3 on rank 0 and 3 + 4 on rank 1: the mean of 4 and 7", {5.5, 5.5},
             got, 1e-12,
             {"`.grad` holds the sum of all passes when the last one ends; that sum is "
              "what is averaged",
              "The sum travels"});
}

// --- train_step

const std::vector<int64_t> kRows{3, 3, 3, 1};

/// Returns rows [first, first + rows) of the data set, on a device.
std::pair<Tensor, Tensor> rows_of(Device device, int64_t first, int64_t rows) {
  Numbers images, labels;
  for (int64_t i = 3 * first; i < 3 * (first + rows); ++i) {
    images.push_back(std::sin(static_cast<double>(i)));
  }
  for (int64_t i = first; i < first + rows; ++i) {
    labels.push_back(static_cast<double>(i % 2));
  }
  const auto on = [&](const Tensor& host) {
    return ops::copy_to(host, device, {"h2d", "rows"});
  };
  return {on(Tensor::from(images, {rows, 3}, DType::f64)),
          on(Tensor::from(labels, {rows}, DType::i64))};
}

/// Returns the micro-batches of a rank in a step.
Parts parts_of(const Rank& rank, int step) {
  Parts parts;
  int64_t first = 20 * step + 10 * rank.rank;
  for (const int64_t rows : kRows) {
    parts.push_back(rows_of(rank.device, first, rows));
    first += rows;
  }
  return parts;
}

optim::Sgd sgd_of(const nn::ModulePtr& net, double lr) {
  return {net->named_parameters(), {.lr = lr, .momentum = 0, .weight_decay = 0}};
}

Numbers all_values(const Tensors& tensors) {
  Numbers all;
  for (const Tensor& tensor : tensors) {
    const Numbers own = tensor.defined() ? values(tensor) : Numbers{};
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

/// Runs train_step `steps` times on two ranks. Returns the weights of each rank.
std::vector<Numbers> trained(const Exam& exam, int steps) {
  std::vector<Numbers> got(2);
  on_ranks(2, kTogether, kHangs, [&](Rank& rank) {
    const Model model(exam, rank, in_double(classifier));
    optim::Sgd sgd = sgd_of(model.net(), 0.5);
    for (int step = 0; step < steps; ++step) model.step(sgd, parts_of(rank, step));
    runtime::context(rank.device).synchronize();
    got[rank.rank] = all_values(model.net()->parameters());
  });
  return got;
}

/// Returns the weights after the same steps on one device, with batches of 20 rows.
/// Each micro-batch's mean loss is multiplied by `share(rows)`.
Numbers trained_alone(int steps, const std::function<double(int64_t)>& share) {
  const Device device{DeviceType::reference, 0};
  const nn::ModulePtr net = in_double(classifier);
  net->to(device);
  optim::Sgd sgd = sgd_of(net, 0.5);
  for (int step = 0; step < steps; ++step) {
    sgd.zero_grad();
    int64_t first = 20 * step;
    for (int rank = 0; rank < 2; ++rank) {
      for (const int64_t rows : kRows) {
        const auto [images, labels] = rows_of(device, first, rows);
        const Tensor mean = ops::cross_entropy((*net)(images), labels);
        ops::scale(mean, share(rows) / 2).backward();
        first += rows;
      }
    }
    sgd.step();
  }
  return all_values(net->parameters());
}

bool nearly(const Numbers& a, const Numbers& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!(std::abs(a[i] - b[i]) < 1e-10)) return false;
  }
  return a.size() == b.size();
}

/// Returns the misconception that explains the weights after one step.
std::string why_not(const Numbers& got, const Numbers& start) {
  const auto count = static_cast<double>(kRows.size());
  if (nearly(got, start))
    return "the weights did not change: optimizer.step() is missing";
  if (nearly(got, trained_alone(1, [](int64_t) { return 1; }))) {
    return "gradients add up: without dividing, four micro-batches give a gradient "
           "four "
           "times as large";
  }
  if (nearly(got, trained_alone(1, [&](int64_t) { return 1 / count; }))) {
    return "the micro-batches count equally here, but they have 3, 3, 3 and 1 rows: "
           "each "
           "one's share is its rows of all rows";
  }
  if (nearly(got, trained_alone(1, [](int64_t rows) { return rows / 20.0; }))) {
    return "half of the gradient: `average` has divided by the number of ranks already";
  }
  const auto only_last = [](int64_t rows) { return rows == 1 ? 0.1 : 0; };
  if (nearly(got, trained_alone(1, only_last))) {
    return "only the last micro-batch counts: gradients are cleared once per step, not "
           "before each pass";
  }
  return "one step: clear the gradients, add those of all micro-batches, each with its "
         "share, then step once";
}

LESSON_TEST(17, same_on_all_ranks, "after a step, all ranks have the same weights") {
  const std::vector<Numbers> got = trained(exam, 1);
  exam.close(
      "weights of rank 1, compared with rank 0's", got[0], got[1], 1e-12,
      {"the ranks drift apart: the pass that averages must be the last one, when "
       "`.grad` holds all micro-batches",
       "The sum travels"});
}

LESSON_TEST(17, one_batch, "four micro-batches train as one batch does") {
  const auto share = [](int64_t rows) { return static_cast<double>(rows) / 10; };
  const Numbers start = all_values(in_double(classifier)->parameters());
  const Numbers first = trained(exam, 1)[0];
  const std::string likely = why_not(first, start);
  exam.close("weights after a step of 3, 3, 3 and 1 rows on each of 2 ranks",
             trained_alone(1, share), first, 1e-10, {likely, "Whose mean?"});
  exam.close("weights after three steps", trained_alone(3, share), trained(exam, 3)[0],
             1e-10,
             {"gradients of the step before are still there: clear them at the "
              "beginning of each step",
              "Whose mean?"});
}

/// Returns how often rank 0 all-reduces a gradient during `work`.
size_t all_reduces(const std::function<void()>& work) {
  const tracer::Trace trace = recorded(2, work);
  size_t calls = 0;
  for (const tracer::Event* event : events_of(trace, "collective")) {
    const bool gradient = event->args.contains("params");
    if (gradient && number(*event, "rank") == 0) ++calls;
  }
  return calls;
}

LESSON_TEST(17, once, "a backward pass averages each gradient once") {
  const size_t calls = all_reduces([&] {
    gradients(exam, [](const Model& model, const Rank& rank) {
      model(input(rank, 0)).backward();
    });
  });
  exam.equal(
      "all-reduces of 2 parameters' gradients in a backward pass", size_t{2}, calls,
      {"`average` treats all parameters, so it is queued once in a pass, not for "
       "each gradient: that is what `queued_` is for",
       "Who decides"});
}

LESSON_TEST(17, one_message, "gradients travel once per step") {
  const size_t calls = all_reduces([&] { trained(exam, 1); });
  exam.at_most(
      "all-reduces of 4 parameters' gradients on rank 0, in one step of 4 "
      "micro-batches",
      size_t{4}, calls,
      {"all but the last pass can be silent. What matters is that the forward pass "
       "is "
       "inside no_sync",
       "Decided on the way in"});
}

}  // namespace
}  // namespace lockstep::lessons
