// Lesson 22's backup worker: what becomes of a gradient that comes too late.
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

}  // namespace lockstep::lessons
