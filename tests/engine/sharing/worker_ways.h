// Ways of training with workers that share one model, in host memory or on parameter
// servers, and the same updates made by one device, one after the other.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>

#include "engine/sharing/parameter_servers.h"
#include "engine/sharing/ps_worker.h"
#include "engine/sharing/shared_worker.h"
#include "tests/engine/sharing/ways.h"

namespace lockstep::test {

/// Creates the Sharing of a worker.
using Share =
    std::function<std::unique_ptr<sharing::Sharing>(nn::Module& model, int worker)>;
/// Creates what the workers of one run share.
using MakeShare = std::function<Share(int workers)>;

/// Returns every worker's outcome; each has its own chunk of each batch.
inline std::vector<Outcome> outcomes_of_workers(const Problem& problem,
                                                const Share& share) {
  return on_each_rank(problem, [&](const nn::ModulePtr& model, Rank& rank) {
    return OfRank{model, share(*model, rank.rank)};
  });
}

inline MakeShare shared_memory(sharing::UpdateBy rule, sharing::LockFor lock) {
  return [=](int workers) -> Share {
    const auto shared = std::make_shared<sharing::SharedModel>(rule, workers);
    return [=](nn::Module& model, int worker) {
      return std::make_unique<sharing::SharedWorker>(model, shared, worker, lock);
    };
  };
}

/// The servers' devices come after the workers'.
inline MakeShare parameter_servers(int servers, sharing::Consistency consistency) {
  return [=](int workers) -> Share {
    parallel::Devices places;
    for (int k = 0; k < servers; ++k) places.push_back(reference(workers + k));
    const auto all = std::make_shared<sharing::ParameterServers>(
        places, workers, sharing::PsOptions{consistency});
    return [=](nn::Module& model, int worker) {
      return std::make_unique<sharing::PsWorker>(model, all, worker);
    };
  };
}

inline Way by_workers(const MakeShare& make) {
  return [make](const Problem& problem) {
    return mean_of_ranks(outcomes_of_workers(problem, make(problem.devices)));
  };
}

/// One worker trains with the whole batches.
inline Way by_one_worker(const MakeShare& make) {
  return [make](Problem problem) {
    problem.devices = 1;
    return by_workers(make)(problem);
  };
}

/// Where workers wait for their turns.
class Turns {
 public:
  explicit Turns(int64_t workers) : workers(workers) {}

  /// Waits until as many reads and updates have been made. Throws if it takes too long,
  /// so that the others do not wait for a worker that failed.
  void wait_for(int64_t reads, int64_t updates) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, std::chrono::minutes(2), [&] {
      return reads_ >= reads && updates_ >= updates;
    });
    if (!came) throw std::runtime_error("a worker did not take its turn");
  }
  void add(int64_t reads, int64_t updates) {
    const std::lock_guard lock(mutex_);
    reads_ += reads, updates_ += updates;
    changed_.notify_all();
  }

  const int64_t workers;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t reads_ = 0, updates_ = 0;
};

/// A worker that reads and updates when it is its turn, so that which versions it sees
/// does not depend on anybody's speed.
class InTurn : public sharing::Sharing {
 public:
  InTurn(std::unique_ptr<sharing::Sharing> inner, std::shared_ptr<Turns> turns,
         int worker, bool stale)
      : inner_(std::move(inner)),
        turns_(std::move(turns)),
        worker_(worker),
        stale_(stale) {}

  /// One by one. Or, `stale`, all workers read before the first of them updates.
  void before_forward() override {
    const int64_t before = round_ * turns_->workers;
    turns_->wait_for(0, before + (stale_ ? 0 : worker_));
    inner_->before_forward();
    runtime::context(reference(worker_)).synchronize();
    turns_->add(1, 0);
  }
  void update(optim::Optimizer& optimizer) override {
    const int64_t before = round_++ * turns_->workers;
    turns_->wait_for(before + (stale_ ? turns_->workers : 0), before + worker_);
    inner_->update(optimizer);
    turns_->add(0, 1);
  }
  void attach(optim::Optimizer& o, const optim::AnyOptions& options) override {
    inner_->attach(o, options);
  }
  bool meet(bool stop) override { return inner_->meet(stop); }
  void settle() override { inner_->settle(); }
  bool in_step() const override { return inner_->in_step(); }

 private:
  const std::unique_ptr<sharing::Sharing> inner_;
  const std::shared_ptr<Turns> turns_;
  const int worker_;
  const bool stale_;
  int64_t round_ = 0;
};

inline MakeShare in_turn(const MakeShare& make, bool stale) {
  return [=](int workers) -> Share {
    const auto turns = std::make_shared<Turns>(workers);
    return [=, share = make(workers)](nn::Module& model, int worker) {
      return std::make_unique<InTurn>(share(model, worker), turns, worker, stale);
    };
  };
}

/// Which worker makes which of its steps, one after the other.
using Order = std::vector<std::pair<int, size_t>>;

inline Order round_robin(const Problem& problem) {
  Order order;
  for (size_t step = 0; step < problem.rows.size(); ++step) {
    for (int worker = 0; worker < problem.devices; ++worker) {
      order.emplace_back(worker, step);
    }
  }
  return order;
}

/// One device makes all steps of the workers. With `own_momentum`, each worker has its
/// own optimizer.
inline Outcome one_by_one(const Problem& problem, const Order& order,
                          bool own_momentum) {
  ops::manual_seed(1);
  const nn::ModulePtr model = problem.model(reference(0));
  std::vector<std::unique_ptr<train::TrainStep>> steps;
  for (int i = 0; i < (own_momentum ? problem.devices : 1); ++i) {
    steps.push_back(std::make_unique<train::TrainStep>(
        model, model, problem.optimizer, train::TrainStepOptions{.accuracy = false}));
  }
  std::vector<Outcome> of(problem.devices);
  for (const auto& [worker, step] : order) {
    const Batch chunk = chunk_of(problem, step, worker, reference(0));
    const auto made = steps[own_momentum ? worker : 0]->run(chunk.images, chunk.labels);
    of[worker].losses.push_back(ops::item(made.loss));
    of[worker].gradients.push_back(gradients_on_host(*model));
  }
  of[0].weights = on_host(model->parameters());
  return mean_of_ranks(of);
}

inline Way by_taking_turns(bool own_momentum) {
  return [=](const Problem& problem) {
    return one_by_one(problem, round_robin(problem), own_momentum);
  };
}

/// A worker of shared memory that notes which version each of its steps made.
class NotesVersions : public sharing::SharedWorker {
 public:
  /// Version → worker and its step.
  using Versions = std::map<int64_t, std::pair<int, size_t>>;

  NotesVersions(nn::Module& model, std::shared_ptr<sharing::SharedModel> shared,
                int worker, std::vector<Versions>& all)
      : SharedWorker(model, std::move(shared), worker, sharing::LockFor::step),
        worker_(worker),
        mine_(all[worker]) {}
  void update(optim::Optimizer& optimizer) override {
    SharedWorker::update(optimizer);
    mine_[last_update().version] = {worker_, step_++};
  }

 private:
  const int worker_;
  Versions& mine_;
  size_t step_ = 0;
};

/// `--mode locked --lock step`: workers come to the lock in any order. Leaves the order
/// in `order`.
inline Outcome by_lock_for_step(const Problem& problem, Order& order) {
  const auto shared =
      std::make_shared<sharing::SharedModel>(sharing::UpdateBy::store, problem.devices);
  std::vector<NotesVersions::Versions> versions(problem.devices);
  const auto of = outcomes_of_workers(problem, [&](nn::Module& model, int worker) {
    return std::make_unique<NotesVersions>(model, shared, worker, versions);
  });
  for (size_t r = 1; r < versions.size(); ++r) versions[0].merge(versions[r]);
  order.clear();
  for (const auto& [version, made] : versions[0]) order.push_back(made);
  return mean_of_ranks(of);
}

}  // namespace lockstep::test
