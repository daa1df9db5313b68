// A slot: a named function of the engine whose place a learner's own one can take while
// the program runs. Everything else stays as it is: the learner's `scatter` feeds the
// ResNet18 that the engine trains.
#pragma once

#include <functional>
#include <source_location>
#include <utility>

#include "tracer/record/recorder.h"

namespace lockstep::runtime {

/// In the trace, from construction to destruction: a `call` event named after the slot,
/// with the learner's file and line and `args.slot`, and a mark `slot` at its start.
class LearnerCall {
 public:
  LearnerCall(const char* slot, const std::source_location& plugged);

 private:
  tracer::HostEvent event_;
};

template <typename Signature>
class Slot;

/// Callable like the function it stands for. Plug (and choose a reference) before
/// training starts, not while it runs; calls may come from any thread.
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

  /// From now on the learner's function is called; `where` is shown in traces.
  void plug(Function learner,
            std::source_location where = std::source_location::current()) {
    learner_ = std::move(learner);
    where_ = where;
  }
  void unplug() { learner_ = nullptr; }

  /// For threads without a lane of host events: the call leaves no trace.
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

}  // namespace lockstep::runtime
