// The recorder: keeps the events of a running program until a trace is written.
//
// Each thread appends to a separate buffer without locking; `collect` (collect.h)
// joins the buffers. While the recorder is off, every call returns immediately, so
// the engine can leave its calls in place. All functions are thread-safe, but
// `collect` and `recorded_events` must not be called while any thread is recording.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/format/keys.h"

namespace lockstep::tracer {

/// Returns CLOCK_MONOTONIC, the clock of all events, in ns.
int64_t now_ns();

/// Returns the CPU time of the calling thread in ns (CLOCK_THREAD_CPUTIME_ID).
int64_t thread_cpu_ns();

/// Returns a copy of `text` that is never freed; equal strings yield equal
/// pointers. Records hold such pointers instead of strings. Takes a lock.
const char* intern(std::string_view text);

/// One argument of an event. Lists are kept in an arena of the thread
/// that created the Arg, so it must be appended by the same thread.
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
  /// A list of strings, passed as one string with one element per line. `lines` must be
  /// interned or a literal.
  static Arg texts(const char* key, const char* lines) {
    Arg arg(key, lines);
    arg.kind = Kind::texts;
    return arg;
  }
  /// A list of integers, copied into the calling thread's arena.
  static Arg integers(const char* key, std::span<const int64_t> values);
  /// A list of shapes, each encoded as its number of dimensions and the sizes; copied.
  static Arg shapes(const char* key, std::span<const int64_t> encoded);
};

/// One event as recorded; see Event (tracer/format/trace.h) for the fields.
struct Record {
  char ph = 'X';
  const char* cat = "";  ///< interned or a literal; the same applies to `name`
  const char* name = "";
  int device = -1;  ///< −1: the host
  int lane = 0;     ///< the host thread; for a device the stream: compute, copy, comm
  int rank = 0;     ///< for a host event; a device belongs to the rank that claimed it
  int64_t ts = 0, dur = 0;  ///< ns, as in now_ns
  int64_t id = kNone, step = kNone, parent = kNone, op = kNone, fwd = kNone;
};

namespace detail {
extern std::atomic<bool> recording;
}

/// Returns true if the recorder is on.
inline bool recording() { return detail::recording.load(std::memory_order_relaxed); }

/// Turns the recorder on. The first call sets the trace's origin unless already set.
void start_recording();

/// Turns the recorder off. Recorded events are kept until `collect`.
void stop_recording();

/// Sets the origin of the trace's times (as in
/// now_ns); it is shared by the ranks of one machine.
void set_origin(int64_t ns);
int64_t recording_origin();

/// Sets the name of the run, shared by all of its ranks and unique to the run.
void set_run(std::string_view run);
std::string current_run();

/// Returns the id of this machine's current boot: CLOCK_MONOTONIC restarts at each.
std::string boot_id();

/// Returns a new event id, unique in this process.
int64_t next_id();

/// Sets the training step of later events of this thread, and
/// of threads that inherit its context; kNone means no step.
void set_step(int64_t step);
int64_t current_step();

/// Sets the rank for which the calling thread works
/// (DistributedDataParallel). The default is 0.
void set_rank(int rank);
int current_rank();

/// Assigns device number `device` to `rank`; unclaimed devices belong to rank 0.
void claim_device(int device, int rank);

/// Appends to the calling thread's buffer, even if the recorder is off.
void append(const Record& record, std::span<const Arg> args,
            std::span<const int64_t> deps = {},
            std::span<const int64_t> waits_for = {});

/// Assigns later events of the calling thread to the host lane with this name
/// (`main`, `replica cpu:1`, …). Only one thread at a time may use a lane.
void name_host_thread(std::string_view name);

/// Returns the number of the host lane with this name, which is added if it is new.
int host_lane(std::string_view name);

/// State of the calling thread. A thread that
/// starts other threads passes it on by assignment.
struct ThreadContext {
  int64_t parent = kNone;       ///< the caller of this thread's outermost events
  const char* phase = nullptr;  ///< the innermost open phase
  int64_t step = kNone;
  int rank = 0;
};
ThreadContext& thread_context();

/// Facts that are known only to the wrapper around the model and stored
/// in the step's event; `trace check` requires them for its byte laws.
struct StepFacts {
  std::vector<int64_t> chunks;  ///< DataParallel: samples in each device's chunk
  int64_t output_bytes = 0;     ///< DataParallel: size of the joined output
};

/// Returns the facts of the step that the calling thread
/// is running. The code that begins a step clears them.
StepFacts& step_facts();

/// Returns the id of this thread's innermost open host
/// event, or its inherited parent if there is none.
int64_t innermost_event();

/// Returns the id of the host event that ended last on
/// this thread, or kNone if that event was collected.
int64_t last_closed_event();

/// An `X` event on the calling host thread, from construction to
/// destruction. Must be used by a single thread and closed in reverse order
/// of construction. Does nothing if the recorder was off at construction.
class HostEvent {
 public:
  HostEvent(const char* cat, const char* name);
  ~HostEvent();  ///< also notes the event if an exception ends it; see failed_event
  HostEvent(const HostEvent&) = delete;
  HostEvent& operator=(const HostEvent&) = delete;

  int64_t id() const { return record_.id; }  ///< kNone if nothing is recorded
  bool on() const { return record_.id != kNone; }
  /// Adds an argument; arguments beyond 16 are dropped.
  HostEvent& arg(const Arg& arg);
  /// Adds `value` to an integer argument, which starts at zero.
  HostEvent& add(const char* key, int64_t value);
  void set_fwd(int64_t forward_op) { record_.fwd = forward_op; }
  void waits_for(std::span<const int64_t> ids);
  void begin_at(int64_t ns) { record_.ts = ns; }  ///< sets an earlier start time
  void close();                                   ///< ends the event immediately

 private:
  Record record_;
  std::array<Arg, 16> args_;
  int arg_count_ = 0;
  std::vector<int64_t> waits_for_;
  HostEvent* outer_ = nullptr;
  int exceptions_ = 0;  ///< those in flight at construction
};

/// Returns the id of the innermost event of this thread that an exception ended; kNone
/// if there is none, or if a later event has begun.
int64_t failed_event();
void set_failed_event(int64_t id);

/// Returns the innermost open event of this thread, or nullptr.
HostEvent* innermost_host_event();

/// A phase of a training step, from construction to
/// destruction. Tasks enqueued inside it carry its name. `site` becomes its
/// `file` and `line`; a default-constructed one is omitted.
class Phase {
 public:
  explicit Phase(const char* name,
                 std::source_location site = std::source_location::current());
  ~Phase();
  HostEvent event;

 private:
  const char* outer_;
};

/// Records a mark (instant event) on a lane. `by` is the kernel that caused
/// the mark: `collect` then moves the mark to the end of that kernel.
void mark(const char* name, int device, int lane, std::span<const Arg> args,
          int64_t by = kNone);

/// Returns the number of events recorded since the last `collect`.
int64_t recorded_events();

}  // namespace lockstep::tracer
