// Failures of a replica, and tensors on wrong devices.
// sanitize: address thread
#include <atomic>
#include <latch>

#include "engine/parallel/data_parallel.h"
#include "tests/engine/parallel/nets.h"
#include "tracer/record/traceback.h"

namespace lockstep {
namespace {

using parallel::DataParallel;

/// A linear layer that throws on one device; shared by all replicas.
class Fragile : public nn::Module {
 public:
  struct State {
    std::atomic<int> throws_on{-1}, finished{0};
    std::latch* together = nullptr;  ///< replicas synchronize here first
  };
  explicit Fragile(std::shared_ptr<State> state) : state_(std::move(state)) {
    fc_ = register_module("fc", std::make_shared<nn::Linear>(5, 2));
  }
  Tensor forward(const Tensor& input) override {
    if (state_->together) state_->together->arrive_and_wait();
    if (input.device().index == state_->throws_on) throw std::runtime_error("no way");
    const Tensor y = (*fc_)(input);
    ++state_->finished;
    return y;
  }
  const char* type_name() const override { return "Fragile"; }
  nn::ModulePtr make_like() const override { return std::make_shared<Fragile>(state_); }

 private:
  std::shared_ptr<State> state_;
  std::shared_ptr<nn::Linear> fc_;
};

struct Fixture {
  std::shared_ptr<Fragile::State> state = std::make_shared<Fragile::State>();
  nn::ModulePtr model =
      test::in_double([this] { return std::make_shared<Fragile>(state); });
  Tensor images = test::random("images", {6, 5});
};

TEST(FailingReplica, IsNamedAndTheOthersFinish) {
  Fixture f;
  f.model->to(test::reference(0));
  DataParallel dp(f.model, test::devices(3));
  std::latch together(3);  // passes only if every replica has a separate thread
  f.state->together = &together;
  f.state->throws_on = 1;
  EXPECT_EQ(test::message_of([&] { dp(f.images); }),
            "Caught RuntimeError in replica 1 on device 1: no way");
  EXPECT_EQ(f.state->finished, 2);

  f.state->together = nullptr;
  f.state->throws_on = -1;
  const Tensor y = dp(f.images);
  EXPECT_EQ(test::distance(y, (*f.model)(test::on(test::reference(0), f.images))), 0);
}

TEST(FailingReplica, LeavesTheCallsOfItsThread) {
  Fixture f;
  f.model->to(test::reference(0));
  DataParallel dp(f.model, test::devices(2));
  f.state->throws_on = 1;
  EXPECT_NE(test::message_of([&] { dp(f.images); }), "");
  const std::string calls = tracer::traceback_text(tracer::take_traceback());
  const char* in_order[] = {"in Module.__call__\n", "in Module._call_impl\n",
                            "In the thread of replica 1 (reference:1), started by "
                            "parallel_apply:\n",
                            "in parallel_apply\n", "in Module._call_impl\n"};
  size_t at = 0;
  for (const char* part : in_order) {
    at = calls.find(part, at);
    ASSERT_NE(at, std::string::npos) << part << "\nis not in\n" << calls;
  }
  EXPECT_EQ(calls.find("replica 0"), std::string::npos);

  f.state->throws_on = -1;
  dp(f.images);
  EXPECT_TRUE(tracer::take_traceback().frames.empty());
}

TEST(FailingReplica, NamesTheOperationThatFails) {
  const nn::ModulePtr model = test::in_double(test::make_toy);  // of 5 features
  model->to(test::reference(0));
  DataParallel dp(model, test::devices(2));
  const std::string message =
      test::message_of([&] { dp(test::random("images", {4, 3})); });
  EXPECT_EQ(
      message,
      "Caught RuntimeError in replica 0 on device 0: mat1 and mat2 shapes cannot "
      "be multiplied (2x3 and 5x2); in older PyTorch: size mismatch, m1: [2 x 3], "
      "m2: [5 x 2]");
  const std::string calls = tracer::traceback_text(tracer::take_traceback());
  EXPECT_NE(calls.find("in Linear.forward (fc)\n"), std::string::npos) << calls;
}

TEST(FailingReplica, IsNamedByItsDevice) {
  Fixture f;
  f.model->to(test::reference(3));
  DataParallel dp(f.model, {test::reference(3), test::reference(1)});
  f.state->throws_on = 1;
  EXPECT_EQ(test::message_of([&] { dp(f.images); }),
            "Caught RuntimeError in replica 1 on device 1: no way");
  f.state->throws_on = 3;
  EXPECT_EQ(test::message_of([&] { dp(f.images); }),
            "Caught RuntimeError in replica 0 on device 3: no way");
}

TEST(FailingReplica, KernelFailuresReachTheHost) {
  const nn::ModulePtr model = test::in_double(test::make_toy);
  model->to(test::reference(0));
  DataParallel dp(model, test::devices(2));
  runtime::Task task;
  task.record.name = "broken";
  task.run = [] { throw std::runtime_error("a kernel of device 1 broke"); };
  runtime::context(test::reference(1)).compute().enqueue(std::move(task));
  const Tensor images = test::random("images", {4, 5});
  dp(images);  // only enqueues
  const std::string message =
      test::message_of([] { runtime::context(test::reference(1)).synchronize(); });
  EXPECT_EQ(message, "reference:1: broken failed: a kernel of device 1 broke");
  EXPECT_EQ(test::distance(dp(images), (*model)(test::on(test::reference(0), images))),
            0);
}

std::string placement_error(const nn::ModulePtr& model) {
  DataParallel dp(model, test::devices(2));
  return test::message_of([&] { dp(test::random("images", {4, 2, 3, 3})); });
}

TEST(Placement, WrongDeviceInPyTorchsWords) {
  const nn::ModulePtr model = test::in_double(test::make_batch_norm);
  const std::string words =
      "module must have its parameters and buffers on device reference:0 "
      "(device_ids[0]) but found one of them on device: ";
  EXPECT_EQ(placement_error(model), words + "host");
  model->to(test::reference(1));
  EXPECT_EQ(placement_error(model), words + "reference:1");
  model->to(test::reference(0));
  EXPECT_EQ(placement_error(model), "");
  Tensor running_mean = model->buffers()[0];
  running_mean.set_data(test::on(test::reference(1), running_mean));
  EXPECT_EQ(placement_error(model), words + "reference:1")
      << "buffers are checked, too";
}

}  // namespace
}  // namespace lockstep
