// Graphs of several streams, on simulated GPUs, which enforce the rules of CUDA.
// sanitize: address thread
#include "engine/runtime/graph_capture.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "tests/engine/backends/cuda_device.h"
#include "tests/engine/backends/simulated_queue.h"
#include "tests/engine/values.h"

namespace lockstep::runtime {
namespace {

constexpr int64_t kNumel = 1 << 18;
constexpr int kCopies = 40;  // long enough for another stream to overtake them

/// Work of a simulated GPU that does not end before the gate is opened.
class QueueGate {
 public:
  EventPtr enqueue_on(Stream& stream) {
    Task task;
    task.record.name = "gate";
    task.run = [is_open = is_open_] {
      test::FakeQueue::current().launch([is_open] { is_open->wait(false); });
    };
    return stream.enqueue(std::move(task));
  }
  void open() {
    *is_open_ = true;
    is_open_->notify_all();
  }

 private:
  std::shared_ptr<std::atomic<bool>> is_open_ = std::make_shared<std::atomic<bool>>();
};

class GraphCapture : public test::OnCuda {
 protected:
  static Tensor filled(double value) {
    return ops::full_like(Tensor::empty({kNumel}, test::kGpu), value);
  }
  static double value_of(const Tensor& tensor) {
    context(test::kGpu).synchronize();
    return test::values_of(tensor).back();
  }
  static Stream& compute() { return context(test::kGpu).compute(); }
  static Stream& comm() { return context(test::kGpu).comm(); }

  /// Copies `from` to `to` on a stream, several times.
  static EventPtr copy(Stream& stream, const Tensor& from, const Tensor& to,
                       std::vector<EventPtr> waits = {}) {
    Task task;
    task.record.name = "copy";
    task.waits = std::move(waits);
    task.run = [source = from.view(), target = to.view(), bytes = to.nbytes()] {
      for (int i = 0; i < kCopies; ++i) {
        context(test::kGpu)
            .driver()
            ->copy(target.data, test::kGpu, source.data, test::kGpu, bytes);
      }
    };
    return stream.enqueue(std::move(task));
  }

  /// Takes the time in which the other streams could do what must wait.
  void work_elsewhere() const {
    Stream& stream = context(test::kGpu).copy();
    copy(stream, five_, unused_);
    copy(stream, five_, unused_)->wait();
  }

  /// A graph that copies a to b, and then, on another stream, b to c.
  GraphPtr chain() {
    return capture(streams_, [this] {
      const EventPtr done = copy(compute(), a_, b_);
      copy(comm(), b_, c_, {done});
    });
  }

  void SetUp() override {
    OnCuda::SetUp();
    if (IsSkipped()) return;
    a_ = filled(1);
    b_ = filled(2);
    c_ = filled(3);
    five_ = filled(5);
    unused_ = filled(6);
    streams_ = {&compute(), &comm()};
    context(test::kGpu).synchronize();
  }

  Streams streams_;
  Tensor a_, b_, c_, five_, unused_;
};

TEST_P(GraphCapture, RunsNothingBeforeItIsReplayed) {
  const GraphPtr graph = chain();
  EXPECT_EQ(value_of(b_), 2);
  EXPECT_EQ(value_of(c_), 3);
  replay(graph, streams_);
  EXPECT_EQ(value_of(c_), 1);
}

TEST_P(GraphCapture, AReplayFollowsEarlierWorkOfAllStreams) {
  if (real()) GTEST_SKIP() << "the simulated GPU has gates";
  const GraphPtr graph = chain();
  QueueGate gate;
  gate.enqueue_on(comm());
  copy(comm(), five_, a_);
  replay(graph, streams_);
  work_elsewhere();
  gate.open();
  EXPECT_EQ(value_of(c_), 5);
}

TEST_P(GraphCapture, LaterWorkOfAllStreamsFollowsAReplay) {
  if (real()) GTEST_SKIP() << "the simulated GPU has gates";
  QueueGate gate;
  const GraphPtr graph = capture(streams_, [&] {
    gate.enqueue_on(compute());
    copy(compute(), a_, b_);
  });
  replay(graph, streams_);
  copy(comm(), b_, c_);
  work_elsewhere();
  gate.open();
  EXPECT_EQ(value_of(c_), 1);
}

/// A stream whose worker is late still waits for the tasks of the others.
TEST_P(GraphCapture, ALateWorkerKeepsItsPlace) {
  const GraphPtr graph = capture(streams_, [this] {
    const EventPtr done = copy(compute(), a_, b_);
    Task late;
    late.run = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
    comm().enqueue(std::move(late));
    copy(comm(), b_, c_, {done});
  });
  replay(graph, streams_);
  EXPECT_EQ(value_of(c_), 1);
}

/// So the next input can be copied while a graph runs.
TEST_P(GraphCapture, ACopyStreamIsNotHeldUp) {
  if (real()) GTEST_SKIP() << "the simulated GPU has gates";
  Stream& copies = context(test::kGpu).copy();
  streams_.push_back(&copies);
  QueueGate gate;
  const GraphPtr graph = capture(streams_, [&] { gate.enqueue_on(compute()); });
  const EventPtr done = replay(graph, streams_);
  copy(copies, a_, b_)->wait();
  EXPECT_FALSE(done->done());
  gate.open();
  EXPECT_EQ(value_of(b_), 1);
}

/// Memory that another stream uses until the graph ends is not for later tasks of the
/// same graph.
TEST_P(GraphCapture, MemoryIsNotReusedWhileAnotherStreamUsesIt) {
  const void *first = nullptr, *second = nullptr;
  capture(streams_, [&] {
    {
      const Tensor used = Tensor::empty({kNumel}, test::kGpu);
      first = used.view().data;
      used.storage()->record_stream(comm());
      copy(comm(), used, c_);
    }
    const Tensor next = Tensor::empty({kNumel}, test::kGpu);
    second = next.view().data;
  });
  EXPECT_NE(first, second);
}

TEST_P(GraphCapture, AStreamOutsideIsRefused) {
  if (real()) GTEST_SKIP() << "the simulated GPU has gates";
  QueueGate gate;
  const EventPtr outside = gate.enqueue_on(comm());
  const GraphPtr graph =
      capture({&compute()}, [&] { copy(compute(), b_, c_, {outside}); });
  gate.open();
  EXPECT_EQ(graph, nullptr);
  const std::string said = test::message_of([] { context(test::kGpu).rethrow(); });
  EXPECT_NE(said.find("copy failed"), std::string::npos) << said;
}

INSTANTIATE_TEST_SUITE_P(Gpu, GraphCapture, testing::Values("Simulated", "Real"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::runtime
