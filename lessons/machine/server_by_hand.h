// Lesson 22's parameter server without tensors: workers push and pull exactly when a
// test lets them.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/sharing/server_access.h"
#include "lessons/machine/exam.h"

namespace lockstep::lessons {

class ServerByHand : public sharing::ServerAccess {
 public:
  struct Made {
    std::set<int> workers;
    double scale;
  };

  ServerByHand(int workers, sharing::PsOptions options)
      : options_(options), workers_(workers), backup_(options.backup) {}

  /// A worker's gradient arrives, and the learner's function decides.
  void push(int worker) {
    arrived_.insert(worker);
    updates_in_push_ = 0;
    sharing::server_push().in_use()(*this, options_, worker);
    ++workers_[worker].clock;
  }
  bool may_pull(int worker) const {
    return sharing::server_may_pull().in_use()(*this, options_, worker);
  }
  void pull(int worker) { workers_[worker].read = version_; }
  /// The worker makes no more steps. As in the engine, an update is made if the
  /// gradients that wait are enough now.
  void leave(int worker) {
    workers_[worker].left = true;
    if (arrived_.empty() || arrived_.size() < needed()) return;
    updates_in_push_ = 0;
    update(arrived_, 1.0 / static_cast<double>(arrived_.size()));
  }
  void set_clock(int worker, int64_t clock) { workers_[worker].clock = clock; }

  const std::vector<Made>& made() const { return made_; }
  /// Returns the latest update's, or 1.
  double scale() const { return made_.empty() ? 1 : made_.back().scale; }
  const std::vector<int>& discarded() const { return discarded_; }

  int64_t version() const override { return version_; }
  int64_t read_version(int worker) const override { return workers_.at(worker).read; }
  int64_t clock(int worker) const override { return workers_.at(worker).clock; }
  std::vector<int> workers() const override {
    std::vector<int> active;
    for (int w = 0; w < static_cast<int>(workers_.size()); ++w) {
      if (!workers_[w].left) active.push_back(w);
    }
    return active;
  }
  const std::set<int>& arrived() const override { return arrived_; }
  size_t needed() const override {
    return std::max<size_t>(1, std::min(workers().size(), workers_.size() - backup_));
  }
  void update(std::set<int> workers, double scale) override {
    if (++updates_in_push_ > 1) {
      throw Wrong{
          "updates in one push",
          "at most 1",
          "2",
          {"one gradient has arrived, so one update can be due", "Push and pull"}};
    }
    for (const int worker : workers) {
      if (arrived_.erase(worker) == 1) continue;
      throw Wrong{fmt::format("an update with the gradient of worker {}", worker),
                  fmt::format("gradients of {}", arrived_),
                  "it has not arrived, or has been used already",
                  {"an update is made of gradients that are there", "Push and pull"}};
    }
    made_.push_back({workers, scale});
    ++version_;
  }
  void discard(int worker) override {
    arrived_.erase(worker);
    discarded_.push_back(worker);
  }

 private:
  struct Worker {
    int64_t read = 0, clock = 0;
    bool left = false;
  };
  const sharing::PsOptions options_;
  std::vector<Worker> workers_;
  const size_t backup_;
  std::set<int> arrived_;
  std::vector<Made> made_;
  std::vector<int> discarded_;
  int64_t version_ = 0;
  int updates_in_push_ = 0;
};

/// Returns 0 … count − 1 in an order that nobody knows beforehand.
inline std::vector<int> drawn_order(int count, std::mt19937_64& random) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  return order;
}

inline std::string text_of(const ServerByHand::Made& made) {
  return fmt::format("{} times the sum of the gradients of {}", made.scale,
                     made.workers);
}

/// Throws Wrong unless the latest push made an update of these gradients.
inline void expect_update(const Exam& exam, const std::string& what,
                          const ServerByHand& server, size_t updates,
                          const ServerByHand::Made& expected, const Because& if_none,
                          const Because& because) {
  exam.that(server.made().size() == updates, what, text_of(expected),
            server.made().size() < updates ? "no update" : "more than one update",
            if_none);
  const ServerByHand::Made& got = server.made().back();
  const double off = std::abs(got.scale / expected.scale - 1);
  const bool in_float = got.workers == expected.workers && off > 1e-12 && off < 1e-6;
  exam.that(got.workers == expected.workers && got.scale == expected.scale, what,
            text_of(expected), text_of(got),
            in_float
                ? Because{"the right number, but as a float, with 7 digits: 1.0f / 3 "
                          "is one, and `scale` is a double",
                          because.read}
                : because);
}

}  // namespace lockstep::lessons
