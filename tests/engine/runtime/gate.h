// Ways to block a stream: tests order events with latches, never with sleeps.
#pragma once

#include <latch>

#include "tests/engine/values.h"

namespace lockstep::test {

inline runtime::Task task(std::function<void()> run, const char* name = "task") {
  runtime::Task made;
  made.run = std::move(run);
  made.record.name = name;
  return made;
}

/// Blocks a stream from construction until `open` or destruction.
class Gate {
 public:
  explicit Gate(runtime::Stream& stream) {
    done_ = stream.enqueue(task([this] { latch_.wait(); }, "gate"));
  }
  ~Gate() {
    open();
    done_->wait();
  }
  void open() {
    if (!opened_) latch_.count_down();
    opened_ = true;
  }

 private:
  std::latch latch_{1};
  runtime::EventPtr done_;
  bool opened_ = false;
};

}  // namespace lockstep::test
