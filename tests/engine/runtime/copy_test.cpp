// Copies between memories: values, order, lifetimes, and rejected calls.
// sanitize: address thread
#include "engine/ops/copy.h"

#include "tests/engine/runtime/gate.h"

namespace lockstep {
namespace {

using test::Gate;

TEST(Copy, TheSameDeviceGivesTheSameTensor) {
  const Tensor x = test::on(test::reference(0), test::random("x", {3}));
  EXPECT_TRUE(ops::copy_to(x, test::reference(0), {"h2d"}).is(x));
  const Tensor host = test::random("x", {3});
  EXPECT_TRUE(ops::copy_to(host, kHost, {"h2d"}).is(host));
}

TEST(Copy, AnotherDeviceGetsACopy) {
  const Tensor host = test::random("x", {3, 4});
  const Tensor x = test::on(test::reference(0), host);
  const Tensor there = test::on(test::reference(1), x);
  EXPECT_EQ(there.device(), test::reference(1));
  EXPECT_EQ(x.device(), test::reference(0)) << "the source tensor stays on its device";
  EXPECT_EQ(test::distance(there, host), 0);
}

TEST(Copy, EveryTypeTravels) {
  for (const DType type : {DType::f32, DType::f64, DType::i64, DType::u8}) {
    const Tensor x = Tensor::from({1, 2, 250}, {3}, type);
    const Tensor back = test::on(test::reference(1), test::on(test::reference(0), x));
    EXPECT_EQ(test::values_of(back), (std::vector<double>{1, 2, 250})) << name(type);
    EXPECT_EQ(back.dtype(), type);
  }
}

// The sender's work, the transfer and the receiver's work run in order although the
// host does not wait.
TEST(Copy, WaitsForTheSenderAndTheReceiverForIt) {
  const Tensor x = test::on(test::reference(0), test::vector({1, 2}));
  Tensor result;
  {
    Gate gate(runtime::context(test::reference(0)).compute());
    const Tensor doubled = ops::scale(x, 2);
    result = ops::scale(test::on(test::reference(1), doubled), 10);
  }
  EXPECT_EQ(test::values_of(result), (std::vector<double>{20, 40}));
}

// Copies only: the second one must not overtake the first.
TEST(Copy, OfWhatIsStillArriving) {
  Tensor there;
  {
    Gate gate(runtime::context(test::reference(0)).copy());
    there = test::on(test::reference(1),
                     test::on(test::reference(0), test::vector({1, 2})));
    EXPECT_FALSE(runtime::context(test::reference(1)).copy().record_event()->done());
  }
  EXPECT_EQ(test::values_of(there), (std::vector<double>{1, 2}));
}

TEST(Copy, AHostTensorLivesUntilItsCopyIsDone) {
  Tensor there;
  {
    Gate gate(runtime::context(test::reference(0)).copy());
    const Tensor host = test::random("x", {1000});
    const std::weak_ptr<Storage> watch = host.storage();
    there = test::on(test::reference(0), host);
    const_cast<Tensor&>(host) = Tensor();
    EXPECT_FALSE(watch.expired()) << "the copy has not run";
    gate.open();
    runtime::context(test::reference(0)).synchronize();
    EXPECT_TRUE(watch.expired());
  }
  EXPECT_EQ(test::distance(there, test::random("x", {1000})), 0);
}

// The sender's memory may be freed before its copy has run.
TEST(Copy, ASendersMemoryIsNotReusedBeforeItsCopyIsDone) {
  Tensor there;
  {
    Gate gate(runtime::context(test::reference(1)).copy());
    Tensor x = test::on(test::reference(0), test::vector({1, 2, 3}));
    x = ops::scale(x, 1);
    there = test::on(test::reference(1), x);
    x = Tensor();
    for (int i = 0; i < 4; ++i) {
      ops::full_like(test::on(test::reference(0), test::vector({0, 0, 0})), -1);
    }
    runtime::context(test::reference(0)).synchronize();
  }
  EXPECT_EQ(test::values_of(there), (std::vector<double>{1, 2, 3}));
}

TEST(Copy, IntoAPartOfATensor) {
  const Tensor whole = test::on(test::reference(0), test::vector({0, 0, 0, 0}));
  const Tensor piece = test::on(test::reference(1), test::vector({7, 8}));
  ops::copy_into(piece, whole.narrowed(1, 2), {"gather"});
  EXPECT_EQ(test::values_of(whole), (std::vector<double>{0, 7, 8, 0}));
  ops::copy_into(test::on(test::reference(0), test::vector({5})), whole.narrowed(3, 1),
                 {"gather"});
  EXPECT_EQ(test::values_of(whole), (std::vector<double>{0, 7, 8, 5}));
  const Tensor host = test::vector({1, 1});
  ops::copy_into(whole.narrowed(2, 2), host, {"d2h"});
  EXPECT_EQ(test::values_of(host), (std::vector<double>{8, 5}));
}

TEST(Copy, ItemReadsScalarsOnly) {
  const Tensor x = test::on(test::reference(0), test::vector({2.5}));
  EXPECT_EQ(ops::item(x), 2.5);
  EXPECT_EQ(ops::item(Tensor::scalar(7, DType::i64)), 7);
  const Tensor two = test::on(test::reference(0), test::vector({1, 2}));
  EXPECT_EQ(test::message_of([&] { ops::item(two); }),
            "a Tensor with 2 elements cannot be converted to Scalar");
}

TEST(Devices, MixingThemIsRefusedInPyTorchsWords) {
  const Tensor a = test::on(test::reference(0), test::vector({1}));
  const Tensor b = test::on(test::reference(1), test::vector({1}));
  EXPECT_EQ(test::message_of([&] { ops::add(a, b); }),
            "Expected all tensors to be on the same device, but found at least two "
            "devices, reference:0 and reference:1!");
  EXPECT_EQ(test::message_of([&] { ops::add(a, test::vector({1})); }),
            "Expected all tensors to be on the same device, but found at least two "
            "devices, reference:0 and host!");
  EXPECT_NE(test::message_of([] { ops::relu(test::vector({1})); }), "");
  EXPECT_NE(test::message_of([&] { a.data<double>(); }).find("reference:0"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep
