// Lesson 21's shared model, driven by its tests: other workers come exactly when a test
// lets them come.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "engine/sharing/shared_access.h"
#include "lessons/machine/exam.h"

namespace lockstep::lessons {

/// A weight that other workers change between this worker's accesses.
class WeightByHand {
 public:
  explicit WeightByHand(double value) : value_(value) {}

  /// Called before each access, with the number of accesses so far.
  std::function<void(int accesses)> others = [](int) {};
  /// Whether the compare-exchange with this number fails although nothing has changed.
  std::function<bool(int attempt)> fails = [](int) { return false; };

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
    if (accesses_ > 100) {
      throw Wrong{
          "accesses to one weight",
          "a few",
          "more than 100: it never ends",
          {"a compare-exchange that fails sets `expected` to what the weight is: "
           "go on from that value",
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
        "the compare-exchange has stored what was passed to it, but that was computed "
        "from an older value of the weight. Call `moved` in every attempt: if the "
        "weight has changed, the step must be made again, from the new value",
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

}  // namespace lockstep::lessons
