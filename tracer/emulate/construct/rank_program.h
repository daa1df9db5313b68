// The recorded step with further work in it, before it is repeated on every rank.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "tracer/emulate/construct/recorded_step.h"
#include "tracer/emulate/hardware/hardware.h"

namespace lockstep::tracer {

/// What work that is not in the trace costs: taken from the trace, and from a machine
/// whose rates are known.
struct AddedCosts {
  int64_t launch = 0;       ///< ns of host time to enqueue a kernel or a collective
  double bytes_per_ns = 0;  ///< of a kernel that only moves memory; 0: unknown
  std::map<std::string, double> rates = {};  ///< see MemoryRates

  /// Returns the ns that a kernel of a phase takes to move `bytes`; 0 if its rate is
  /// unknown.
  int64_t time_of(const std::string& phase, const std::string& kernel,
                  int64_t bytes) const;
};

/// Returns the medians over the step's operations that launch one kernel and over its
/// kernels of at least 1 MB without FLOPs. `hardware` may be null.
AddedCosts added_costs(const RecordedStep& step, const Hardware* hardware);

/// Inserts work into a recorded step. The host needs time for what it enqueues:
/// everything that it did afterwards happens later by that time. Inserted events name
/// no line of a source: none was recorded.
class RankProgram {
 public:
  RankProgram(const RecordedStep& step, const Hardware* hardware);

  /// Where host events are inserted: after the recorded time `at` on a lane.
  struct Place {
    LaneKey lane;
    int64_t at = 0;  ///< ns from the start of the step
  };

  /// Inserts what `fill` adds by the functions below, which only it may call.
  void at(const Place& place, const std::function<void()>& fill);
  /// A phase that encloses what `fill` adds.
  void phase(const char* name, const std::function<void()>& fill, Json args = {});
  /// A mark on the host.
  void mark(const char* name, Args args);
  /// A kernel that moves `bytes`, and the operation that launches it, with the name of
  /// the parameter that it is for, if any. Returns the kernel's id.
  int64_t kernel(const char* op, const char* name, const char* phase, int64_t bytes,
                 IdList deps = {}, const std::string& param = "");
  /// An operation that launches a task which is not of this rank's device. Returns its
  /// id.
  int64_t launch(const char* op, Json args);
  /// The host waits for tasks of this rank, or for reserved ids.
  void wait(const IdList& ids, const char* why);
  /// Returns an id for a task that is added later, with that of its rank's repetition.
  int64_t reserve() { return next_id_++; }
  /// Returns a number above all ids.
  int64_t ids() const { return next_id_; }
  const AddedCosts& costs() const { return costs_; }
  /// An operation that launches a collective. Returns the id of the collective, whose
  /// duration is 0.
  int64_t collective(const char* op, const char* name, IdList deps, Json args);

  /// Makes the first kernel that is launched after `place` wait for an event.
  void next_kernel_waits(int64_t at, int64_t id);
  /// Returns an inserted kernel or collective.
  Event& task(int64_t id);

  /// Returns all events with the times that the host needs: those of tasks are only in
  /// order, and are to be computed by emulate(). Sorted.
  std::vector<Event> finish();

 private:
  struct Insertion {
    Place place;
    int64_t length = 0;
    std::vector<Event> events;  ///< times count from the insertion
  };
  Event& add(char ph, const char* cat, const char* name);
  Event make_task(const char* cat, const char* name, int64_t stream, IdList deps);
  int64_t delay(int64_t time) const;
  std::vector<Event> host_events() const;
  std::vector<Event> tasks_in_order(const std::vector<Event>& host) const;

  const AddedCosts costs_;
  std::vector<Event> recorded_;
  std::vector<Event> tasks_;  ///< inserted kernels and collectives
  std::vector<Insertion> insertions_;
  std::vector<std::pair<int64_t, int64_t>> waits_;  ///< time, id
  const int64_t number_;
  int64_t next_id_ = 0, device_pid_ = 0;
};

}  // namespace lockstep::tracer
