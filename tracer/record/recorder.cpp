#include "tracer/record/recorder.h"

#include <time.h>

#include <fstream>

#include "tracer/record/buffers.h"

namespace lockstep::tracer {

Shared& shared() {
  static Shared* state = new Shared;  // outlives every thread
  return *state;
}

namespace {

int64_t read_clock(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

std::atomic<int64_t> id_counter{0};

/// The state of one thread. Its buffer is reused by later threads.
struct Local {
  Buffer* buffer = nullptr;
  int lane = 0;
  HostEvent* innermost = nullptr;
  int64_t last_closed = kNone, failed = kNone;
  ThreadContext context;

  Local() {
    std::lock_guard lock(shared().mutex);
    if (shared().idle.empty()) {
      shared().buffers.push_back(std::make_unique<Buffer>(shared().next_buffer++));
      buffer = shared().buffers.back().get();
    } else {
      buffer = shared().idle.back();
      shared().idle.pop_back();
    }
  }
  ~Local() {
    std::lock_guard lock(shared().mutex);
    shared().idle.push_back(buffer);
  }
};

Local& local() {
  thread_local Local state;
  return state;
}

Arg list_arg(const char* key, Arg::Kind kind, std::span<const int64_t> values) {
  Arg arg;
  arg.key = key;
  arg.kind = kind;
  arg.list = {local().buffer->lists.append(values),
              static_cast<uint32_t>(values.size())};
  return arg;
}

}  // namespace

std::atomic<bool> detail::recording{false};

int64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }
int64_t thread_cpu_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

const char* intern(std::string_view text) {
  std::lock_guard lock(shared().mutex);
  auto& strings = shared().strings;
  auto found = strings.find(text);
  if (found == strings.end()) found = strings.emplace(text).first;
  return found->c_str();
}

Arg Arg::integers(const char* key, std::span<const int64_t> values) {
  return list_arg(key, Kind::integers, values);
}

Arg Arg::shapes(const char* key, std::span<const int64_t> encoded) {
  return list_arg(key, Kind::shapes, encoded);
}

void start_recording() {
  std::lock_guard lock(shared().mutex);
  if (shared().origin == 0) {
    shared().origin = now_ns();
    note(NoteKind::origin, shared().origin, "");
  }
  detail::recording = true;
}

void set_origin(int64_t ns) {
  std::lock_guard lock(shared().mutex);
  shared().origin = ns;
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

void set_run(std::string_view run) {
  std::lock_guard lock(shared().mutex);
  shared().run = run;
}

std::string current_run() {
  std::lock_guard lock(shared().mutex);
  return shared().run;
}

int64_t recording_origin() {
  std::lock_guard lock(shared().mutex);
  return shared().origin;
}

void stop_recording() { detail::recording = false; }

int64_t next_id() { return id_counter.fetch_add(1, std::memory_order_relaxed); }
void set_step(int64_t step) { local().context.step = step; }
int64_t current_step() { return local().context.step; }
void set_rank(int rank) { local().context.rank = rank; }
int current_rank() { return local().context.rank; }

void claim_device(int device, int rank) {
  std::lock_guard lock(shared().mutex);
  shared().device_ranks[device] = rank;
  note(NoteKind::device_rank, device, std::to_string(rank));
}

void append(const Record& record, std::span<const Arg> args,
            std::span<const int64_t> deps, std::span<const int64_t> waits_for) {
  Buffer& buffer = *local().buffer;
  if (detail::journaling.load(std::memory_order_relaxed)) {
    note_texts(buffer, record, args);
  }
  const Entry entry{record,
                    buffer.args.append(args),
                    static_cast<uint32_t>(args.size()),
                    buffer.lists.append(deps),
                    static_cast<uint32_t>(deps.size()),
                    buffer.lists.append(waits_for),
                    static_cast<uint32_t>(waits_for.size())};
  buffer.entries.append({&entry, 1});
}

int host_lane(std::string_view name) {
  std::lock_guard lock(shared().mutex);
  auto& lanes = shared().host_lanes;
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i] == name) return static_cast<int>(i);
  }
  lanes.emplace_back(name);
  note(NoteKind::lane, static_cast<int64_t>(lanes.size()) - 1, name);
  return static_cast<int>(lanes.size()) - 1;
}

void name_host_thread(std::string_view name) { local().lane = host_lane(name); }

ThreadContext& thread_context() { return local().context; }

int64_t innermost_event() {
  const Local& me = local();
  return me.innermost ? me.innermost->id() : me.context.parent;
}

HostEvent* innermost_host_event() { return local().innermost; }
int64_t last_closed_event() {
  const int64_t id = local().last_closed;
  return id < shared().first_kept.load(std::memory_order_relaxed) ? kNone : id;
}

HostEvent::HostEvent(const char* cat, const char* name) {
  if (!recording()) return;
  Local& me = local();
  outer_ = me.innermost;
  record_.cat = cat;
  record_.name = name;
  record_.lane = me.lane;
  record_.rank = me.context.rank;
  record_.step = me.context.step;
  if (outer_ == nullptr) record_.parent = me.context.parent;
  me.innermost = this;
  me.failed = kNone;
  exceptions_ = std::uncaught_exceptions();
  record_.id = next_id();
  record_.ts = now_ns();
}

HostEvent::~HostEvent() {
  if (!on()) return;
  if (std::uncaught_exceptions() > exceptions_ && local().failed == kNone) {
    local().failed = record_.id;
  }
  close();
}

int64_t failed_event() { return local().failed; }
void set_failed_event(int64_t id) { local().failed = id; }

HostEvent& HostEvent::arg(const Arg& arg) {
  if (on() && arg_count_ < static_cast<int>(args_.size())) args_[arg_count_++] = arg;
  return *this;
}

HostEvent& HostEvent::add(const char* key, int64_t value) {
  for (int i = 0; i < arg_count_; ++i) {
    if (args_[i].key == key) {
      args_[i].integer += value;
      return *this;
    }
  }
  return arg({key, value});
}

void HostEvent::waits_for(std::span<const int64_t> ids) {
  if (on()) waits_for_.assign(ids.begin(), ids.end());
}

void HostEvent::close() {
  if (!on()) return;
  record_.dur = now_ns() - record_.ts;
  append(record_, {args_.data(), static_cast<size_t>(arg_count_)}, {}, waits_for_);
  local().innermost = outer_;
  local().last_closed = record_.id;
  record_.id = kNone;
}

Phase::Phase(const char* name, std::source_location site)
    : event("phase", name), outer_(thread_context().phase) {
  thread_context().phase = name;
  if (site.line() == 0) return;
  event.arg({keys::file, site.file_name()});
  event.arg({keys::line, static_cast<int64_t>(site.line())});
}

Phase::~Phase() { thread_context().phase = outer_; }

void mark(const char* name, int device, int lane, std::span<const Arg> args,
          int64_t by) {
  if (!recording()) return;
  Record record{'i', "mark", name, device, device < 0 ? local().lane : lane};
  record.id = next_id();
  record.rank = current_rank();
  record.step = current_step();
  record.ts = now_ns();
  record.op = by;  // `collect` turns it into args.by and moves the mark
  append(record, args);
}

StepFacts& step_facts() {
  thread_local StepFacts facts;
  return facts;
}

int64_t recorded_events() {
  std::lock_guard lock(shared().mutex);
  int64_t count = 0;
  for (const auto& buffer : shared().buffers)
    count += static_cast<int64_t>(buffer->entries.size());
  return count;
}

}  // namespace lockstep::tracer
