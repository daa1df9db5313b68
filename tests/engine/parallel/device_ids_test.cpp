// DataParallel's arguments, by PyTorch's rules: chunk i goes to device_ids[i], outputs
// to output_device, gradients to device_ids[0], and all of it along any dim.
// sanitize: thread
#include <mutex>

#include "engine/parallel/data_parallel.h"
#include "tests/engine/parallel/nets.h"

namespace lockstep {
namespace {

using parallel::DataParallel;
using test::reference;

/// What the replicas received: the devices' chunks.
struct Received {
  std::mutex mutex;
  std::map<int, Tensor> by_device;

  std::string str() {
    std::string text;
    for (const auto& [device, chunk] : by_device) {
      text += std::to_string(device) + ":" + chunk.sizes().str();
    }
    return text;
  }
};

/// 2x, for inputs of any shape; keeps its input and has a parameter that it ignores.
class Doubles : public nn::Module {
 public:
  explicit Doubles(Received& received) : received_(received) {
    register_parameter("unused", {1}, nn::Init::constant(1));
  }
  Tensor forward(const Tensor& input) override {
    {
      std::lock_guard lock(received_.mutex);
      received_.by_device[input.device().index] = input;
    }
    return ops::scale(input, 2);
  }
  const char* type_name() const override { return "Doubles"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<Doubles>(received_);
  }

 private:
  Received& received_;
};

nn::ModulePtr doubles_on(Device device, Received& received) {
  const auto module =
      test::in_double([&] { return std::make_shared<Doubles>(received); });
  module->to(device);
  return module;
}

TEST(DeviceIds, MayBeInAnyOrder) {
  Received received;
  DataParallel dp(doubles_on(reference(2), received),
                  {reference(2), reference(0), reference(1)});
  const Tensor images = test::random("images", {5, 3});
  const Tensor y = dp(images);
  EXPECT_EQ(received.str(), "0:[2, 3]1:[1, 3]2:[2, 3]");
  EXPECT_EQ(test::distance(received.by_device[2], images.narrowed(0, 2)), 0);
  EXPECT_EQ(test::distance(received.by_device[0], images.narrowed(2, 2)), 0);
  EXPECT_EQ(test::distance(received.by_device[1], images.narrowed(4, 1)), 0);
  EXPECT_EQ(y.device(), reference(2)) << "by default on device_ids[0]";
  EXPECT_EQ(test::distance(y, ops::scale(test::on(reference(2), images), 2)), 0);
}

TEST(DeviceIds, ASmallBatchUsesTheFirstOfThem) {
  Received received;
  DataParallel dp(doubles_on(reference(1), received), {reference(1), reference(0)});
  EXPECT_EQ(dp(test::random("images", {1, 3})).device(), reference(1));
  EXPECT_EQ(received.str(), "1:[1, 3]");
}

// Outputs are gathered on output_device; gradients are summed where the module is.
TEST(DeviceIds, OutputsAndGradientsMayBeOnDifferentDevices) {
  const Tensor images = test::random("images", {5, 5});
  auto gradient = [&](parallel::Devices ids, std::optional<Device> output) {
    const nn::ModulePtr toy = test::in_double(test::make_toy);
    test::fill_golden(*toy, DType::f64);
    toy->to(ids[0]);
    DataParallel dp(toy, ids, output);
    const Tensor y = dp(images);
    EXPECT_EQ(y.device(), output.value_or(ids[0]));
    test::backward_from(y);
    const Tensor grad = toy->parameters()[0].grad();
    EXPECT_EQ(grad.device(), ids[0]);
    return grad;
  };
  const Tensor alone = gradient({reference(0)}, {});
  for (const auto& output : {std::optional<Device>(), {reference(0)}, {reference(3)}}) {
    const Tensor mine = gradient({reference(2), reference(0), reference(1)}, output);
    EXPECT_LT(test::relative_l2(mine, alone), 1e-14);
  }
}

TEST(DeviceIds, OneDeviceGetsTheModuleAndKeepsTheOutput) {
  const nn::ModulePtr toy = test::in_double(test::make_toy);
  DataParallel dp(toy, {reference(1)}, reference(0));
  EXPECT_EQ(toy->parameters()[0].device(), reference(1));
  EXPECT_EQ(dp(test::random("images", {2, 5})).device(), reference(1));
}

TEST(DeviceIds, TheModuleMustBeOnTheFirst) {
  Received received;
  DataParallel dp(doubles_on(reference(0), received), {reference(1), reference(0)});
  EXPECT_EQ(test::message_of([&] { dp(test::random("images", {2, 3})); }),
            "module must have its parameters and buffers on device reference:1 "
            "(device_ids[0]) but found one of them on device: reference:0");
}

TEST(DeviceIds, MustBeDifferent) {
  Received received;
  const auto refused = [&](parallel::Devices ids) {
    return test::message_of(
        [&] { DataParallel(doubles_on(reference(0), received), std::move(ids)); });
  };
  EXPECT_EQ(refused({reference(0), reference(1), reference(0)}),
            "DataParallel requires different devices of one type: reference:0 is "
            "repeated or of another type; fix: check device_ids");
  EXPECT_NE(refused({reference(0), {DeviceType::null, 1}}), "");
  EXPECT_EQ(refused({}), "DataParallel requires a device");
}

TEST(Dim, InputsAreCutAndOutputsJoinedAlongIt) {
  const Tensor images = test::random("images", {2, 5, 3});
  const struct {
    int dim;
    const char* chunks;
  } cases[] = {{0, "0:[1, 5, 3]1:[1, 5, 3]"},
               {1, "0:[2, 2, 3]1:[2, 2, 3]2:[2, 1, 3]"},
               {2, "0:[2, 5, 1]1:[2, 5, 1]2:[2, 5, 1]"},
               {-2, "0:[2, 2, 3]1:[2, 2, 3]2:[2, 1, 3]"}};
  for (const auto& [dim, chunks] : cases) {
    for (const bool on_device : {false, true}) {
      SCOPED_TRACE(std::to_string(dim) + (on_device ? " device" : " host"));
      Received received;
      DataParallel dp(doubles_on(reference(0), received), test::devices(3), {}, dim);
      const Tensor input = test::on(reference(0), images);
      const Tensor y = dp(on_device ? input : images);
      EXPECT_EQ(received.str(), chunks);
      EXPECT_EQ(y.sizes(), images.sizes());
      EXPECT_EQ(test::distance(y, ops::scale(input, 2)), 0);
    }
  }
}

// torch.arange(8).reshape(2, 4).chunk(2, dim=1)[1] is [[2, 3], [6, 7]].
TEST(Dim, AChunkHoldsItsColumns) {
  Received received;
  DataParallel dp(doubles_on(reference(0), received), test::devices(2), {}, 1);
  dp(Tensor::from({0, 1, 2, 3, 4, 5, 6, 7}, {2, 4}, DType::f64));
  EXPECT_EQ(test::values_of(received.by_device[1]), (std::vector<double>{2, 3, 6, 7}));
}

TEST(Dim, GradientsFindTheirWayBack) {
  const Tensor x = test::leaf(reference(0), test::random("images", {2, 5, 3}));
  Received received;
  DataParallel dp(doubles_on(reference(0), received), test::devices(3), reference(1),
                  1);
  const Tensor y = dp(ops::scale(x, 1));
  EXPECT_EQ(y.device(), reference(1));
  test::backward_from(y);
  const Tensor upstream = test::signed_tensor("grad", {2, 5, 3}, 2, DType::f64);
  EXPECT_EQ(test::distance(x.grad(), upstream), 0);
}

TEST(Dim, OutOfRangeIsPyTorchsError) {
  Received received;
  DataParallel dp(doubles_on(reference(0), received), test::devices(2), {}, 2);
  EXPECT_EQ(test::message_of([&] { dp(test::random("images", {4, 3})); }),
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
}

TEST(RotateDims, IsPyTorchsPermute) {
  for (const Device device : {kHost, test::kReference, test::kCpu}) {
    if (!device.is_host() && !has_backend(device.type)) continue;
    for (const DType type : {DType::f32, DType::f64}) {
      const Tensor host =
          Tensor::from({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {2, 3, 2}, type);
      const Tensor x = device.is_host() ? host : test::on(device, host);
      // torch.arange(12).reshape(2, 3, 2).permute(1, 2, 0), and permute(2, 0, 1)
      const Tensor by_one = ops::rotate_dims(x, 1), by_two = ops::rotate_dims(x, 2);
      EXPECT_EQ(by_one.sizes(), (Shape{3, 2, 2}));
      EXPECT_EQ(test::values_of(by_one),
                (std::vector<double>{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}));
      EXPECT_EQ(by_two.sizes(), (Shape{2, 2, 3}));
      EXPECT_EQ(test::values_of(by_two),
                (std::vector<double>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
    }
  }
}

}  // namespace
}  // namespace lockstep
