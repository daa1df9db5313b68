// Lesson 22's backup worker and workers that leave: what becomes of a gradient that
// comes too late, and of those that wait for one that never comes.
#pragma once

#include <random>
#include <set>
#include <string>
#include <vector>

#include "lessons/machine/server_by_hand.h"

namespace lockstep::lessons {

constexpr const char* kTooLate = "Too late";  ///< the chapter's paragraph

/// The gradient of one worker comes `more` updates after the one that it has missed.
inline void check_too_late(const Exam& exam, int more) {
  std::mt19937_64 random(exam.seed());
  const int workers = 4 + static_cast<int>(random() % 3);
  ServerByHand server(workers,
                      {.consistency = sharing::Consistency::sync, .backup = 1});
  const int late = static_cast<int>(random() % workers);
  std::set<int> others;
  for (int worker = 0; worker < workers; ++worker) {
    server.pull(worker);
    if (worker != late) others.insert(worker);
  }
  const std::string which = fmt::format(
      "{} workers, of which one is a backup (seed {})", workers, exam.seed());
  for (const int worker : others) server.push(worker);
  expect_update(
      exam, which + ": the update when all gradients but one have arrived", server, 1,
      {others, 1.0 / (workers - 1)},
      {"`server.needed()` gradients make an update. That is fewer than there are "
       "workers if some are a reserve, or have left",
       kTooLate},
      server.scale() == 1.0 / workers
          ? Because{"the mean of those that are in it: divide by their number, not by "
                    "that of all workers",
                    kTooLate}
          : Because{"the mean of the gradients that have arrived", kTooLate});
  for (const int worker : others) server.pull(worker);
  for (int update = 0; update < more; ++update) {
    for (const int worker : others) server.push(worker);
    for (const int worker : others) server.pull(worker);
  }
  server.push(*others.begin());  // the next update has begun
  server.push(late);
  exam.equal(which + ": gradients that are discarded", std::vector<int>{late},
             server.discarded(),
             {fmt::format("it was computed for version 0, and the server has version "
                          "{}: an update would mix gradients for different weights",
                          more + 1),
              kTooLate});
  exam.equal(which + ": gradients that wait", std::set<int>{*others.begin()},
             server.arrived(), {"that of the worker that is on time", kTooLate});
  exam.that(server.may_pull(late), which + ": the late worker asks for the weights",
            "it gets them, and goes on with the others", "it waits",
            {"its gradient is in no update and will be in none: there is nothing to "
             "wait for",
             kTooLate});
  server.pull(late);
  server.push(late);
  exam.that(
      !server.may_pull(late), which + ": it pushes again, on time, and asks",
      "it waits", "it gets the weights of before the update",
      {"its gradient waits for an update, whatever became of earlier ones", kTooLate});
  for (const int worker : others) {
    if (server.made().size() == size_t(more) + 1 && worker != *others.begin())
      server.push(worker);
  }
  exam.equal(which + ": updates when it takes part again", size_t(more) + 2,
             server.made().size(),
             {"the late worker counts as the others do", kTooLate});
}

/// Workers leave, and nobody waits for them.
inline void check_who_has_left(const Exam& exam) {
  ServerByHand server(4, {sharing::Consistency::sync});
  server.leave(2);
  for (const int worker : {3, 0, 1}) server.push(worker);
  expect_update(
      exam, "sync: 3 of 4 workers still make steps, and have pushed", server, 1,
      {{0, 1, 3}, 1.0 / 3},
      {"`server.needed()` says how many gradients an update waits for: 3", kTooLate},
      {"the mean of those that are in it", kTooLate});
  for (const int worker : {0, 1, 3}) server.pull(worker);
  for (const int worker : {1, 3}) server.push(worker);
  server.leave(0);  // the two that wait are enough now, and the engine updates
  for (const int worker : {1, 3}) server.pull(worker);
  server.push(3);
  exam.equal(
      "sync: updates when worker 0 has left, the engine has made the update that was "
      "due, and one of the two other workers has pushed again",
      size_t{2}, server.made().size(),
      {"the engine makes an update, too: what has arrived at a server is "
       "`server.arrived()`. A list of your own still has what was used",
       kTooLate});
  server.push(1);
  expect_update(
      exam, "sync: the update when both of them have pushed again", server, 3,
      {{1, 3}, 0.5},
      {"`server.needed()` is 2 now, and both gradients have arrived", kTooLate},
      {"the mean of those that have arrived since the last update", kTooLate});
  ServerByHand reserve(5, {.consistency = sharing::Consistency::sync, .backup = 1});
  reserve.leave(4);
  for (const int worker : {2, 0, 3}) reserve.push(worker);
  exam.equal(
      "sync with one backup worker: 1 of 5 workers has left, 3 have pushed. Updates",
      size_t{0}, reserve.made().size(),
      {"`server.needed()` is 4, as before: who has left was the reserve", kTooLate});
  reserve.push(1);
  expect_update(
      exam, "sync with one backup worker: the 4 that are left have pushed", reserve, 1,
      {{0, 1, 2, 3}, 0.25},
      {"`server.needed()` is 4, as before: who has left was the reserve", kTooLate},
      {"the mean of those that are in it", kTooLate});
}

}  // namespace lockstep::lessons
