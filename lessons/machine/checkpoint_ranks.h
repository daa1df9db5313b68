// Lesson 28's ranks: threads that train a small model, and a folder whose files are
// incomplete for as long as anybody could notice.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lessons/plugin.h"

namespace lockstep::lessons::lesson_28 {

// As in the exercise.
struct Group {
  int rank = 0, size = 1;
  std::function<void()> barrier;
  std::function<double(double)> sum;
  std::function<std::vector<int64_t>(int64_t)> gather;
};
struct State {
  int epoch = 0, step = 0;
  std::vector<double> weights, momentum;
  bool operator==(const State&) const = default;
};
struct Checkpoint {
  State state;
  std::vector<int64_t> generators;
};
struct Folder {
  std::function<void(const std::string&, const Checkpoint&)> write;
  std::function<Checkpoint(const std::string&)> read;
  std::function<void(const std::string&, const std::string&)> rename;
};
struct Training {
  State state;
  int64_t generator = 0;
  std::function<void(int)> set_epoch;
  int batches = 0;
  std::function<void(int)> step;
};
struct Batch {
  std::vector<double> losses;
  std::vector<int> correct, padding;
};

/// What a program leaves behind.
struct Files {
  struct File {
    Checkpoint content;
    bool complete = false;
  };
  std::map<std::string, File> by_name;

  bool complete(const std::string& name) const {
    const auto found = by_name.find(name);
    return found != by_name.end() && found->second.complete;
  }
};

struct Hang {};
struct Killed {};

/// When a program is killed; −1: it is not.
struct Kill {
  int at_step = -1;  ///< before this one of the steps that it makes, counted from 0
  bool in_write = false;
};

/// A program on several ranks. Thread-safe.
class World {
 public:
  World(int size, Files& files, const Kill& kill)
      : size_(size), files_(files), kill_(kill), values_(size), calls_(size) {}

  struct Value {
    double number = 0;
    int64_t integer = 0;
  };

  /// A collective: returns the values of all ranks.
  std::vector<Value> meet(int rank, const std::string& what, Value value) {
    std::unique_lock lock(mutex_);
    calls_[rank].push_back(what);
    values_[rank] = value;
    const int round = round_;
    if (++waiting_ == size_) {
      waiting_ = 0;
      for (const auto& calls : calls_) hangs_ |= calls.back() != calls_[0].back();
      result_ = values_;
      ++round_;
    }
    notice();
    changed_.wait(lock, [&] { return ended_early() || round_ != round; });
    expect_alive();
    return result_;
  }

  void leave() {
    const std::lock_guard lock(mutex_);
    ++ended_;
    notice();
  }

  void write(int rank, const std::string& name, const Checkpoint& content) {
    std::unique_lock lock(mutex_);
    writers_.push_back(rank);
    files_.by_name[name] = {garbage(), false};
    let_others_go_on(lock);
    if (kill_.in_write) kill(lock);
    files_.by_name[name] = {content, true};
  }

  Checkpoint read(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = files_.by_name.find(name);
    if (found == files_.by_name.end()) {
      throw std::runtime_error("cannot open `" + name + "`: no such file");
    }
    return found->second.content;
  }

  void rename(const std::string& name, const std::string& new_name) {
    std::unique_lock lock(mutex_);
    let_others_go_on(lock);
    const auto found = files_.by_name.find(name);
    if (found == files_.by_name.end()) {
      throw std::runtime_error("cannot rename `" + name + "`: no such file");
    }
    Files::File file = found->second;
    files_.by_name.erase(found);
    files_.by_name[new_name] = std::move(file);
  }

  void before_step(int made) {
    std::unique_lock lock(mutex_);
    if (made == kill_.at_step) kill(lock);
  }

  /// Runs with the files as they are now.
  template <typename Look>
  void look(Look look) {
    const std::lock_guard lock(mutex_);
    look(files_);
  }

  bool hangs() const { return hangs_; }
  bool killed() const { return killed_; }
  const std::vector<int>& writers() const { return writers_; }
  const std::vector<std::vector<std::string>>& calls() const { return calls_; }

 private:
  static Checkpoint garbage() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {{-1, -1, {nan}, {nan}}, {}};
  }
  bool ended_early() const { return hangs_ || killed_; }
  void expect_alive() const {
    if (killed_) throw Killed{};
    if (hangs_) throw Hang{};
  }
  void notice() {
    hangs_ |= waiting_ > 0 && waiting_ + ended_ == size_;
    changed_.notify_all();
  }
  /// A write is so slow that all others come to where they wait, or to their end.
  void let_others_go_on(std::unique_lock<std::mutex>& lock) {
    ++busy_;
    changed_.notify_all();
    changed_.wait(lock,
                  [&] { return ended_early() || waiting_ + ended_ + busy_ == size_; });
    --busy_;
    expect_alive();
  }
  [[noreturn]] void kill(std::unique_lock<std::mutex>&) {
    killed_ = true;
    changed_.notify_all();
    throw Killed{};
  }

  const int size_;
  Files& files_;
  const Kill kill_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Value> values_, result_;
  std::vector<std::vector<std::string>> calls_;
  std::vector<int> writers_;
  int waiting_ = 0, ended_ = 0, busy_ = 0, round_ = 0;
  bool hangs_ = false, killed_ = false;
};

/// A step of a rank: which sample it read, in which order.
struct Step {
  int order = 0, batch = 0;
  bool operator==(const Step&) const = default;
};

/// What a program did.
struct Run {
  std::vector<Training> trainings;       ///< by rank, at the end
  std::vector<std::vector<Step>> steps;  ///< by rank
  std::vector<int> orders;  ///< by rank: the epoch that the sampler is in, at the end
  std::vector<bool> complete;  ///< by rank: was `checkpoint` so when its work ended?
  std::vector<int> writers;
  std::vector<std::string> errors;  ///< by rank: std::runtime_error
  std::vector<std::vector<std::string>> calls;
  bool hangs = false, killed = false;
};

inline constexpr int kWeights = 3;

/// The order of an epoch's samples.
inline std::vector<int> order_of(int epoch, int length) {
  std::vector<int> order(length);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(77 + epoch));
  return order;
}

/// Trains a rank with a batch: the mean of all ranks' gradients, with dropout.
inline void train_with(World& world, int rank, int size, Training& training,
                       const Step& step) {
  const auto order = order_of(step.order, training.batches * size);
  const int sample = order[(step.batch * size + rank) % order.size()];
  for (int i = 0; i < kWeights; ++i) {
    training.generator = static_cast<int64_t>(
        static_cast<uint64_t>(training.generator) * 6364136223846793005U + 1442695041U);
    const bool dropped = (static_cast<uint64_t>(training.generator) >> 60) % 2 == 0;
    State& state = training.state;
    const double own = dropped ? 0 : state.weights[i] - (sample * 0.7 + i) / 3;
    double gradient = 0;
    for (const auto& value : world.meet(rank, "all_reduce gradients", {own, 0})) {
      gradient += value.number / size;
    }
    state.momentum[i] = 0.9 * state.momentum[i] + gradient;
    state.weights[i] -= 0.1 * state.momentum[i];
  }
}

using Work = std::function<void(const Group&, const Folder&, Training&)>;

/// Runs `work` on every rank of a new program.
inline Run run(int size, int batches, Files& files, const Work& work, Kill when = {}) {
  World world(size, files, when);
  Run run;
  run.trainings.resize(size);
  run.steps.resize(size);
  run.errors.resize(size);
  run.orders.resize(size);
  std::vector<char> complete(size, false);
  std::vector<std::exception_ptr> failed(size);
  const auto one = [&](int rank) {
    const Group group{
        rank, size, [&, rank] { world.meet(rank, "barrier", {}); },
        [&, rank](double number) {
          double sum = 0;
          for (const auto& value : world.meet(rank, "sum", {number, 0})) {
            sum += value.number;
          }
          return sum;
        },
        [&, rank](int64_t integer) {
          std::vector<int64_t> all;
          for (const auto& value : world.meet(rank, "gather", {0, integer})) {
            all.push_back(value.integer);
          }
          return all;
        }};
    const Folder folder{
        [&, rank](const auto& name, const auto& it) { world.write(rank, name, it); },
        [&](const auto& name) { return world.read(name); },
        [&](const auto& name, const auto& to) { world.rename(name, to); }};
    Training& training = run.trainings[rank];
    int& epoch = run.orders[rank];
    training.state.weights = {1, 2, 3};
    training.state.momentum.resize(kWeights);
    training.generator = 1000 + rank;
    training.batches = batches;
    training.set_epoch = [&epoch](int number) { epoch = number; };
    training.step = [&, rank](int batch) {
      world.before_step(static_cast<int>(run.steps[rank].size()));
      run.steps[rank].push_back({epoch, batch});
      train_with(world, rank, size, training, run.steps[rank].back());
    };
    try {
      work(group, folder, training);
      world.look(
          [&](const Files& now) { complete[rank] = now.complete("checkpoint"); });
    } catch (const Hang&) {
    } catch (const Killed&) {
    } catch (const NotWritten&) {
      failed[rank] = std::current_exception();
    } catch (const std::runtime_error& error) {
      run.errors[rank] = error.what();
    } catch (...) {
      failed[rank] = std::current_exception();
    }
    world.leave();
  };
  std::vector<std::thread> ranks;
  for (int r = 0; r < size; ++r) ranks.emplace_back(one, r);
  for (std::thread& rank : ranks) rank.join();
  for (const auto& error : failed) {
    if (error) std::rethrow_exception(error);
  }
  run.complete.assign(complete.begin(), complete.end());
  run.writers = world.writers();
  run.calls = world.calls();
  run.hangs = world.hangs();
  run.killed = world.killed();
  return run;
}

/// Returns `rank 0: gather, barrier; rank 1: nothing`.
inline std::string in_words(const std::vector<std::vector<std::string>>& calls) {
  std::string text;
  for (size_t r = 0; r < calls.size(); ++r) {
    text += fmt::format(
        "{}rank {}: {}", r == 0 ? "" : "; ", r,
        calls[r].empty() ? "nothing" : fmt::format("{}", fmt::join(calls[r], ", ")));
  }
  return text;
}

/// Returns a state that no rank could have guessed.
inline State drawn_state(std::mt19937_64& random) {
  State state{
      static_cast<int>(1 + random() % 9), static_cast<int>(1 + random() % 9), {}, {}};
  for (int i = 0; i < kWeights; ++i) {
    state.weights.push_back(static_cast<double>(random() % 1000) / 7);
    state.momentum.push_back(static_cast<double>(1 + random() % 1000) / 9);
  }
  return state;
}

/// Returns the files of a program that was killed in its next save.
inline Files with_checkpoint(const State& state,
                             const std::vector<int64_t>& generators) {
  Files files;
  files.by_name["checkpoint"] = {{state, generators}, true};
  files.by_name["checkpoint.part"] = {{{0, 0, {-1}, {-1}}, generators}, false};
  return files;
}

}  // namespace lockstep::lessons::lesson_28
