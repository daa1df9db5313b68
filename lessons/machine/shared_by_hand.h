// Lesson 21's shared model, driven by its tests: other workers come exactly when a test
// lets them come.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/sharing/shared_access.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"

namespace lockstep::lessons {

/// A weight that other workers change between this worker's accesses.
class WeightByHand {
 public:
  explicit WeightByHand(double value) : value_(value) {}

  /// Called before each access, with the number of accesses so far.
  std::function<void(int accesses)> others = [](int) {};
  /// Whether the compare-exchange with this number fails although nothing has changed.
  std::function<bool(int attempt)> fails = [](int) { return false; };
  int most = 100;  ///< accesses; more of them are an endless loop

  double value() const { return value_; }
  void set(double value) { value_ = value; }
  int accesses() const { return accesses_; }
  int loads() const { return loads_; }
  int stores() const { return stores_; }
  /// How many of the stores were plain exchanges.
  int exchanges() const { return exchanges_; }

  bool store(const Exam& exam, double read, double next) {
    return exam.function<Store>("lesson_store")(load_, exchange_, compare_exchange_,
                                                read, next);
  }
  void add(const Exam& exam, double read, double next) {
    exam.function<Add>("lesson_add")(load_, exchange_, compare_exchange_, read, next);
  }

 private:
  using Load = std::function<double()>;
  using Exchange = std::function<double(double)>;
  using CompareExchange = std::function<bool(double&, double)>;
  using Store = bool(const Load&, const Exchange&, const CompareExchange&, double,
                     double);
  using Add = void(const Load&, const Exchange&, const CompareExchange&, double,
                   double);

  void access() {
    others(accesses_);
    ++accesses_;
    if (accesses_ > most) {
      throw Wrong{
          "accesses to one weight",
          "a few",
          fmt::format("more than {}: it never ends", most),
          {stores_ > 0 ? "it goes on although the step is stored: a compare-exchange "
                         "that returns true has stored it"
                       : "a compare-exchange that fails sets `expected` to what the "
                         "weight is: go on from that value",
           "Try again"}};
    }
  }

  double value_;
  int accesses_ = 0, loads_ = 0, stores_ = 0, exchanges_ = 0, attempts_ = 0;
  Load load_ = [this] {
    access();
    ++loads_;
    return value_;
  };
  Exchange exchange_ = [this](double value) {
    access();
    ++stores_;
    ++exchanges_;
    return std::exchange(value_, value);
  };
  CompareExchange compare_exchange_ = [this](double& expected, double value) {
    access();
    if (fails(attempts_++)) return false;
    if (std::memcmp(&value_, &expected, sizeof value) != 0) {
      expected = value_;
      return false;
    }
    ++stores_;
    value_ = value;
    return true;
  };
};

/// Returns the misconception that explains an add_step after which the weight is wrong.
inline Because why_not_added(const WeightByHand& weight) {
  if (weight.exchanges() > 0) {
    return {
        "`exchange` stores whatever the weight is: when it returns, it has already "
        "overwritten the other's step. A compare-exchange stores nothing if the weight "
        "has changed, and then the step must be made again, from the new value",
        "Try again"};
  }
  if (weight.stores() > 0) {
    return {
        "the compare-exchange has stored what was passed to it, but that is not where "
        "the step leads from what the weight was then. Call `moved` in every attempt, "
        "with the weight as it is now and what the worker had read: if the weight has "
        "changed, the step must be made again, from the new value",
        "Try again"};
  }
  return {
      "if the weight has changed since it was loaded, the step must be made again, "
      "from the new value",
      "Try again"};
}

/// Writes down what a worker does with the shared model.
class SharedByHand : public sharing::SharedAccess {
 public:
  void acquire() override {
    note("acquire");
    if (held_) {
      throw Wrong{"acquire() by the worker that has the lock",
                  "never",
                  "it would wait for itself forever: " + text_,
                  {"the step begins with the lock if it is held for the whole step",
                   "The lock"}};
    }
    held_ = true;
  }
  void release() override {
    note("release");
    if (!held_) {
      throw Wrong{
          "release() without the lock",
          "never",
          text_,
          {"a worker that does not have the lock cannot give it back", "The lock"}};
    }
    held_ = false;
  }
  int64_t read() override {
    note("read");
    return 41;
  }
  sharing::Update apply(int64_t read_version) override {
    note("apply");
    applied_ = read_version;
    return {.read_version = read_version, .version = read_version + 2, .lost = 3};
  }
  void computes() { note("compute"); }
  bool held() const { return held_; }
  int64_t applied() const { return applied_; }
  const std::string& text() const { return text_; }

 private:
  void note(const char* what) {
    text_ += (text_.empty() ? "" : " ") + std::string(what);
  }
  std::string text_;
  bool held_ = false;
  int64_t applied_ = -1;
};

/// What a worker has done in a step.
struct Turn {
  std::string text;
  bool held_in_compute = false, held_at_end = false;
  int64_t version = -1, applied = -1;
  sharing::Update update;
};

/// One step of a worker, with the learner's functions.
inline Turn turn(sharing::LockFor lock) {
  SharedByHand model;
  Turn turn;
  turn.version = sharing::shared_begin().in_use()(model, lock);
  model.computes();
  turn.held_in_compute = model.held();
  turn.update = sharing::shared_end().in_use()(model, lock, turn.version);
  turn.held_at_end = model.held();
  turn.text = model.text();
  turn.applied = model.applied();
  return turn;
}

/// Throws Wrong unless a step does what it should, in this order.
inline void expect_turn(const Exam& exam, const char* lock, const std::string& expected,
                        const Turn& got, const Because& because) {
  const auto once = [&](const std::string& what) {
    const size_t first = got.text.find(what);
    return first != std::string::npos &&
           got.text.find(what, first + 1) == got.text.npos;
  };
  Because why = because;
  if (!once("read") || !once("apply")) {
    why = {
        "a step reads the weights once, at its beginning, and updates them once, at "
        "its end",
        "A step, not a value"};
  } else if (got.held_at_end) {
    why = {
        "the step ends with the lock, and the next worker waits for it forever: each "
        "acquire() needs a release() in the same step, after the update",
        "The lock"};
  }
  exam.equal(fmt::format("a step with LockFor::{}", lock), expected, got.text, why);
}

/// The updates in a trace, in the order of their versions.
struct WorkerUpdate {
  int64_t worker, read_version, version;
};

inline std::vector<WorkerUpdate> updates_by_workers(const tracer::Trace& trace) {
  std::vector<WorkerUpdate> all;
  for (const tracer::Event* phase : events_of(trace, "phase")) {
    if (!phase->args.contains("version")) continue;
    all.push_back({number(*phase, "worker"), number(*phase, "read_version"),
                   number(*phase, "version")});
  }
  std::ranges::sort(all, {}, &WorkerUpdate::version);
  return all;
}

}  // namespace lockstep::lessons
