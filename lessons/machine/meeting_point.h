// Lesson 24's ranks: threads whose collectives notice at once that nobody can go on.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::lessons {

/// What ranks call together. A call returns when all ranks have made it, or throws Hang
/// when some wait that can never be met: all others wait as well, or have ended.
class MeetingPoint {
 public:
  struct Hang {};
  using Calls = std::vector<std::string>;

  explicit MeetingPoint(int size, std::function<void()> met = nullptr)
      : size_(size),
        met_(std::move(met)),
        calls_(size),
        values_(size),
        told_(size, std::nan("")) {}

  /// Returns what `combine` makes of the ranks' values.
  double meet(int rank, const std::string& what, double value,
              const std::function<double(double, double)>& combine) {
    std::unique_lock lock(mutex_);
    calls_[rank].push_back(what);
    values_[rank] = value;
    if (round_ == 0) told_[rank] = value;
    const int round = round_;
    if (++waiting_ == size_) {
      finish_round(combine);
    } else {
      notice_hang();
    }
    changed_.wait(lock, [&] { return hangs_ || round_ != round; });
    if (hangs_) throw Hang{};
    return result_;
  }

  /// The rank's program has ended.
  void leave() {
    const std::lock_guard lock(mutex_);
    ++ended_;
    notice_hang();
  }

  bool hangs() const { return hangs_; }
  const std::vector<Calls>& calls() const { return calls_; }
  /// Returns the values in the first collective; NaN for ranks that have made none.
  const std::vector<double>& told() const { return told_; }

 private:
  void finish_round(const std::function<double(double, double)>& combine) {
    waiting_ = 0;
    for (const Calls& of_rank : calls_) hangs_ |= of_rank.back() != calls_[0].back();
    result_ = values_[0];
    for (int r = 1; r < size_; ++r) result_ = combine(result_, values_[r]);
    if (met_) met_();
    ++round_;
    changed_.notify_all();
  }
  void notice_hang() {
    hangs_ |= waiting_ > 0 && waiting_ + ended_ == size_;
    changed_.notify_all();
  }

  const int size_;
  const std::function<void()> met_;  ///< called before the ranks go on
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Calls> calls_;
  std::vector<double> values_, told_;
  double result_ = 0;
  int waiting_ = 0, ended_ = 0, round_ = 0;
  bool hangs_ = false;
};

/// As in the exercise. What a minimum or maximum makes of NaN depends on the order, as
/// in many libraries.
struct GroupOfRanks {
  int rank = 0, size = 1;
  std::function<double(double)> sum, min, max;
};
struct ModelOfRank {
  std::function<void(int)> step;
  std::function<double()> evaluate, evaluate_module;
};

constexpr double kAccuracy = 2.0 / 3;  ///< of a model: no float, no percentage

/// What the ranks did.
struct RanksRun {
  std::vector<std::vector<int>> steps;  ///< of each rank: its batches
  std::vector<int> evaluations;         ///< of each rank
  std::vector<MeetingPoint::Calls> calls;
  std::vector<double> told;  ///< by each rank, in its first collective
  bool hangs = false;
};

/// Runs `work` on every rank, each a thread. Rethrows what a rank throws. Every model
/// is as accurate as `accuracy` says. Calls `met`, if there is one, whenever the ranks
/// of a collective have met and none of them has gone on.
inline RanksRun run_ranks(
    int size, const std::function<void(const GroupOfRanks&, const ModelOfRank&)>& work,
    double accuracy = kAccuracy, const std::function<void()>& met = nullptr) {
  MeetingPoint point(size, met);
  RanksRun run{
      std::vector<std::vector<int>>(size), std::vector<int>(size), {}, {}, false};
  std::mutex mutex;
  std::exception_ptr failed;
  const auto one = [&](int rank) {
    const auto meets = [&point, rank](const char* what, auto combine) {
      return [&point, rank, what, combine](double x) {
        return point.meet(rank, what, x, combine);
      };
    };
    const auto ignore = [](double a, double) { return a; };
    GroupOfRanks group{
        rank, size, meets("all_reduce sum", std::plus<>()),
        meets("all_reduce min", [](double a, double b) { return a < b ? a : b; }),
        meets("all_reduce max", [](double a, double b) { return a > b ? a : b; })};
    ModelOfRank model{[&, rank](int batch) {
                        point.meet(rank, "all_reduce gradients", 0, ignore);
                        run.steps[rank].push_back(batch);
                      },
                      [&, rank] {
                        point.meet(rank, "broadcast buffers", 0, ignore);
                        ++run.evaluations[rank];
                        return accuracy;
                      },
                      [&, rank] {
                        ++run.evaluations[rank];
                        return accuracy;
                      }};
    try {
      work(group, model);
    } catch (const MeetingPoint::Hang&) {
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failed) failed = std::current_exception();
    }
    point.leave();
  };
  std::vector<std::thread> ranks;
  for (int r = 0; r < size; ++r) ranks.emplace_back(one, r);
  for (std::thread& rank : ranks) rank.join();
  if (failed) std::rethrow_exception(failed);
  run.calls = point.calls();
  run.told = point.told();
  run.hangs = point.hangs();
  return run;
}

/// Returns `rank 0: all_reduce gradients, all_reduce gradients; rank 1: nothing`.
inline std::string in_words(const std::vector<MeetingPoint::Calls>& calls) {
  std::string text;
  for (size_t r = 0; r < calls.size(); ++r) {
    text += fmt::format(
        "{}rank {}: {}", r == 0 ? "" : "; ", r,
        calls[r].empty() ? "nothing" : fmt::format("{}", fmt::join(calls[r], ", ")));
  }
  return text;
}

}  // namespace lockstep::lessons
