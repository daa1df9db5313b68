
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/data/generated.h"
#include "engine/data/loader.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/locks.h"
#include "lessons/machine/queue_calls.h"
#include "lessons/machine/symbols.h"

namespace lockstep::lessons::lesson_03 {

LESSON_TEST(3, in_order,
            "batches come out in order of their numbers, whatever the order in which "
            "they arrived") {
  const Queue queue(4);
  fill(exam, queue, {2, 0, 3, 1});
  for (int64_t number = 0; number < 4; ++number) {
    expect(exam, "take, after put 2, 0, 3, 1", fmt::format("batch {}", number),
           queue.take(),
           {"the training loop must get the same batches in the same order with any "
            "number of workers: take the next number, not what came first",
            "The consumer determines the order"});
  }
  const Queue deep(12);
  fill(exam, deep, {11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  for (int64_t number = 0; number < 12; ++number) {
    expect(exam, "take, with depth 12, after put 11 … 0",
           fmt::format("batch {}", number), deep.take(),
           {"the queue must have `depth` places, whatever the depth: with a fixed "
            "number of places, one batch overwrites another",
            "Reserve before you make"});
  }
}

LESSON_TEST(3, take_waits, "take waits for the next batch and for no other") {
  const Because next{
      "the next batch in order is the only one that may be handed out, even if later "
      "ones have already arrived",
      "The consumer determines the order"};
  const Queue abandoned(2);
  fill(exam, abandoned, {0, 1});
  expect(exam, "take from a new queue, after another one was abandoned with 2 batches",
         "it waits", Queue(2).take(),
         {"every epoch has a queue of its own: what a queue holds must be in its "
          "members, neither static nor global",
          "The consumer determines the order"});
  const Queue queue(2);
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
  settle({take});
  expect(exam, "take of batch 2, after put(3)", "it waits", take, next);
  queue.put(2);
  settle({take});
  expect(exam, "take of batch 2, after put(2)", "batch 2", take,
         {"the training loop sleeps and is never woken: put must notify the condition "
          "variable on which take waits",
          "A lost wake-up"});
}

LESSON_TEST(3, bounded, "at most `depth` batches are reserved but not taken") {
  const Queue wanted(3);
  int64_t reserved = 0;
  for (int64_t number = 0; number < 12; ++number) {
    if (wanted.reserve(number).returned()) ++reserved;
  }
  exam.at_most("batches reserved but not taken, with depth 3, when 12 are requested",
               int64_t{3}, reserved,
               {"workers are faster than the device: without a bound they fill the "
                "memory, and a bound that is off by one admits one batch too many",
                "Reserve before you make"});

  const Queue queue(3);
  fill(exam, queue, {0, 1, 2});
  const Call fourth = queue.reserve(3);
  expect(exam, "reserve(3) with depth 3, when batches 0, 1 and 2 were put", "it waits",
         fourth,
         {"a batch occupies memory from when it is made until it is taken: take makes "
          "room, not put",
          "Reserve before you make"});
  queue.take();
  settle({fourth});
  expect(exam, "reserve(3) after the first take", "true", fourth,
         {"take made room but woke no worker: notify the workers that wait for room",
          "A lost wake-up"});
  for (int64_t number = 4; number < 10; ++number) {
    queue.put(number - 1);
    queue.take();
    expect(exam,
           fmt::format("reserve({}) with depth 3, after {} takes", number, number - 2),
           "true", queue.reserve(number),
           {"`taken` counts all batches that were ever taken: an index into the ring, "
            "which starts again at 0, cannot be compared with batch numbers",
            "Reserve before you make"});
  }

  const Queue hungry(3);
  for (int64_t number : {0, 1, 2}) hungry.reserve(number);
  const Call take = hungry.take();
  expect(exam, "reserve(3) with depth 3, while take waits for batch 0", "it waits",
         hungry.reserve(3),
         {"a batch counts as taken once take has removed it from the queue, not when "
          "the training loop begins to wait for it",
          "Reserve before you make"});
}

LESSON_TEST(3, room_by_number,
            "room is reserved for a batch number, not for whichever worker asks") {
  const Queue queue(2);
  expect(exam, "reserve(1) with depth 2, before any other call", "true",
         queue.reserve(1),
         {"a worker must not wait for another's reservation: room depends on the "
          "batch's number and on what was taken, not on who came before",
          "Reserve before you make"});
  expect(exam, "reserve(3) with depth 2, when only batch 1 is reserved", "it waits",
         queue.reserve(3),
         {"counting reservations lets fast workers occupy the places that the oldest "
          "batches need; then take waits for batch 0, whose worker waits for room: a "
          "deadlock. Room is number < taken + depth",
          "Reserve before you make"});
}

LESSON_TEST(3, take_wakes_all, "take wakes every worker that waits for room") {
  for (const auto& [first, second] : {std::pair{2, 3}, std::pair{3, 2}}) {
    const Queue queue(2);
    fill(exam, queue, {0, 1});
    const Call a = queue.reserve(first), b = queue.reserve(second);
    queue.take();
    settle({a, b});
    expect(exam, "reserve(2), after a take, while another worker waits for batch 3",
           "true", first == 2 ? a : b,
           {"notify_one wakes one worker, perhaps one whose batch still has no room; "
            "it sleeps again, and the right one is never woken: use notify_all",
            "A lost wake-up"});
    expect(exam, "reserve(3), after a take that made room for batch 2", "it waits",
           first == 2 ? b : a,
           {"a notification only says “look again”: wait(lock, condition) looks each "
            "time it wakes, wait(lock) does not",
            "A lost wake-up"});
  }
}

LESSON_TEST(3, close_wakes_all,
            "close ends every worker, including those that call later") {
  const Queue queue(2);
  fill(exam, queue, {0, 1});
  const std::vector<Call> waiting{queue.reserve(2), queue.reserve(3), queue.reserve(4)};
  queue.close();
  settle(waiting);
  for (const Call& call : waiting) {
    expect(
        exam, "reserve, asleep when the queue is closed", "false", call,
        {"the epoch is over, but its workers sleep forever, so the program cannot end: "
         "close must wake all of them, and reserve must check whether it was closed",
         "A lost wake-up"});
  }
  const Queue empty(2);
  empty.close();
  expect(
      exam, "reserve(0) on a closed queue with room", "false", empty.reserve(0),
      {"a worker that calls reserve after close must also end, although there is room",
       "A lost wake-up"});
}

LESSON_TEST(3, lets_go, "the queue no longer holds taken batches") {
  struct Heavy : std::runtime_error {
    Heavy() : std::runtime_error("a batch of 1 GiB") {}
    std::shared_ptr<int> memory = std::make_shared<int>(0);
  };
  const Queue queue(2);
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

LESSON_TEST(3, put_wakes_the_loop, "put wakes the training loop, not a worker") {
  const Queue queue(2);
  for (int64_t number : {0, 1}) queue.reserve(number);
  std::vector<Call> all{queue.reserve(2), queue.reserve(3), queue.reserve(4)};
  const Call take = queue.take();
  queue.put(0);
  all.push_back(take);
  settle(all);
  expect(exam, "take of batch 0, after put(0), while 3 workers wait for room",
         "batch 0", take,
         {"workers and the training loop wait on the same condition variable, and "
          "notify_one may wake a worker instead: use one for each, or notify_all",
          "A lost wake-up"});
}

LESSON_TEST(3, errors_in_turn, "an error takes its batch's turn, and ends nothing") {
  const Queue queue(2);
  for (int64_t number : {0, 1}) queue.reserve(number);
  data::Made error;
  error.error = std::make_exception_ptr(std::runtime_error("a broken image"));
  queue.put(1, std::move(error));
  const Call first = queue.take();
  expect(exam, "take, after an error was put as batch 1, before batch 0", "it waits",
         first,
         {"an error must wait for its turn: if it jumps the queue, luck decides which "
          "batches precede it",
          "The consumer determines the order"});
  queue.put(0);
  settle({first});
  expect(exam, "take, of batch 0", "batch 0", first, {});
  expect(exam, "take, of the error put as batch 1", "a broken image", queue.take(), {});
  const Because counts{
      "an error is taken like a batch: it counts, its place becomes free, and the next "
      "call continues with the next batch",
      "The consumer determines the order"};
  expect(exam, "reserve(3) with depth 2, after batch 0 and the error were taken",
         "true", queue.reserve(3), counts);
  queue.reserve(2);
  queue.put(2);
  expect(exam, "take, after the error", "batch 2", queue.take(), counts);
}

LESSON_TEST(3, moved, "a batch changes hands without being copied") {
  const auto queue = std::shared_ptr<data::BatchQueue>(data::batch_queue()(2));
  queue->reserve(0);
  data::Made made = batch(0);
  const int64_t* labels = made.batch->labels.data();
  queue->put(0, std::move(made));
  const bool moved = queue->take().batch->labels.data() == labels;
  exam.that(moved, "the memory of a batch that was put and taken", "the same",
            "other memory: it was copied",
            {"a batch of 256 images takes 150 MB, and is copied while all workers wait "
             "for the mutex: std::move it in and out",
             "The consumer determines the order"});
}

// --- races that almost never show up

/// Throws Wrong unless the call locked a mutex before it notified.
void expect_locked(const Exam& exam, const std::string& what, const Call& call) {
  exam.that(locks(call.locks()), "mutexes that " + what + " locks", "at least one",
            "none",
            {"what several threads access is read and written under the mutex, even "
             "for a brief check and even if it is atomic: otherwise a thread that is "
             "about to sleep misses the notification",
             "A lost wake-up"});
  exam.that(!notifies_only_before_lock(call.locks()), "the notification of " + what,
            "after it has locked the mutex", "before",
            {"a thread that is woken before the change looks, sees nothing new, and "
             "goes back to sleep: change first, then notify",
             "A lost wake-up"});
}

void expect_same_mutex(const Exam& exam, const std::string& what, const Call& one,
                       const Call& other) {
  exam.that(share_a_mutex(one.locks(), other.locks()), "the mutexes of " + what,
            "one that both lock", "different ones",
            {"one mutex guards what both access; each condition variable has its own "
             "waiting threads, but not its own mutex",
             "A lost wake-up"});
}

LESSON_TEST(3, locked, "what threads share is accessed under one mutex") {
  for (const std::string& name : symbols_of(exam.library()).used) {
    const bool timed = name == "pthread_cond_clockwait" || name == "usleep" ||
                       name == "pthread_cond_timedwait" || name == "nanosleep" ||
                       name == "clock_nanosleep";
    exam.that(!timed, "calls that sleep or wait with a timeout", "none",
              fmt::format("your file calls `{}`", name),
              {"checking every millisecond is a busy loop with pauses: the thread "
               "wakes in vain, and late; wait until it is notified",
               "Waiting without burning a core"});
  }
  note_locks(exam.library());
  const Queue queue(2);
  const Call reserve = queue.reserve(0), put = queue.put(0), take = queue.take();
  expect_locked(exam, "reserve", reserve);
  expect_locked(exam, "put", put);
  expect_locked(exam, "take", take);
  expect_same_mutex(exam, "put and take", put, take);
  expect_same_mutex(exam, "take and reserve", take, reserve);
  const Call close = queue.close();
  expect_locked(exam, "close", close);
  expect_same_mutex(exam, "close and reserve", close, reserve);
}

LESSON_TEST(3, counted_in_time, "a batch counts as taken before the mutex is free") {
  const auto queue = std::shared_ptr<data::BatchQueue>(data::batch_queue()(1));
  queue->reserve(0);
  queue->put(0, batch(0));
  std::optional<Call> next;  // begins when take first unlocks
  bool room = false;
  after_each_unlock([&] {
    if (!next) next.emplace([queue] { return queue->reserve(1) ? "true" : "false"; });
    settle({*next});
    room = next->returned();
  });
  queue->take();
  after_each_unlock({});
  exam.that(
      !next || room,
      "whether there is room for batch 1 once take has unlocked the mutex", "yes",
      "not yet",
      {"`taken` changes after the mutex is free, atomic or not: a worker that has "
       "just looked, and is about to sleep, misses the notification",
       "A lost wake-up"});
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
              {"a batch must come out as it was put in, including its images, however "
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

}  // namespace lockstep::lessons::lesson_03
