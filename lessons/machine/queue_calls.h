// The learner's queue from lesson 03, and calls to it, each on its own thread.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "engine/data/batch_queue.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/waiting.h"

namespace lockstep::lessons {

/// Lets the calls run until each has returned or sleeps.
inline void settle(const std::vector<Call>& calls) {
  settle(calls, "Waiting without burning a core");
}

/// Identifies a batch by its label.
inline std::string text_of(const data::Made& made) {
  if (made.batch) return fmt::format("batch {}", made.batch->labels.at(0));
  try {
    std::rethrow_exception(made.error);
  } catch (const std::exception& error) {
    return error.what();
  }
}

inline data::Made batch(int64_t number) {
  data::Made made;
  made.batch = data::Batch{{1}, {}, {number}};
  return made;
}

/// Each function starts a Call, and waits until it has returned or sleeps.
class Queue {
 public:
  explicit Queue(int64_t depth) : queue_(data::batch_queue()(depth)) {}

  Call reserve(int64_t number) const {
    return settled(
        [queue = queue_, number] { return queue->reserve(number) ? "true" : "false"; });
  }
  Call put(int64_t number) const { return put(number, batch(number)); }
  Call put(int64_t number, data::Made made) const {
    return settled([queue = queue_, number, made = std::move(made)]() mutable {
      queue->put(number, std::exchange(made, {}));
      return "done";
    });
  }
  Call take() const {
    return settled([queue = queue_] { return text_of(queue->take()); });
  }
  Call close() const {
    return settled([queue = queue_] {
      queue->close();
      return "done";
    });
  }

 private:
  Call settled(std::function<std::string()> body) const {
    Call call(std::move(body));
    settle({call});
    return call;
  }

  std::shared_ptr<data::BatchQueue> queue_;  // shared with threads that never wake up
};

inline void expect(const Exam& exam, const std::string& what,
                   const std::string& expected, const Call& call,
                   const Because& because) {
  exam.equal(what, expected, call.returned() ? call.result() : "it waits", because);
}

inline void fill(const Exam& exam, const Queue& queue,
                 std::initializer_list<int64_t> order) {
  for (int64_t number = *std::ranges::min_element(order);
       number <= *std::ranges::max_element(order); ++number) {
    expect(exam, fmt::format("reserve({}), with room for it", number), "true",
           queue.reserve(number),
           {"with depth D, batches up to taken + D − 1 have room: no slot is left "
            "empty as a sentinel",
            "Reserve before you make"});
  }
  for (int64_t number : order) {
    expect(exam, fmt::format("put({})", number), "done", queue.put(number),
           {"put never waits for another call: a worker that finishes a batch early "
            "stores it and continues; take restores the order",
            "The consumer determines the order"});
  }
}

}  // namespace lockstep::lessons
