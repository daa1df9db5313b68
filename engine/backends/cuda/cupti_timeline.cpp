#include "engine/backends/cuda/cupti_timeline.h"

#ifdef LOCKSTEP_HAS_CUPTI
#include <cupti.h>
#include <cxxabi.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "engine/backends/cuda/activity.h"
#include "tracer/record/recorder.h"

namespace lockstep::cuda {
namespace {

// Record layouts depend on the CUPTI version; these are the newest types.
#if CUPTI_API_VERSION >= 130000
using Kernel = CUpti_ActivityKernel10;
using Memcpy = CUpti_ActivityMemcpy6;
#else
using Kernel = CUpti_ActivityKernel9;
using Memcpy = CUpti_ActivityMemcpy5;
#endif

/// Kernels, copies and fills; the calls that launch them, and the associated events.
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                         CUPTI_ACTIVITY_KIND_RUNTIME,
                                         CUPTI_ACTIVITY_KIND_DRIVER,
                                         CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMCPY2,
                                         CUPTI_ACTIVITY_KIND_MEMSET};
#if CUPTI_API_VERSION >= 130000
/// The most frequent calls that launch nothing: records of them would only cost time.
constexpr CUpti_CallbackId kOmittedRuntimeCalls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventElapsedTime_v12080,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020};
constexpr CUpti_CallbackId kOmittedDriverCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuEventRecord, CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize,
    CUPTI_DRIVER_TRACE_CBID_cuEventElapsedTime_v2,
    CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent};
#endif
constexpr auto kOurs = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

/// The library's functions.
struct Functions {
  void* library;
  explicit Functions(void* from) : library(from) {}
#define LOCKSTEP_CUPTI(name) decltype(&::name) name = find(#name)
  struct Found {
    void* address;
    template <typename F>
    operator F*() const {
      return reinterpret_cast<F*>(address);
    }
  };
  Found find(const char* name) const {
    void* address = dlsym(library, name);
    if (!address) throw std::runtime_error(std::string("missing symbol ") + name);
    return {address};
  }
  LOCKSTEP_CUPTI(cuptiActivityRegisterCallbacks);
  LOCKSTEP_CUPTI(cuptiActivityEnable);
  LOCKSTEP_CUPTI(cuptiActivityDisable);
#if CUPTI_API_VERSION >= 130000
  LOCKSTEP_CUPTI(cuptiActivityEnableRuntimeApi);
  LOCKSTEP_CUPTI(cuptiActivityEnableDriverApi);
#endif
  LOCKSTEP_CUPTI(cuptiActivityFlushAll);
  LOCKSTEP_CUPTI(cuptiActivityGetNextRecord);
  LOCKSTEP_CUPTI(cuptiActivityGetNumDroppedRecords);
  LOCKSTEP_CUPTI(cuptiActivityPushExternalCorrelationId);
  LOCKSTEP_CUPTI(cuptiActivityPopExternalCorrelationId);
  LOCKSTEP_CUPTI(cuptiGetTimestamp);
  LOCKSTEP_CUPTI(cuptiGetResultString);
#undef LOCKSTEP_CUPTI
};

/// Returns a kernel's name as it is written in C++, without its return type and its
/// parameters, interned. Each name is converted once. REQUIRES: one thread at a time.
const char* readable(const char* mangled) {
  static auto* const known = new std::map<std::string_view, const char*>;
  if (mangled == nullptr) return nullptr;
  if (const auto found = known->find(mangled); found != known->end()) {
    return found->second;
  }
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr), std::free);
  std::string name = demangled ? demangled.get() : mangled;
  if (name.starts_with("void ")) name.erase(0, 5);
  if (name.ends_with(')')) {  // its parameters may have parentheses themselves
    size_t at = name.size(), depth = 0;
    do {
      --at;
      depth += name[at] == ')';
      depth -= name[at] == '(';
    } while (depth > 0 && at > 0);
    name.erase(at);
  }
  return (*known)[tracer::intern(mangled)] = tracer::intern(name);
}

class Timeline {
 public:
  Timeline() {
    try {
      start();
      pause();  // until recording starts
    } catch (const std::exception& error) {
      why_not_ = error.what();
      if (cupti_) pause();  // some kinds may be enabled
    }
    if (why_not_.empty()) {
      tracer::add_activity_source([this] { return take(); });
    }
  }

  const std::string& why_not() const { return why_not_; }

  /// Returns false if CUPTI is unavailable.
  bool begin(int64_t event) {
    if (!works_.load(std::memory_order_relaxed)) return false;
    if (!running_.load(std::memory_order_acquire) && !resume()) return false;
    const auto id = static_cast<uint64_t>(event);
    return cupti_->cuptiActivityPushExternalCorrelationId(kOurs, id) == CUPTI_SUCCESS;
  }
  void end() { cupti_->cuptiActivityPopExternalCorrelationId(kOurs, nullptr); }

  // CUPTI's callbacks.
  static constexpr size_t kBufferBytes = size_t{1} << 20;
  static void give_buffer(uint8_t** buffer, size_t* size, size_t* most_records) {
    *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
    *size = *buffer ? kBufferBytes : 0;
    *most_records = 0;  // as many as fit
  }
  void read_buffer(uint8_t* buffer, size_t bytes) {
    std::lock_guard lock(records_mutex_);
    CUpti_Activity* record = nullptr;
    while (bytes > 0 && cupti_->cuptiActivityGetNextRecord(buffer, bytes, &record) ==
                            CUPTI_SUCCESS) {
      read(*record);
    }
    std::free(buffer);
  }

 private:
  void check(CUptiResult status, const char* call) const {
    if (status == CUPTI_SUCCESS) return;
    const char* text = nullptr;
    cupti_->cuptiGetResultString(status, &text);
    std::string why = std::string(call) + " returned " + (text ? text : "an error");
    if (status == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) {
      why +=
          "; the driver restricts profiling to administrators (set "
          "NVreg_RestrictProfilingToAdminUsers=0 to allow it)";
    }
    throw std::runtime_error(why);
  }

  void start();
  void enable();
  bool resume();
  void pause();
  void sample_clock();
  void read(const CUpti_Activity& record);
  std::vector<tracer::DeviceActivity> take();

  std::unique_ptr<const Functions> cupti_;
  std::string why_not_;
  std::mutex mutex_;  ///< guards the members below
  ClockMap clock_;
  std::mutex records_mutex_;  ///< guards the members below
  ActivityRecords records_;
  std::atomic<bool> works_{false}, running_{false};
};

Timeline& timeline() {
  static auto* const instance = new Timeline;  // outlives CUPTI's own threads
  return *instance;
}

/// Set early, since CUPTI's callbacks may run before `timeline()` has returned.
Timeline* started = nullptr;

void Timeline::start() {
  void* library = dlopen(LOCKSTEP_CUPTI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  cupti_ = std::make_unique<Functions>(library);
  started = this;
  check(cupti_->cuptiActivityRegisterCallbacks(
            give_buffer, [](CUcontext, uint32_t, uint8_t* buffer, size_t,
                            size_t bytes) { started->read_buffer(buffer, bytes); }),
        "cuptiActivityRegisterCallbacks");
  sample_clock();
  enable();
  works_ = true;
}

void Timeline::enable() {
  for (const CUpti_ActivityKind kind : kKinds) {
    check(cupti_->cuptiActivityEnable(kind), "cuptiActivityEnable");
  }
#if CUPTI_API_VERSION >= 130000  // without success, there are more records
  for (const CUpti_CallbackId call : kOmittedRuntimeCalls) {
    cupti_->cuptiActivityEnableRuntimeApi(call, 0);
  }
  for (const CUpti_CallbackId call : kOmittedDriverCalls) {
    cupti_->cuptiActivityEnableDriverApi(call, 0);
  }
#endif
}

bool Timeline::resume() {
  std::lock_guard lock(mutex_);
  if (running_ || !works_) return works_;
  try {
    sample_clock();
    enable();
  } catch (const std::exception& error) {
    works_ = false;
    pause();
    std::fprintf(stderr,
                 "=> GPU timeline: using CUDA events from now on; CUPTI failed: %s\n",
                 error.what());
    return false;
  }
  running_.store(true, std::memory_order_release);
  return true;
}

void Timeline::pause() {
  for (const CUpti_ActivityKind kind : kKinds) cupti_->cuptiActivityDisable(kind);
  running_ = false;
}

/// REQUIRES: mutex_ is held, or `this` is not yet shared.
void Timeline::sample_clock() {
  constexpr int kTries = 20;
  std::vector<ClockMap::Sample> samples;
  for (int i = 0; i < kTries; ++i) {
    uint64_t theirs = 0;
    const int64_t before = tracer::now_ns();
    check(cupti_->cuptiGetTimestamp(&theirs), "cuptiGetTimestamp");
    samples.push_back({before, static_cast<int64_t>(theirs), tracer::now_ns()});
  }
  clock_.add(samples);
}

void Timeline::read(const CUpti_Activity& record) {
  const auto work = [this](const auto& done, const char* kernel = nullptr) {
    records_.work(done.correlationId, static_cast<int64_t>(done.start),
                  static_cast<int64_t>(done.end), kernel);
  };
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& link =
          reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(record);
      if (link.externalKind != kOurs) return;
      return records_.link(link.correlationId, static_cast<int64_t>(link.externalId));
    }
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const Kernel&>(record);
      return work(kernel, readable(kernel.name));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return work(reinterpret_cast<const Memcpy&>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return work(reinterpret_cast<const CUpti_ActivityMemcpyPtoP4&>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return work(reinterpret_cast<const CUpti_ActivityMemset4&>(record));
    default:
      return;
  }
}

/// Must be called after all recorded work has finished.
std::vector<tracer::DeviceActivity> Timeline::take() {
  std::lock_guard lock(mutex_);
  if (!running_) return {};
  size_t dropped = 0;
  std::vector<tracer::DeviceActivity> works;
  try {
    check(cupti_->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED),
          "cuptiActivityFlushAll");
    sample_clock();
    check(cupti_->cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped),
          "cuptiActivityGetNumDroppedRecords");
    if (dropped > 0) {  // some kernels would look too short
      throw std::runtime_error("it dropped " + std::to_string(dropped) + " records");
    }
    std::lock_guard records_lock(records_mutex_);
    works = records_.take();
  } catch (const std::exception& error) {
    std::fprintf(
        stderr,
        "=> GPU timeline: using CUDA events for these steps; CUPTI failed: %s\n",
        error.what());
    std::lock_guard records_lock(records_mutex_);
    records_ = {};
  }
  pause();
  for (tracer::DeviceActivity& work : works) {
    work.begin = clock_.ours(work.begin);
    work.end = clock_.ours(work.end);
  }
  return works;
}

/// Whether this thread has an open correlation id.
thread_local bool is_open = false;

}  // namespace

std::string CuptiTimeline::prepare() { return timeline().why_not(); }

void CuptiTimeline::begin(int64_t event) {
  is_open = event != tracer::kNone && timeline().begin(event);
}

void CuptiTimeline::end() {
  if (std::exchange(is_open, false)) timeline().end();
}

}  // namespace lockstep::cuda

#else

namespace lockstep::cuda {

std::string CuptiTimeline::prepare() { return "not included in this build"; }
void CuptiTimeline::begin(int64_t) {}
void CuptiTimeline::end() {}

}  // namespace lockstep::cuda

#endif
