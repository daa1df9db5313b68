// Lesson 17's models, and steps of micro-batches on two ranks.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/nn/layers.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/optim/sgd.h"
#include "engine/runtime/device_context.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/ranks.h"

class Averaged;  // the learner's
class NoSync;

namespace lockstep::lessons::lesson_17 {

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
inline nn::ModulePtr in_double(Make make) {
  nn::Construction construction;
  construction.dtype = DType::f64;
  construction.seed = 5;
  const nn::ConstructionScope scope(construction);
  return make();
}

/// y = w x, whose gradient is x.
inline nn::ModulePtr one_weight() {
  return std::make_shared<nn::Linear>(1, 1, nn::Init::constant(2));
}

inline nn::ModulePtr classifier() {
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<nn::Linear>(3, 4), std::make_shared<nn::ReLU>(),
      std::make_shared<nn::Linear>(4, 2)});
}

inline Tensor number_on(Device device, double value) {
  return ops::copy_to(counting({1, 1}, value), device, {"h2d", "number"});
}

inline double gradient(const Model& model) {
  return values(model.net()->parameters()[0].grad()).at(0);
}

/// Runs `work` on two ranks with a model of one weight. Returns the gradient of the
/// weight on each of them.
inline Numbers gradients(const Exam& exam,
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
inline Tensor input(const Rank& rank, int pass) {
  const double numbers[2][2] = {{1, 3}, {3, 4}};
  return number_on(rank.device, numbers[rank.rank][pass]);
}

const std::vector<int64_t> kRows{3, 3, 3, 1};

/// Returns rows [first, first + rows) of the data set, on a device.
inline std::pair<Tensor, Tensor> rows_of(Device device, int64_t first, int64_t rows) {
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
inline Parts parts_of(const Rank& rank, int step) {
  Parts parts;
  int64_t first = 20 * step + 10 * rank.rank;
  for (const int64_t rows : kRows) {
    parts.push_back(rows_of(rank.device, first, rows));
    first += rows;
  }
  return parts;
}

inline optim::Sgd sgd_of(const nn::ModulePtr& net, double lr) {
  return {net->named_parameters(), {.lr = lr, .momentum = 0, .weight_decay = 0}};
}

inline Numbers all_values(const Tensors& tensors) {
  Numbers all;
  for (const Tensor& tensor : tensors) {
    const Numbers own = tensor.defined() ? values(tensor) : Numbers{};
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

/// Runs train_step `steps` times on two ranks. Returns the weights of each rank.
inline std::vector<Numbers> trained(const Exam& exam, int steps) {
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
inline Numbers trained_alone(int steps, const std::function<double(int64_t)>& share) {
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

inline bool nearly(const Numbers& a, const Numbers& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!(std::abs(a[i] - b[i]) < 1e-10)) return false;
  }
  return a.size() == b.size();
}

/// Returns the misconception that explains the weights after one step.
inline std::string why_not(const Numbers& got, const Numbers& start) {
  const auto count = static_cast<double>(kRows.size());
  if (nearly(got, start)) {
    return "the weights did not change: optimizer.step() is missing, or every share is "
           "0, which is what 3 / 10 is among integers";
  }
  if (nearly(got, trained_alone(1, [](int64_t) { return 1; }))) {
    return "gradients add up: without dividing, four micro-batches give a gradient "
           "four times as large";
  }
  if (nearly(got, trained_alone(1, [&](int64_t) { return 1 / count; }))) {
    return "the micro-batches count equally here, but they have 3, 3, 3 and 1 rows: "
           "each one's share is the number of its rows, divided by that of all rows";
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

/// What a forward hook finds when the model is called.
struct AtCall {
  bool gradients;   ///< those of an earlier micro-batch are there
  Numbers weights;  ///< of the first layer
};

/// Returns what a hook finds on rank 0, at each call of the model in one step.
inline std::vector<AtCall> calls_in_a_step(const Exam& exam) {
  std::vector<AtCall> calls;
  on_ranks(2, kTogether, kHangs, [&](Rank& rank) {
    const Model model(exam, rank, in_double(classifier));
    optim::Sgd sgd = sgd_of(model.net(), 0.5);
    if (rank.rank == 0) {
      model.net()->register_forward_hook(
          [&](nn::Module& net, const Tensor&, const Tensor&) -> Tensor {
            const Tensor weight = net.parameters()[0];
            calls.push_back({weight.grad().defined(), values(weight)});
            return {};
          });
    }
    model.step(sgd, parts_of(rank, 0));
    runtime::context(rank.device).synchronize();
  });
  return calls;
}

}  // namespace lockstep::lessons::lesson_17
