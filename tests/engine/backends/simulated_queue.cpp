#include "tests/engine/backends/simulated_queue.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/backends/cuda/activity.h"
#include "tests/engine/backends/simulated_gpu.h"
#include "tracer/record/device_activity.h"

namespace lockstep::test {
namespace {

std::atomic<int64_t> marks = 0;             // recorded in queues
std::atomic<bool> paused = false;           // see pause_gpus
std::atomic<int64_t> waiting_launches = 0;  // those that have not run yet
thread_local FakeQueue* current_queue = nullptr;

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

struct FakeGraph : runtime::Graph {
  std::shared_ptr<Capture> capture;

  /// The queues' works run at the same time, each in order; every launch has marks of
  /// its own.
  void run() const {
    std::map<FakeMarkPtr, FakeMark> marks;
    for (const auto& [queue, lane] : capture->lanes) {
      for (const Captured& step : lane) {
        if (step.reached) marks.try_emplace(step.reached);
      }
    }
    std::vector<std::jthread> threads;
    for (const auto& [queue, lane] : capture->lanes) {
      threads.emplace_back([&marks, &lane] {
        for (const Captured& step : lane) {
          if (step.awaited) marks.at(step.awaited).wait();
          if (step.work) step.work();
          if (step.reached) marks.at(step.reached).reach();
        }
      });
    }
  }
};

}  // namespace

FakeQueue::~FakeQueue() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

FakeQueue& FakeQueue::current() { return *current_queue; }

void FakeQueue::bind() { current_queue = this; }

void FakeQueue::wait(const runtime::Mark& mark) {
  const auto other = static_cast<const FakeMark&>(mark).shared_from_this();
  const std::shared_ptr<Capture> capture = other->capture.lock();
  if (!other->captured) {
    if (capturing()) throw std::runtime_error("cudaErrorStreamCaptureIsolation");
    launch([other] { other->wait(); });
    return;
  }
  if (!capture || capture->ended) throw std::runtime_error("cudaErrorCapturedEvent");
  if (!capturing()) {
    capture_ = capture;
    covered_.clear();
  }
  if (capture_ != capture) throw std::runtime_error("cudaErrorCaptureMerge");
  for (const auto& [queue, length] : other->covered) {
    covered_[queue] = std::max(covered_[queue], length);
  }
  capture_->lane(this).push_back({.awaited = other});
}

runtime::MarkPtr FakeQueue::mark(bool) {
  if (capturing()) {
    std::vector<Captured>& lane = capture_->lane(this);
    covered_[this] = lane.size() + 1;
    const auto mark = std::make_shared<FakeMark>(capture_, covered_);
    lane.push_back({.reached = mark});
    return mark;
  }
  auto mark = std::make_shared<FakeMark>();
  launch([mark] { mark->reach(); });
  ++marks;
  return mark;
}

void FakeQueue::begin_capture() {
  capture_ = std::make_shared<Capture>();
  covered_.clear();
}

runtime::GraphPtr FakeQueue::end_capture() {
  auto graph = std::make_shared<FakeGraph>();
  graph->capture = capture_;
  capture_->ended = true;
  for (const auto& [queue, lane] : capture_->lanes) {
    if (queue == this || covered_[queue] == lane.size()) continue;
    throw std::runtime_error("cudaErrorStreamCaptureUnjoined");
  }
  return graph;
}

void FakeQueue::launch(const runtime::Graph& graph) {
  launch([&graph] { static_cast<const FakeGraph&>(graph).run(); });
}

void FakeQueue::launch(std::function<void()> work) {
  if (capturing()) {
    capture_->lane(this).push_back({.work = std::move(work)});
    return;
  }
  const int64_t event = tracer::ActivityScope::event();
  if (event != tracer::kNone) work = Profiler::watched(event, std::move(work));
  ++waiting_launches;
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void FakeQueue::work() {
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
    --waiting_launches;
  }
}

int64_t FakeQueue::unfinished() { return waiting_launches; }

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

void pause_gpus(bool pause) {
  paused = pause;
  paused.notify_all();
}

}  // namespace lockstep::test
