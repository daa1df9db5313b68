#include "tests/engine/backends/simulated_gpu.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/backends/cuda/activity.h"
#include "engine/backends/cuda/plans/table.h"
#include "engine/backends/load_cuda.h"
#include "engine/parallel/device_group.h"
#include "engine/runtime/pinned_memory.h"
#include "tests/engine/backends/host_machine.h"
#include "tracer/record/recorder.h"

namespace lockstep::test {
namespace {

bool simulated = false;
std::atomic<int64_t> marks = 0;       // recorded in queues
std::atomic<int64_t> direct = 0;      // copies from pinned memory
std::atomic<bool> paused = false;     // see pause_gpus
std::atomic<int64_t> unfinished = 0;  // launches that have not run yet
std::atomic<int64_t> disturbed = 0;   // kernels chosen by time while others ran

class FakeMark : public runtime::Mark, public std::enable_shared_from_this<FakeMark> {
 public:
  void wait() const override { reached_.wait(false, std::memory_order_acquire); }
  int64_t time() const override { return time_; }
  /// Simulates clock error: the time is early by a varying number of microseconds.
  void reach() {
    static std::atomic<int64_t> calls = 0;
    time_ = tracer::now_ns() - calls++ * 7919 % 20'000;
    reached_.store(true, std::memory_order_release);
    reached_.notify_all();
  }

 private:
  std::atomic<bool> reached_{false};
  int64_t time_ = 0;
};

/// The counterpart of CUPTI: observes each launch and later reports when it ran, on a
/// separate clock.
struct Profiler {
  std::mutex mutex;
  bool on = false;
  uint32_t calls = 0;
  cuda::ActivityRecords records;
  std::vector<tracer::DeviceActivity> told;

  static constexpr int64_t kItsEpoch = 5'000'000'000;
  static Profiler& instance() {
    static auto* const profiler = new Profiler;
    return *profiler;
  }
  static std::function<void()> watched(int64_t event, std::function<void()> work) {
    Profiler& p = instance();
    std::lock_guard lock(p.mutex);
    if (!p.on) return work;
    const uint32_t call = ++p.calls;
    p.records.link(call, event);
    return [&p, call, work = std::move(work)] {
      const int64_t begin = tracer::now_ns() + kItsEpoch;
      work();
      const int64_t end = tracer::now_ns() + kItsEpoch;
      std::lock_guard lock(p.mutex);
      p.records.work(call, begin, end);
    };
  }
  std::vector<tracer::DeviceActivity> take() {
    std::lock_guard lock(mutex);
    cuda::ClockMap clock;
    const int64_t now = tracer::now_ns();
    clock.add({{now, now + kItsEpoch, now}});
    std::vector<tracer::DeviceActivity> works = records.take();
    for (tracer::DeviceActivity& work : works) {
      work.begin = clock.ours(work.begin);
      work.end = clock.ours(work.end);
    }
    told.insert(told.end(), works.begin(), works.end());
    return works;
  }
};

using Works = std::vector<std::function<void()>>;
struct FakeGraph : runtime::Graph {
  Works works;
};

class FakeQueue;
thread_local FakeQueue* current = nullptr;

class FakeQueue : public runtime::Queue {
 public:
  FakeQueue() : thread_([this] { work(); }) {}
  ~FakeQueue() override {
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void bind() override { current = this; }
  void wait(const runtime::Mark& mark) override {
    if (captured_) throw std::runtime_error("cudaErrorStreamCaptureIsolation");
    const auto other = static_cast<const FakeMark&>(mark).shared_from_this();
    launch([other] { other->wait(); });
  }
  runtime::MarkPtr mark(bool) override {
    auto mark = std::make_shared<FakeMark>();
    launch([mark] { mark->reach(); });
    ++marks;
    return mark;
  }
  void begin_capture() override { captured_.emplace(); }
  runtime::GraphPtr end_capture() override {
    auto graph = std::make_shared<FakeGraph>();
    graph->works = std::move(*captured_);
    captured_.reset();
    return graph;
  }
  void launch(const runtime::Graph& graph) override {
    for (const auto& work : static_cast<const FakeGraph&>(graph).works) launch(work);
  }
  void begin_range(const char*) override {}
  void end_range() override {}
  void launch(std::function<void()> work) {
    if (captured_) return captured_->push_back(std::move(work));
    const int64_t event = tracer::ActivityScope::event();
    if (event != tracer::kNone) work = Profiler::watched(event, std::move(work));
    ++unfinished;
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_one();
  }

 private:
  void work() {
    for (;;) {
      std::function<void()> next;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
        if (queue_.empty()) return;
        next = std::move(queue_.front());
        queue_.pop_front();
      }
      paused.wait(true);
      next();
      --unfinished;
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool closing_ = false;
  std::optional<Works> captured_;  // used by the stream's worker
  std::thread thread_;
};

/// The counterpart of NCCL: a call runs when the last device has joined it.
class FakeGroup : public parallel::DeviceGroup {
 public:
  explicit FakeGroup(size_t size) : parts_(size) {}
  void broadcast(size_t i, void* data, int64_t numel, DType dtype) override {
    const size_t bytes = numel * item_size(dtype);
    join(i, data, [this, bytes] {
      for (size_t to = 1; to < parts_.size(); ++to) {
        std::memcpy(parts_[to], parts_[0], bytes);
      }
    });
  }
  void reduce(size_t i, void* data, int64_t numel, DType dtype) override {
    if (dtype != DType::f32) throw std::runtime_error("gradients are float32");
    join(i, data, [this, numel] {
      auto* sum = static_cast<float*>(parts_[0]);
      for (size_t from = 1; from < parts_.size(); ++from) {
        const auto* other = static_cast<const float*>(parts_[from]);
        for (int64_t e = 0; e < numel; ++e) sum[e] += other[e];
      }
    });
  }

 private:
  void join(size_t i, void* data, std::function<void()> act) {
    current->launch([this, i, data, act = std::move(act)] {
      std::unique_lock lock(mutex_);
      parts_[i] = data;
      if (++there_ == parts_.size()) {
        act();
        there_ = 0;
        ++calls_;
        changed_.notify_all();
      } else {
        changed_.wait(lock, [this, now = calls_] { return calls_ != now; });
      }
    });
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<void*> parts_;
  size_t there_ = 0, calls_ = 0;
};

struct FakeDriver : runtime::Driver {
  void* allocate(Device, size_t bytes) override {
    void* data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(data, 0xff, bytes);  // reading uninitialized memory gives NaN
    return data;
  }
  void free(Device, void* data) noexcept override { std::free(data); }
  std::unique_ptr<runtime::Queue> make_queue(Device) override {
    return std::make_unique<FakeQueue>();
  }
  runtime::Queue& current_queue() override { return *current; }
  void copy(void* to, Device to_device, const void* from, Device from_device,
            size_t bytes) override {
    if (from_device.is_host()) {  // the caller may reuse `from` on return
      const auto* start = static_cast<const char*>(from);
      auto staged = std::make_shared<std::vector<char>>(start, start + bytes);
      current->launch([=] { std::memcpy(to, staged->data(), bytes); });
      return;
    }
    if (!to_device.is_host()) {
      current->launch([=] { std::memcpy(to, from, bytes); });
      return;
    }
    const auto there = std::make_shared<FakeMark>();
    current->launch([=] {
      std::memcpy(to, from, bytes);
      there->reach();
    });
    there->wait();
    cuda::Fault& fault = *HostMachine::fault();
    if (!fault.found) return;
    fault.found = 0;
    throw std::runtime_error("Target " + std::to_string(fault.label) +
                             " is out of bounds.");
  }
  void reduce(void* into, Device, const void* from, Device, int64_t numel, DType dtype,
              ReduceOp op) override {
    if (dtype == DType::u8) throw std::runtime_error("a simulated launch failed");
    current->launch(
        [=] { cuda::reduce_elements<HostMachine>(into, from, numel, dtype, op); });
  }
  runtime::PinnedMemory* pinned_memory() override { return &memory_; }
  void copy_pinned(void* to, Device, const void* from, size_t bytes) override {
    ++direct;
    current->launch([=] { std::memcpy(to, from, bytes); });
  }

 private:
  runtime::PinnedMemory memory_{[](size_t bytes) { return std::malloc(bytes); }};
};

struct FakeBackend : Backend {
  runtime::Driver* driver() override { return &driver_; }
  bool can_fuse_relu(OpCode code) const override { return cuda::takes_relu(code); }
  bool can_fuse_relu_backward(OpCode code) const override {
    return cuda::takes_relu_backward(code);
  }
  bool can_fuse_add(OpCode code) const override { return cuda::takes_add(code); }
  bool can_fuse_sum(OpCode code) const override { return cuda::takes_sum(code); }
  LayoutPtr convolution_layout(const TensorSpec& tensor) const override {
    return cuda::convolution_layout(tensor);
  }

 protected:
  bool times_kernels(OpCode code) const override { return is_benchmarked(code); }
  PlanPtr make_plan(const PlanRequest& request) override {
    if (is_benchmarked(request.code) && unfinished > 0) ++disturbed;
    auto plan = std::make_shared<Plan>(*cuda::make_plan<HostMachine>(request));
    plan->run = [run = plan->run](const KernelArgs& args) {
      const std::vector<View> in(args.in.begin(), args.in.end());
      const std::vector<View> out(args.out.begin(), args.out.end());
      current->launch([=, workspace = args.workspace, scalars = args.scalars] {
        run({in, out, workspace, scalars});
      });
    };
    return plan;
  }

 private:
  FakeDriver driver_;
};

}  // namespace

const CudaModule* simulated_module() {
  static const CudaModule* const module = [] {
    auto* made = new CudaModule;
    made->backend = new FakeBackend;
    made->gpus = {"simulated GPU"};
    made->libraries = "none";
    made->make_device_group = [](const std::vector<Device>& devices)
        -> std::unique_ptr<parallel::DeviceGroup> {
      if (devices.size() != kGpus) return nullptr;
      return std::make_unique<FakeGroup>(kGpus);
    };
    return made;
  }();
  return module;
}

void simulate_gpus() {
  static const bool once = [] {
    stand_in_for_cuda(simulated_module());
    return simulated = true;
  }();
  (void)once;
}

void simulate_profiler(bool on) {
  static const bool asked = [] {
    tracer::add_activity_source([] { return Profiler::instance().take(); });
    return true;
  }();
  (void)asked;
  std::lock_guard lock(Profiler::instance().mutex);
  Profiler::instance().on = on;
}

std::vector<tracer::DeviceActivity> profiled_work() {
  std::lock_guard lock(Profiler::instance().mutex);
  return std::exchange(Profiler::instance().told, {});
}

int64_t marks_recorded() { return marks; }

int64_t direct_copies() { return direct; }

void pause_gpus(bool pause) {
  paused = pause;
  paused.notify_all();
}

int64_t disturbed_choices() { return disturbed; }

bool gpus_are_simulated() { return simulated; }

}  // namespace lockstep::test
