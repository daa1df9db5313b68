// Ways of sharing the work of training, behind one interface, so that each can be
// compared with any other: train some steps, return losses, gradients and weights.
#pragma once

#include <functional>

#include "engine/plan/chunk.h"
#include "engine/sharing/local_sgd.h"
#include "engine/train/train_step.h"
#include "tests/engine/sharing/nets.h"

namespace lockstep::test {

/// What is trained: a net, and the rows of each step's batch, of which device i (rank
/// i) gets chunk i.
struct Problem {
  std::function<nn::ModulePtr()> make;
  std::vector<int64_t> image;
  int64_t classes = 2;
  std::vector<int64_t> rows;      ///< of each step
  std::vector<std::string> cuts;  ///< into the four stages of a pipeline
  int devices = 4;
  optim::AnyOptions optimizer = optim::SgdOptions{0.05, 0.9, 1e-2};

  nn::ModulePtr model(Device device) const {
    nn::Construction construction;
    construction.dtype = DType::f64;
    construction.fill = false;
    nn::ConstructionScope scope(construction);
    const nn::ModulePtr made = make();
    made->assign_paths("");
    fill_golden(*made, DType::f64);
    made->to(device);
    return made;
  }
  Batch batch(size_t step) const { return Batch::golden(rows[step], image, classes); }
};

/// What a way of training made of a problem. With ranks, a loss or a gradient is the
/// mean over the ranks, and the rest is rank 0's.
struct Outcome {
  std::vector<double> losses;      ///< of each step
  std::vector<Tensors> gradients;  ///< of each step, in the order of the parameters
  Tensors weights;                 ///< after the last step, like the rest
  Tensors buffers;                 ///< running statistics
  Tensors state;                   ///< the optimizer's
};

using Way = std::function<Outcome(const Problem&)>;

inline Tensors on_host(const Tensors& tensors) {
  Tensors copies;
  for (const Tensor& tensor : tensors) {
    copies.push_back(ops::copy_to(tensor.detach(), kHost, {"d2h", "test"}));
  }
  return copies;
}

inline Tensors gradients_on_host(const nn::Module& model) {
  Tensors grads;
  for (const Tensor& parameter : model.parameters()) grads.push_back(parameter.grad());
  return on_host(grads);
}

/// The weights that count as the result, as before an evaluation.
inline void settle(sharing::Sharing* sharing) {
  if (!sharing) return;
  if (!sharing->in_step()) sharing->meet(false);
  sharing->settle();
}

/// Trains with a TrainStep. `make_step(step, i)` makes optimizer step `i` and returns
/// its loss.
template <typename MakeStep>
Outcome train_by(const Problem& problem, const nn::ModulePtr& model,
                 const nn::ModulePtr& callable, const train::TrainStepOptions& options,
                 MakeStep make_step) {
  train::TrainStep step(model, callable, problem.optimizer, options);
  if (options.sharing) options.sharing->attach(step.optimizer(), problem.optimizer);
  Outcome outcome;
  for (size_t i = 0; i < problem.rows.size(); ++i) {
    outcome.losses.push_back(make_step(step, i));
    outcome.gradients.push_back(gradients_on_host(*model));
  }
  settle(options.sharing);
  outcome.weights = on_host(model->parameters());
  outcome.buffers = on_host(model->buffers());
  for (const auto& [name, tensor] : step.optimizer().state()) {
    outcome.state.push_back(ops::copy_to(tensor, kHost, {"d2h", "test"}));
  }
  return outcome;
}

/// `inputs(i)` returns what step `i` is called with.
template <typename Inputs>
Outcome train(const Problem& problem, const nn::ModulePtr& model,
              const nn::ModulePtr& callable, const train::TrainStepOptions& options,
              Inputs inputs) {
  return train_by(problem, model, callable, options,
                  [&](train::TrainStep& step, size_t i) {
                    const Batch batch = inputs(i);
                    return ops::item(step.run(batch.images, batch.labels).loss);
                  });
}

inline Outcome by_one_device(const Problem& problem) {
  ops::manual_seed(1);
  const nn::ModulePtr model = problem.model(reference(0));
  return train(problem, model, model, {.accuracy = false},
               [&](size_t i) { return problem.batch(i).on(reference(0)); });
}

/// With `wrap(model, devices)`; labels go to device 0 if the wrapper gathers there.
template <typename Wrapper>
Outcome by_wrapper(const Problem& problem, bool labels_on_device) {
  ops::manual_seed(1);
  const nn::ModulePtr model = problem.model(reference(0));
  const auto wrapper = std::make_shared<Wrapper>(model, devices(problem.devices));
  return train(problem, model, wrapper, {.accuracy = false}, [&](size_t i) {
    Batch batch = problem.batch(i);
    if (labels_on_device) batch.labels = on(reference(0), batch.labels);
    return batch;
  });
}

inline Outcome by_data_parallel(const Problem& problem) {
  return by_wrapper<parallel::DataParallel>(problem, true);
}

inline Outcome by_criterion(const Problem& problem) {
  return by_wrapper<parallel::DataParallelModel>(problem, false);
}

inline Outcome by_loss_in_forward(const Problem& problem) {
  return by_wrapper<parallel::LossInForward>(problem, false);
}

/// Returns chunk `rank` of step `step`, on a device.
inline Batch chunk_of(const Problem& problem, size_t step, int rank, Device device) {
  const auto sizes = plan::chunk_sizes(problem.rows[step], problem.devices);
  int64_t first = 0;
  for (int r = 0; r < rank; ++r) first += sizes[r];
  return problem.batch(step).rows(first, sizes[rank]).on(device);
}

/// What a rank trains with: the callable, and its way of sharing weights.
struct OfRank {
  nn::ModulePtr callable;
  std::unique_ptr<sharing::Sharing> sharing;
};

/// Trains on ranks as threads. `prepare(model, rank)` returns an OfRank. The losses and
/// gradients are the means over the ranks.
template <typename Prepare>
std::vector<Outcome> on_each_rank(const Problem& problem, Prepare prepare) {
  ops::manual_seed(1);
  std::vector<Outcome> of(problem.devices);
  on_ranks({.size = problem.devices}, [&](Rank& rank) {
    const nn::ModulePtr model = problem.model(rank.device);
    const OfRank mine = prepare(model, rank);
    of[rank.rank] = train(
        problem, model, mine.callable,
        {.accuracy = false, .sharing = mine.sharing.get()},
        [&](size_t step) { return chunk_of(problem, step, rank.rank, rank.device); });
  });
  return of;
}

inline void add_to(Tensor& sum, const Tensor& term, double factor) {
  auto* values = sum.data<double>();
  const auto* more = term.data<double>();
  for (int64_t i = 0; i < sum.numel(); ++i) values[i] += factor * more[i];
}

inline Outcome mean_of_ranks(const std::vector<Outcome>& of) {
  const double share = 1.0 / static_cast<double>(of.size());
  Outcome mean = of[0];
  for (size_t step = 0; step < mean.losses.size(); ++step) {
    for (size_t r = 1; r < of.size(); ++r) mean.losses[step] += of[r].losses[step];
    mean.losses[step] *= share;
    for (size_t i = 0; i < mean.gradients[step].size(); ++i) {
      const Tensor& first = mean.gradients[step][i];
      const std::vector<double> zeros(first.numel());
      Tensor sum = Tensor::from(zeros, first.sizes(), DType::f64);
      for (const Outcome& rank : of) add_to(sum, rank.gradients[step][i], share);
      mean.gradients[step][i] = sum;
    }
  }
  return mean;
}

/// All ranks have the means as gradients.
inline Outcome by_ddp(const Problem& problem) {
  auto of = on_each_rank(problem, [](const nn::ModulePtr& model, Rank& rank) {
    return OfRank{std::make_shared<distributed::DistributedDataParallel>(
                      model, rank.group, distributed::DdpOptions{}),
                  nullptr};
  });
  Outcome outcome = mean_of_ranks(of);
  outcome.gradients = of[0].gradients;
  return outcome;
}

inline std::vector<Outcome> ranks_by_local_sgd(const Problem& problem,
                                               sharing::LocalSgdOptions options) {
  return on_each_rank(problem, [&](const nn::ModulePtr& model, Rank& rank) {
    return OfRank{model,
                  std::make_unique<sharing::LocalSgd>(*model, rank.group, options)};
  });
}

inline Way by_local_sgd(int64_t period) {
  return [period](const Problem& problem) {
    return mean_of_ranks(ranks_by_local_sgd(problem, {.period = period}));
  };
}

/// max |mine − theirs| over several tensors.
inline double largest_distance(const Tensors& mine, const Tensors& theirs) {
  if (mine.size() != theirs.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < mine.size(); ++i) {
    const double d = distance(mine[i], theirs[i]);
    largest = d <= largest ? largest : d;  // keeps a NaN
  }
  return largest;
}

/// The largest difference between two outcomes: of a loss, a gradient or a weight.
inline double difference(const Outcome& a, const Outcome& b) {
  double largest = largest_distance(a.weights, b.weights);
  const auto add = [&](double d) { largest = d <= largest ? largest : d; };
  for (size_t step = 0; step < a.losses.size(); ++step) {
    add(std::abs(a.losses[step] - b.losses[step]));
    add(largest_distance(a.gradients[step], b.gradients[step]));
  }
  return largest;
}

}  // namespace lockstep::test
