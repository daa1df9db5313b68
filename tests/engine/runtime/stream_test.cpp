// Streams: order within a stream, events between streams, a host that runs ahead, and
// failures.
// sanitize: address thread
#include "engine/runtime/stream.h"

#include <atomic>

#include "tests/engine/runtime/gate.h"

namespace lockstep::runtime {
namespace {

using test::Gate;
using test::task;

DeviceContext& device(int index = 0) { return context(test::reference(index)); }

TEST(Stream, KeepsOrder) {
  std::vector<int> order, expected;
  for (int i = 0; i < 1000; ++i) {
    device().compute().enqueue(task([&order, i] { order.push_back(i); }));
    expected.push_back(i);
  }
  device().synchronize();
  EXPECT_EQ(order, expected);
}

TEST(Stream, TheHostRunsAhead) {
  std::atomic<int> ran{0};
  Gate gate(device().compute());
  EventPtr last;
  for (int i = 0; i < 100; ++i) {
    last = device().compute().enqueue(task([&ran] { ++ran; }));
  }
  EXPECT_EQ(ran, 0);  // all are enqueued, none has run
  EXPECT_FALSE(last->done());
  gate.open();
  last->wait();
  EXPECT_EQ(ran, 100);
}

TEST(Stream, StreamsOfADeviceAreIndependent) {
  Gate compute(device().compute());
  for (Stream* stream : {&device().copy(), &device().comm()}) {
    stream->enqueue(task([] {}))->wait();  // completes although `compute` is blocked
  }
  device(1).compute().enqueue(task([] {}))->wait();
}

TEST(Stream, EventsOrderStreams) {
  std::string order;
  auto append = [&order](char c) { return task([&order, c] { order += c; }); };
  Gate gate(device().compute());
  const EventPtr made = device().compute().enqueue(append('a'));
  device(1).copy().wait(made);
  device(1).copy().enqueue(append('b'));
  device(1).compute().wait(device(1).copy().record_event());
  const EventPtr last = device(1).compute().enqueue(append('c'));
  EXPECT_FALSE(last->done());
  gate.open();
  last->wait();
  EXPECT_EQ(order, "abc");
}

// Like cudaEventRecord after cudaStreamWaitEvent: the event includes the wait.
TEST(Stream, ARecordedEventIncludesWaits) {
  device().synchronize();
  Gate gate(device().copy());
  device().compute().wait(device().copy().record_event());
  const EventPtr recorded = device().compute().record_event();
  EXPECT_FALSE(recorded->done());
  device(1).compute().wait(recorded);
  const EventPtr after = device(1).compute().enqueue(task([] {}));
  EXPECT_FALSE(after->done());
  gate.open();
  after->wait();
  EXPECT_TRUE(recorded->done());
}

// A wait applies to the next task and, by order, to all later ones.
TEST(Stream, AWaitLetsEarlierTasksPass) {
  Gate gate(device().compute());
  const EventPtr blocked = device().compute().record_event();
  const EventPtr before = device().copy().enqueue(task([] {}));
  device().copy().wait(blocked);
  const EventPtr after = device().copy().enqueue(task([] {}));
  const EventPtr later = device().copy().enqueue(task([] {}));
  before->wait();
  EXPECT_FALSE(after->done());
  EXPECT_FALSE(later->done());
  gate.open();
  later->wait();
  EXPECT_TRUE(after->done());
}

TEST(Stream, AnIdleStreamsEventIsDone) {
  device().synchronize();
  EXPECT_TRUE(device().comm().record_event()->done());
}

TEST(Stream, WhatATaskKeepsAliveEndsBeforeItsEvent) {
  auto thing = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = thing;
  const EventPtr done =
      device().compute().enqueue(task([thing = std::move(thing)] { (void)thing; }));
  done->wait();
  EXPECT_TRUE(watch.expired());
}

TEST(Stream, AHeldTaskRunsWhenSomethingFollows) {
  const int address = 0;
  std::string ran;
  auto amendable = [&] {
    runtime::Task made = task([&ran] { ran += "plain "; });
    made.writes = &address;
    made.call = std::make_shared<int>(5);
    return made;
  };
  Stream& stream = device().compute();
  EventPtr done = stream.enqueue_amendable(amendable());
  EXPECT_EQ(stream.held(&ran), nullptr) << "a different address";
  EXPECT_EQ(*std::static_pointer_cast<int>(stream.held(&address)), 5);
  EXPECT_FALSE(stream.amend(&ran, [](Task&) { FAIL(); }));
  EXPECT_TRUE(stream.amend(&address,
                           [&ran](Task& t) { t.run = [&ran] { ran += "amended "; }; }));
  EXPECT_EQ(ran, "");
  stream.record_event()->wait();  // waiting for completion starts the task
  EXPECT_EQ(ran, "amended ");

  done = stream.enqueue_amendable(amendable());
  stream.enqueue(task([&ran] { ran += "next"; }))->wait();
  EXPECT_TRUE(done->done());
  EXPECT_EQ(ran, "amended plain next");
  EXPECT_EQ(stream.held(&address), nullptr);
  EXPECT_FALSE(stream.amend(&address, [](Task&) { FAIL(); }));
}

TEST(Failure, SkipsWhatFollowsAndIsToldOnce) {
  DeviceContext& broken = device(2);
  bool ran = false;
  broken.compute().enqueue(task([] { throw std::runtime_error("oh no"); }, "conv2d"));
  const EventPtr skipped = broken.compute().enqueue(task([&ran] { ran = true; }));
  broken.copy().wait(skipped);
  broken.copy().enqueue(task([] { throw std::runtime_error("not this one"); }, "copy"));
  EXPECT_EQ(test::message_of([&] { broken.synchronize(); }),
            "reference:2: conv2d failed: oh no");
  EXPECT_FALSE(ran);
  EXPECT_TRUE(skipped->done()) << "its waiters are released";

  EXPECT_EQ(test::message_of([&] { broken.synchronize(); }), "") << "reported once";
  broken.compute().enqueue(task([&ran] { ran = true; }));
  broken.synchronize();
  EXPECT_TRUE(ran) << "the device works again";
}

TEST(Failure, OfOneDeviceLeavesOthersAlone) {
  device(2).compute().enqueue(task([] { throw std::runtime_error("oh no"); }, "relu"));
  bool ran = false;
  device(1).compute().wait(device(2).compute().record_event());
  device(1).compute().enqueue(task([&ran] { ran = true; }));
  device(1).synchronize();
  EXPECT_TRUE(ran);
  EXPECT_THROW(device(2).synchronize(), std::runtime_error);
}

TEST(Failure, ReachesItemWithTheOpsName) {
  const Tensor log_p = test::on(test::reference(2), test::random("x", {2, 3}));
  const Tensor labels =
      test::on(test::reference(2), Tensor::from({0, 7}, {2}, DType::i64));
  const Tensor loss = ops::nll_loss(log_p, labels);
  EXPECT_EQ(test::message_of([&] { ops::item(loss); }),
            "reference:2: nll_loss failed: Target 7 is out of bounds.");
  const Tensor good =
      test::on(test::reference(2), Tensor::from({0, 2}, {2}, DType::i64));
  EXPECT_NO_THROW(ops::item(ops::nll_loss(log_p, good)));
}

}  // namespace
}  // namespace lockstep::runtime
