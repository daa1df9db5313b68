// Lesson 21: one model, several workers. Which updates are lost, and which are stale?
#include <cstdint>
#include <functional>

#include "engine/sharing/shared_access.h"
#include "lessons/plugin.h"

using namespace lockstep;

/// One weight in shared memory. Each of the three is indivisible; between two of them
/// other workers may have changed the weight. (Do not change this struct.)
struct Weight {
  std::function<double()> load;
  /// Stores `value`; returns what was there.
  std::function<double(double value)> exchange;
  /// Stores `value` and returns true if the weight is still `expected`. Otherwise sets
  /// `expected` to what it is, stores nothing, and returns false. (It may also fail
  /// although nothing has changed: a processor is free to do so.)
  std::function<bool(double& expected, double value)> compare_exchange;
};

/// Returns where a worker's step leads a weight that is `now`. The worker had read
/// `read`, and its optimizer made `next` of it. A weight that nobody has changed since
/// becomes exactly `next`, bit by bit; any other moves as far as from `read` to `next`.
double moved(double now, double read, double next) {
  // [solution-moved]
  return now == read ? next : now + (next - read);
  // [/solution-moved]
  lessons::not_written("moved: where does the step lead from `now`?");
}

/// The way of PyTorch's optimizers on shared memory: loads the weight, moves it, stores
/// it, and does each of these once. Returns whether the store overwrote what another
/// worker had stored since the load.
bool store_step(const Weight& weight, double read, double next) {
  // [solution-store]
  const double now = weight.load();
  return weight.exchange(moved(now, read, next)) != now;
  // [/solution-store]
  lessons::not_written("store_step: load, move, store. What does the exchange tell?");
}

/// The way of the Hogwild paper: moves the weight so that no step is lost, neither this
/// worker's nor another's.
void add_step(const Weight& weight, double read, double next) {
  // [solution-add]
  double now = weight.load();
  while (!weight.compare_exchange(now, moved(now, read, next))) {
  }
  return;
  // [/solution-add]
  lessons::not_written("add_step: what if the weight has changed since the load?");
}

using sharing::LockFor;  // nothing, update, step

/// The beginning of a worker's step: reads the shared weights and returns the version
/// that `model.read()` returns. The forward and backward passes come after it.
/// `model.acquire()` waits for the lock on the whole model, `model.release()` gives it
/// back. The lock is held
///   LockFor::step     from here to the end of the step
///   LockFor::update   while the weights are read, and again while they are updated
///   LockFor::nothing  never: that is Hogwild
int64_t begin_step(sharing::SharedAccess& model, LockFor lock) {
  // [solution-begin]
  if (lock != LockFor::nothing) model.acquire();
  const int64_t version = model.read();
  if (lock == LockFor::update) model.release();
  return version;
  // [/solution-begin]
  lessons::not_written("begin_step: who holds the lock while the weights are read?");
}

/// The end of a worker's step: `model.apply(read_version)` updates the shared weights
/// and returns what it did. Returns the same.
sharing::Update end_step(sharing::SharedAccess& model, LockFor lock,
                         int64_t read_version) {
  // [solution-end]
  if (lock == LockFor::update) model.acquire();
  const sharing::Update update = model.apply(read_version);
  if (lock != LockFor::nothing) model.release();
  return update;
  // [/solution-end]
  lessons::not_written("end_step: who has to give the lock back?");
}

/// Every update makes a new version of the weights: the n-th update makes version n.
/// Returns the staleness of the update that made `version` with gradients computed from
/// `read_version`: how many updates of other workers came in between.
int64_t staleness(int64_t read_version, int64_t version) {
  // [solution-staleness]
  return version - 1 - read_version;
  // [/solution-staleness]
  lessons::not_written("staleness: is an update one of those in between?");
}

// The tests find your code through these functions; do not change them.
extern "C" double lesson_moved(double now, double read, double next) {
  return moved(now, read, next);
}
extern "C" bool lesson_store(
    const std::function<double()>& load, const std::function<double(double)>& exchange,
    const std::function<bool(double&, double)>& compare_exchange, double read,
    double next) {
  return store_step({load, exchange, compare_exchange}, read, next);
}
extern "C" void lesson_add(const std::function<double()>& load,
                           const std::function<double(double)>& exchange,
                           const std::function<bool(double&, double)>& compare_exchange,
                           double read, double next) {
  add_step({load, exchange, compare_exchange}, read, next);
}
extern "C" int64_t lesson_staleness(int64_t read_version, int64_t version) {
  return staleness(read_version, version);
}

LOCKSTEP_LESSON(21) {
  sharing::shared_begin().plug(begin_step);
  sharing::shared_end().plug(end_step);
}
