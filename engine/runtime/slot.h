// A slot: a named function of the engine that a learner can replace with their own at
// run time. Everything else is unchanged: the learner's `scatter` feeds the ResNet18
// that the engine trains.
#pragma once

#include <functional>
#include <source_location>
#include <utility>

#include "tracer/record/recorder.h"

namespace lockstep::runtime {

/// Records a call to a learner's function, from construction to destruction: a `call`
/// event named after the slot, with the learner's file and line and `args.slot`, and a
/// `slot` mark at its start.
class LearnerCall {
 public:
  LearnerCall(const char* slot, const std::source_location& plugged);

 private:
  tracer::HostEvent event_;
};

/// Records that a learner's function runs on lane `lane` of device `device`. For
/// threads that have no lane for host events.
void mark_learner_call(const char* slot, int device, int lane);

template <typename Signature>
class Slot;

/// Callable like the function that it represents, from any thread. `plug` and
/// `set_reference` must be called before training starts.
template <typename Result, typename... Args>
class Slot<Result(Args...)> {
 public:
  using Function = std::function<Result(Args...)>;

  Slot(const char* name, Function reference)
      : name_(name), reference_(std::move(reference)) {}

  Result operator()(Args... args) const {
    if (!learner_) return reference_(std::forward<Args>(args)...);
    LearnerCall call(name_, where_);
    return learner_(std::forward<Args>(args)...);
  }

  /// Makes later calls run `learner`; traces show `where` as its location.
  void plug(Function learner,
            std::source_location where = std::source_location::current()) {
    learner_ = std::move(learner);
    where_ = where;
  }
  void unplug() { learner_ = nullptr; }

  /// Returns the function that a call would run. Calling it directly records nothing;
  /// intended for threads that have no lane for host events.
  const Function& in_use() const { return learner_ ? learner_ : reference_; }

  bool plugged() const { return learner_ != nullptr; }
  const char* name() const { return name_; }
  const std::source_location& where() const { return where_; }
  const Function& reference() const { return reference_; }
  void set_reference(Function function) { reference_ = std::move(function); }

 private:
  const char* name_;
  Function reference_, learner_;
  std::source_location where_;
};

template <typename Signature>
class PhaseSlot;

/// A slot whose calls are recorded as a phase of the training step, named after the
/// slot, regardless of whether the engine's or a learner's function runs.
template <typename Result, typename... Args>
class PhaseSlot<Result(Args...)> : public Slot<Result(Args...)> {
 public:
  using Slot<Result(Args...)>::Slot;

  Result operator()(Args... args) const {
    // Its source is the function that runs inside it, not this line.
    const tracer::Phase phase(this->name(), std::source_location());
    return Slot<Result(Args...)>::operator()(std::forward<Args>(args)...);
  }
};

}  // namespace lockstep::runtime
