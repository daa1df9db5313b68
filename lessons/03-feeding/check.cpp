#include <time.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/data/batch_queue.h"
#include "engine/data/generated.h"
#include "engine/data/loader.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/stuck.h"
#include "lessons/plugin.h"

namespace lockstep::lessons {
namespace {

// --- threads that may wait forever, and are not joined

/// One call of the learner's queue, on a separate thread.
class Call {
 public:
  explicit Call(std::function<std::string()> body) : state_(std::make_shared<State>()) {
    std::thread([state = state_, body = std::move(body)]() mutable {
      pthread_getcpuclockid(pthread_self(), &state->cpu);
      state->thread = gettid();
      std::string result;
      std::exception_ptr not_written;
      try {
        result = body();
      } catch (const NotWritten&) {
        not_written = std::current_exception();
      } catch (const std::exception& error) {
        result = std::string("thrown: ") + error.what();
      }
      body = nullptr;  // it shares the queue
      std::lock_guard lock(state->mutex);
      state->result = std::move(result);
      state->not_written = not_written;
      state->returned = true;
    }).detach();
  }

  bool returned() const {
    std::lock_guard lock(state_->mutex);
    return state_->returned;
  }

  /// REQUIRES: returned().
  std::string result() const {
    if (state_->not_written) std::rethrow_exception(state_->not_written);
    return state_->result;
  }

  /// "" while it is awake.
  std::string rest() const {
    return returned() ? "returned" : sleep_of(state_->thread);
  }

  /// True after more than a fifth of a second of CPU time (not wall-clock time).
  bool spins() const {
    timespec used{};
    return state_->thread != 0 && clock_gettime(state_->cpu, &used) == 0 &&
           (used.tv_sec > 0 || used.tv_nsec > 200'000'000);
  }

 private:
  struct State {
    std::atomic<pid_t> thread{0};
    clockid_t cpu{};
    std::mutex mutex;  // not an atomic flag: ThreadSanitizer, which was not enabled for
                       // this file, understands mutexes
    bool returned = false;
    std::string result;
    std::exception_ptr not_written;
  };
  std::shared_ptr<State> state_;
};

/// Lets the calls run until each has returned or sleeps. If all slept, and none was
/// scheduled between two checks, then no thread was left that could wake another: they
/// sleep until the next call.
void settle(const Exam& exam, const std::vector<Call>& calls) {
  const auto look = [&] {
    std::vector<std::string> rests;
    for (const Call& call : calls) rests.push_back(call.rest());
    return rests;
  };
  for (;;) {
    const auto before = look(), after = look();
    if (before == after && std::ranges::find(after, "") == after.end()) return;
    for (const Call& call : calls) {
      exam.that(call.returned() || !call.spins(), "a waiting thread", "it sleeps",
                "it keeps a core busy",
                {"a busy loop occupies a core that should compute: "
                 "std::condition_variable::wait sleeps until it is woken",
                 "Waiting without burning a core"});
    }
    std::this_thread::yield();
  }
}

// --- the learner's queue, and calls of it

/// Identifies a batch by its label.
std::string text_of(const data::Made& made) {
  if (made.batch) return fmt::format("batch {}", made.batch->labels.at(0));
  try {
    std::rethrow_exception(made.error);
  } catch (const std::exception& error) {
    return error.what();
  }
}

data::Made batch(int64_t number) {
  data::Made made;
  made.batch = data::Batch{{1}, {}, {number}};
  return made;
}

/// Starts each call, and returns it once it has returned or sleeps.
class Queue {
 public:
  Queue(const Exam& exam, int64_t depth)
      : exam_(exam), queue_(data::batch_queue()(depth)) {}

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
    settle(exam_, {call});
    return call;
  }

  const Exam& exam_;
  std::shared_ptr<data::BatchQueue> queue_;  // shared with threads that never wake up
};

void expect(const Exam& exam, const std::string& what, const std::string& expected,
            const Call& call, const Because& because) {
  exam.equal(what, expected, call.returned() ? call.result() : "it waits", because);
}

void fill(const Exam& exam, const Queue& queue, std::initializer_list<int64_t> order) {
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

LESSON_TEST(3, in_order,
            "batches come out in order of their numbers, whatever the order in which "
            "they arrived") {
  const Queue queue(exam, 4);
  fill(exam, queue, {2, 0, 3, 1});
  for (int64_t number = 0; number < 4; ++number) {
    expect(exam, "take, after put 2, 0, 3, 1", fmt::format("batch {}", number),
           queue.take(),
           {"the training loop must get the same batches in the same order with any "
            "number of workers: take the next number, not what came first",
            "The consumer determines the order"});
  }
}

LESSON_TEST(3, take_waits, "take waits for the next batch and for no other") {
  const Because next{
      "the next batch in order is the only one that may be handed out, even if later "
      "ones have already arrived",
      "The consumer determines the order"};
  const Queue queue(exam, 2);
  fill(exam, queue, {0, 1});
  queue.take();
  queue.take();
  for (int64_t number : {2, 3}) queue.reserve(number);
  const Call take = queue.take();
  expect(exam,
         "take, after batches 0 and 1 have been taken and none has been put since",
         "it waits", take,
         {"a batch that was already handed out is handed out again: the place of a "
          "taken batch must be empty",
          "The consumer determines the order"});
  const Call later = queue.put(3);
  settle(exam, {take});
  expect(exam, "take of batch 2, after put(3)", "it waits", take, next);
  queue.put(2);
  settle(exam, {take});
  expect(exam, "take of batch 2, after put(2)", "batch 2", take,
         {"the training loop sleeps and is never woken: put must notify the condition "
          "variable on which take waits",
          "A lost wake-up"});
}

LESSON_TEST(3, bounded, "at most `depth` batches are reserved but not taken") {
  const Queue wanted(exam, 3);
  int64_t reserved = 0;
  for (int64_t number = 0; number < 12; ++number) {
    if (wanted.reserve(number).returned()) ++reserved;
  }
  exam.at_most("batches reserved but not taken, with depth 3, when 12 are requested",
               int64_t{3}, reserved,
               {"workers are faster than the device, so without a bound (or with one "
                "that is off by one) they fill the memory",
                "Reserve before you make"});

  const Queue queue(exam, 3);
  fill(exam, queue, {0, 1, 2});
  const Call fourth = queue.reserve(3);
  expect(exam, "reserve(3) with depth 3, when batches 0, 1 and 2 were put", "it waits",
         fourth,
         {"a batch occupies memory from when it is made until it is taken: take makes "
          "room, not put",
          "Reserve before you make"});
  queue.take();
  settle(exam, {fourth});
  expect(exam, "reserve(3) after the first take", "true", fourth,
         {"take made room but woke no worker: notify the workers that wait for room",
          "A lost wake-up"});
}

LESSON_TEST(3, room_by_number,
            "room is reserved for a batch number, not for any worker") {
  const Queue queue(exam, 2);
  queue.reserve(1);
  expect(exam, "reserve(3) with depth 2, when only batch 1 is reserved", "it waits",
         queue.reserve(3),
         {"counting reservations lets fast workers occupy the places that the oldest "
          "batches need; then take waits for batch 0, whose worker waits for room: a "
          "deadlock. Room is number < taken + depth",
          "Reserve before you make"});
}

LESSON_TEST(3, take_wakes_all, "take wakes every worker that waits for room") {
  for (const auto& [first, second] : {std::pair{2, 3}, std::pair{3, 2}}) {
    const Queue queue(exam, 2);
    fill(exam, queue, {0, 1});
    const Call a = queue.reserve(first), b = queue.reserve(second);
    queue.take();
    settle(exam, {a, b});
    expect(exam, "reserve(2), after a take, while another worker waits for batch 3",
           "true", first == 2 ? a : b,
           {"notify_one wakes one worker, perhaps one whose batch still has no room; "
            "it sleeps again, and the right one is never woken: use notify_all",
            "A lost wake-up"});
  }
}

LESSON_TEST(3, close_wakes_all,
            "close ends every worker, including those that call later") {
  const Queue queue(exam, 2);
  fill(exam, queue, {0, 1});
  const std::vector<Call> waiting{queue.reserve(2), queue.reserve(3), queue.reserve(4)};
  queue.close();
  settle(exam, waiting);
  for (const Call& call : waiting) {
    expect(
        exam, "reserve, asleep when the queue is closed", "false", call,
        {"the epoch is over, but its workers sleep forever, so the program cannot end: "
         "close must wake all of them, and reserve must check whether it was closed",
         "A lost wake-up"});
  }
  const Queue empty(exam, 2);
  empty.close();
  expect(
      exam, "reserve(0) of a closed queue with room", "false", empty.reserve(0),
      {"a worker that calls reserve after close must also end, although there is room",
       "A lost wake-up"});
}

LESSON_TEST(3, lets_go, "the queue no longer holds taken batches") {
  struct Heavy : std::runtime_error {
    Heavy() : std::runtime_error("a batch of 1 GiB") {}
    std::shared_ptr<int> memory = std::make_shared<int>(0);
  };
  const Queue queue(exam, 2);
  queue.reserve(0);
  std::weak_ptr<int> memory;
  {
    data::Made made;
    Heavy heavy;
    memory = heavy.memory;
    made.error = std::make_exception_ptr(heavy);
    queue.put(0, std::move(made));
  }
  expect(exam, "take, of an error that was put in the batch's place",
         "a batch of 1 GiB", queue.take(),
         {"an error takes its batch's turn: hand it out, do not throw it or skip it",
          "The consumer determines the order"});
  exam.that(memory.expired(), "the memory of a batch that was taken and used",
            "it is free", "the queue still holds it",
            {"the bound counts only batches that are not taken, so the queue must "
             "release taken ones: move the batch out and empty its place",
             "Reserve before you make"});
}

/// Returns batches 0 … 11 as text: every label and every element of every image.
std::vector<std::string> epoch(int workers) {
  const auto pictures =
      std::make_shared<data::Generated>(std::vector<int64_t>{3, 8, 8}, 10, 48);
  std::atomic<int64_t> made = 0;
  data::LoaderOptions options;
  options.batch_size = 4;
  options.workers = workers;
  options.shuffle = true;
  options.on_batch = [&](int, int64_t, int64_t, int64_t) {
    ++made;
    made.notify_all();
  };
  data::DataLoader loader(pictures, options);
  loader.start_epoch(0);
  std::vector<std::string> batches;
  while (batches.size() < 12) {
    // The slowest possible training loop: workers are as far ahead as they are allowed
    // to get.
    const int64_t ahead = std::min<int64_t>(12, std::ssize(batches) + 2 * workers);
    for (int64_t now = made; now < ahead; now = made) made.wait(now);
    const std::optional<data::Batch> batch = loader.next();
    batches.push_back(fmt::format("labels {}, images {:.4f}", batch->labels,
                                  fmt::join(batch->images, " ")));
  }
  return batches;
}

LESSON_TEST(3, same_batches, "four workers load the same batches as none") {
  const std::vector<std::string> expected = epoch(0), got = epoch(4);
  for (size_t i = 0; i < expected.size(); ++i) {
    exam.that(expected[i] == got[i], fmt::format("batch {} of 12", i),
              expected[i].substr(0, 60) + " …", got[i].substr(0, 60) + " …",
              {"a batch must come out as it was put, including its images, however "
               "many other batches are waiting",
               "The consumer determines the order"});
  }
}

LESSON_TEST(3, trains, "a whole epoch is trained with your queue") {
  exam.train("-a toy --gpu 0 --device-type null -b 2 --length 200 -j 4",
             {"100 batches go through a queue that holds 8: places are reused, as in a "
              "ring buffer, or found by number, as in a map",
              "Reserve before you make"});
}

}  // namespace
}  // namespace lockstep::lessons
