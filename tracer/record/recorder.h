// The recorder: keeps the events of a running program until a trace is written.
//
// Each thread appends to a buffer of its own, without locks; `collect` (collect.h)
// joins the buffers. While the recorder is off every call returns at once, so the
// engine can leave its calls in place. All functions are thread-safe, but `collect` and
// `recorded_events` must not be called while anything records.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/format/ids.h"

namespace lockstep::tracer {

/// Returns CLOCK_MONOTONIC, the clock of all events, in ns.
int64_t now_ns();

/// Returns the CPU time of the calling thread in ns (CLOCK_THREAD_CPUTIME_ID).
int64_t thread_cpu_ns();

/// Returns a copy of `text` that is never freed; equal texts give equal pointers.
/// Records hold such pointers instead of strings. Takes a lock.
const char* intern(std::string_view text);

/// One argument of an event. Lists are kept in an arena of the thread that created the
/// Arg, so that thread must append it.
struct Arg {
  enum class Kind : uint8_t { integer, real, text, boolean, integers, shapes, texts };
  const char* key = nullptr;  ///< interned or a literal
  Kind kind = Kind::integer;
  union {
    int64_t integer;
    double real;
    const char* text;  ///< interned or a literal
    struct {
      uint32_t first, count;
    } list;
  };
  Arg() : integer(0) {}
  Arg(const char* k, int64_t v) : key(k), kind(Kind::integer), integer(v) {}
  Arg(const char* k, int v) : Arg(k, static_cast<int64_t>(v)) {}
  Arg(const char* k, double v) : key(k), kind(Kind::real), real(v) {}
  Arg(const char* k, const char* v) : key(k), kind(Kind::text), text(v) {}
  Arg(const char* k, bool v) : key(k), kind(Kind::boolean), integer(v) {}
  /// A list of texts, given as one text with a line for each; interned or a literal.
  static Arg texts(const char* key, const char* lines) {
    Arg arg(key, lines);
    arg.kind = Kind::texts;
    return arg;
  }
  /// A list of integers, copied into the calling thread's arena.
  static Arg integers(const char* key, std::span<const int64_t> values);
  /// A list of shapes, each given as its number of dimensions, then these; copied.
  static Arg shapes(const char* key, std::span<const int64_t> encoded);
};

/// One event as it is recorded; Event (tracer/format/trace.h) explains the fields.
struct Record {
  char ph = 'X';
  const char* cat = "";  ///< interned or a literal, as is `name`
  const char* name = "";
  int device = -1;  ///< −1: the host
  int lane = 0;     ///< the host thread; on a device its stream: compute, copy, comm
  int rank = 0;     ///< of a host event; a device belongs to the rank that claimed it
  int64_t ts = 0, dur = 0;  ///< ns, as now_ns
  int64_t id = kNone, step = kNone, parent = kNone, op = kNone, fwd = kNone;
};

namespace detail {
extern std::atomic<bool> recording;
}

/// Returns whether the recorder is on.
inline bool recording() { return detail::recording.load(std::memory_order_relaxed); }

/// Turns the recorder on. The first call sets the trace's origin, unless it is set.
void start_recording();

/// Turns the recorder off. What was recorded stays until `collect`.
void stop_recording();

/// Sets the moment (as now_ns) from which the trace's times count; ranks of one machine
/// share it.
void set_origin(int64_t ns);
int64_t recording_origin();

/// Sets the run's name, which all its ranks share and no other run has.
void set_run(std::string_view run);
std::string current_run();

/// Returns the id of this boot of this machine: CLOCK_MONOTONIC restarts at each.
std::string boot_id();

/// Returns a new event id, unique in this process.
int64_t next_id();

/// Sets the training step of later events of this thread, and of threads that inherit
/// its context; kNone: none.
void set_step(int64_t step);
int64_t current_step();

/// Sets the rank for which the calling thread works (DistributedDataParallel); default
/// 0.
void set_rank(int rank);
int current_rank();

/// Makes device number `device` belong to `rank`; unclaimed devices are rank 0's.
void claim_device(int device, int rank);

/// Appends to the calling thread's buffer, also while the recorder is off.
void append(const Record& record, std::span<const Arg> args,
            std::span<const int64_t> deps = {},
            std::span<const int64_t> waits_for = {});

/// Puts the calling thread's later events on the host lane of that name (`main`,
/// `replica cpu:1`, …). Only one thread at a time may use a lane.
void name_host_thread(std::string_view name);

/// Returns the number of the host lane of that name; adds it if it is new.
int host_lane(std::string_view name);

/// What the calling thread is doing. A thread that starts others passes it on by
/// assignment.
struct ThreadContext {
  int64_t parent = kNone;       ///< the caller of this thread's outermost events
  const char* phase = nullptr;  ///< the innermost open phase
  int64_t step = kNone;
  int rank = 0;
};
ThreadContext& thread_context();

/// Returns the id of this thread's innermost open host event, else its inherited
/// parent.
int64_t innermost_event();

/// Returns the id of the host event that ended last on this thread; kNone if that was
/// collected.
int64_t last_closed_event();

/// An `X` event on the calling host thread, from construction to destruction. Must be
/// used by one thread and closed in reverse order of construction. Does nothing if the
/// recorder was off at construction.
class HostEvent {
 public:
  HostEvent(const char* cat, const char* name);
  ~HostEvent() { close(); }
  HostEvent(const HostEvent&) = delete;
  HostEvent& operator=(const HostEvent&) = delete;

  int64_t id() const { return record_.id; }  ///< kNone when nothing is recorded
  bool on() const { return record_.id != kNone; }
  /// Adds an argument; those beyond 16 are dropped.
  HostEvent& arg(const Arg& arg);
  /// Adds `value` to an integer argument, which starts at zero.
  HostEvent& add(const char* key, int64_t value);
  void set_fwd(int64_t forward_op) { record_.fwd = forward_op; }
  void waits_for(std::span<const int64_t> ids);
  void begin_at(int64_t ns) { record_.ts = ns; }  ///< sets an earlier begin
  void close();                                   ///< ends the event now

 private:
  Record record_;
  std::array<Arg, 16> args_;
  int arg_count_ = 0;
  std::vector<int64_t> waits_for_;
  HostEvent* outer_ = nullptr;
};

/// Returns the innermost open event of this thread, or null.
HostEvent* innermost_host_event();

/// A phase of a training step, from construction to destruction; tasks that are
/// enqueued inside it carry its name.
class Phase {
 public:
  explicit Phase(const char* name);
  ~Phase();
  HostEvent event;

 private:
  const char* outer_;
};

/// Records a mark (instant event) on a lane. `by` is the kernel that caused it:
/// `collect` then moves the mark to that kernel's end.
void mark(const char* name, int device, int lane, std::span<const Arg> args,
          int64_t by = kNone);

/// Returns how many events have been recorded since the last `collect`.
int64_t recorded_events();

}  // namespace lockstep::tracer
