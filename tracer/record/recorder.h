// The recorder: where events of a running program are kept until they are written.
//
// Each thread appends to a buffer of its own, without locks; `collect` joins them into
// a trace (see collect.h). While the recorder is off every call returns at once, so the
// engine can leave its calls in place. All functions may be called from any thread;
// `collect` and `recorded_events` require that nothing records at the same time.
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

/// Nanoseconds of CLOCK_MONOTONIC, the clock of all events.
int64_t now_ns();

/// CPU time of the calling thread, ns (CLOCK_THREAD_CPUTIME_ID).
int64_t thread_cpu_ns();

/// A pointer that stays valid for the life of the process; equal strings give equal
/// pointers. Records hold such pointers instead of copies.
const char* intern(std::string_view text);

/// One argument of an event. Lists lie in the recording thread's list arena.
struct Arg {
  enum class Kind : uint8_t { integer, real, text, boolean, integers, shapes, texts };
  const char* key = nullptr;
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
  /// A list of texts, given as one text with a line for each.
  static Arg texts(const char* key, const char* lines) {
    Arg arg(key, lines);
    arg.kind = Kind::texts;
    return arg;
  }
  /// A list of integers, copied into the calling thread's arena.
  static Arg integers(const char* key, std::span<const int64_t> values);
  /// A list of shapes, given as (rank, dims…) one after the other.
  static Arg shapes(const char* key, std::span<const int64_t> encoded);
};

/// One event as it is recorded. Device −1 is the host; `lane` is the host thread or,
/// on a device, the stream (0 compute, 1 copy, 2 comm).
struct Record {
  char ph = 'X';
  const char* cat = "";
  const char* name = "";
  int device = -1, lane = 0;
  int rank = 0;  ///< of a host event; a device belongs to the rank that claimed it
  int64_t ts = 0, dur = 0;
  int64_t id = kNone, step = kNone, parent = kNone, op = kNone, fwd = kNone;
};

namespace detail {
extern std::atomic<bool> recording;
}

/// Is the recorder on?
inline bool recording() { return detail::recording.load(std::memory_order_relaxed); }

void start_recording();  ///< the first start fixes the trace's origin
/// Times count from here (`now_ns` of some moment): ranks of one machine share it.
void set_origin(int64_t ns);
int64_t recording_origin();
/// A text that all ranks of a run share, and no other run has.
void set_run(std::string_view run);
std::string current_run();
/// Names this boot of this machine: what CLOCK_MONOTONIC counts from.
std::string boot_id();
void stop_recording();  ///< pauses; what was recorded stays

/// A fresh event id; unique in this process.
int64_t next_id();

/// The training step to which the events of this thread (and of those that inherit its
/// context) belong from now on; kNone: none.
void set_step(int64_t step);
int64_t current_step();

/// DistributedDataParallel: which rank the calling thread works for (0 unless said).
void set_rank(int rank);
int current_rank();
/// Device number `device` belongs to `rank`; a device that nobody claims is rank 0's.
void claim_device(int device, int rank);

/// Appends to the calling thread's buffer, whatever the recorder's state.
void append(const Record& record, std::span<const Arg> args,
            std::span<const int64_t> deps = {},
            std::span<const int64_t> waits_for = {});

/// Names the calling thread's host lane (`main`, `replica cpu:1`, …). Threads that give
/// the same name one after the other share a lane.
void name_host_thread(std::string_view name);

/// The number of the host lane with that name, made if new.
int host_lane(std::string_view name);

/// What the calling thread is doing, inherited by the threads that it starts.
struct ThreadContext {
  int64_t parent = kNone;       ///< the caller of this thread's outermost events
  const char* phase = nullptr;  ///< the innermost open phase
  int64_t step = kNone;
  int rank = 0;
};
ThreadContext& thread_context();

/// Id of the innermost open host event of this thread, or its inherited parent.
int64_t innermost_event();

/// Id of the host event that ended last on this thread; kNone once it was collected.
int64_t last_closed_event();

/// An `X` event on the calling host thread, from construction to destruction.
class HostEvent {
 public:
  HostEvent(const char* cat, const char* name);
  ~HostEvent() { close(); }
  HostEvent(const HostEvent&) = delete;
  HostEvent& operator=(const HostEvent&) = delete;

  int64_t id() const { return record_.id; }  ///< kNone when nothing is recorded
  bool on() const { return record_.id != kNone; }
  HostEvent& arg(const Arg& arg);
  /// Adds to an integer argument, which starts at zero.
  HostEvent& add(const char* key, int64_t value);
  void set_fwd(int64_t forward_op) { record_.fwd = forward_op; }
  void waits_for(std::span<const int64_t> ids);
  void begin_at(int64_t ns) { record_.ts = ns; }  ///< it began before now
  void close();                                   ///< ends the event before destruction

 private:
  Record record_;
  std::array<Arg, 16> args_;
  int arg_count_ = 0;
  std::vector<int64_t> waits_for_;
  HostEvent* outer_ = nullptr;
};

/// The innermost open event of this thread; null if there is none.
HostEvent* innermost_host_event();

/// A phase of a training step; tasks enqueued inside it carry its name.
class Phase {
 public:
  explicit Phase(const char* name);
  ~Phase();
  HostEvent event;

 private:
  const char* outer_;
};

/// A mark (instant event) on a lane; `by` is the kernel that caused it, whose end then
/// becomes the mark's time.
void mark(const char* name, int device, int lane, std::span<const Arg> args,
          int64_t by = kNone);

/// How many events have been recorded since the last `collect`.
int64_t recorded_events();

}  // namespace lockstep::tracer
