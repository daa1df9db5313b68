// The viewer's sentences in the modes where those of DataParallel and
// DistributedDataParallel would be false.
#include "gui/model/further_reading.h"
#include "tests/gui/model/narrated.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT

// Sentences of DataParallel that would be false: nothing is gathered, and no device
// computes the loss of the whole batch.
TEST(NarrationOfModes, OfALossOnEachDevice) {
  const Model model = made("dp-criterion", R"(
phase step 0 0 99000 kind=train batch=3 chunks=[2,1] input_on=host
phase h2d 0 10 20
phase forward 0 100 400
call DataParallelModel.__call__ 0 110 300 module="" shapes=[[3,5]]
call DataParallelModel.forward 0 120 200 module="" shapes=[[3,5]]
phase loss 0 1000 500
copy labels 1 1100 10 op=6 why=targets src=host dst=0 bytes=16 tensor=labels
op aten::nll_loss 0 1200 50 shapes=[[2,10],[2]]
copy loss 1 1300 10 op=6 why=loss src=1 dst=0 bytes=4 tensor=loss
copy accuracy 1 1350 10 op=6 why=metrics src=1 dst=0 bytes=4 tensor=accuracy
phase backward 0 3000 900
op ReduceBackward 0 3010 50
copy loss_grad 2 3100 10 op=12 why=loss_grad src=0 dst=1 bytes=4 tensor=loss
)")
                          .model();
  const Expected expected[] = {
      {"h2d",
       "Nothing is copied here: **scatter** will send each device its images, and the "
       "criterion its labels."},
      {"loss",
       "Each device computes the loss of **its own chunk**. The 2 scalars are added on "
       "the first device and divided by 2: the mean of the chunks' means."},
      {"DataParallelModel.forward",
       "**DataParallelModel.forward** splits one model(x) across 2 devices: scatter "
       "the "
       "batch, replicate the model, parallel_apply the replicas. The outputs are not "
       "gathered. It takes the host 200 µs."},
      {"labels@device 0",
       "Device 0 gets the **labels of its chunk**: 16 B from the host. It computes the "
       "loss of its own outputs."},
      {"aten::nll_loss",
       "**aten::nll_loss** picks each image's value at its correct label and averages "
       "over this device's chunk only: the loss will be the **mean of these means**. "
       "It "
       "needs no work on a device."},
      {"loss@device 0",
       "The **loss of device 1's chunk** (4 B) goes to device 0, to be added to the "
       "others. The outputs themselves stay on device 1."},
      {"accuracy@device 0",
       "Device 1's share of the **accuracy** (4 B) goes to device 0, to be added to "
       "the "
       "others."},
      {"loss_grad@device 1",
       "The **gradient of the sum of the losses** (4 B) goes from device 0 to device "
       "1, "
       "which can now run its own backward pass."},
  };
  expect_said(model, expected);
}

// On a GPU, an addition can be part of a batch norm's kernel, before it or after it. It
// does need work on a device, so the usual sentence would be false.
TEST(NarrationOfModes, OfAnAdditionThatIsFused) {
  const Model model = made("single", R"(
phase step 0 0 99000 kind=train batch=2 input_on=host
phase forward 0 100 400
op lockstep::reorder_for_convolutions 0 105 10 shapes=[[8,8,3,3]]
kernel reorder_many 1 110 20 op=3 phase=forward bytes=4608
call BasicBlock.forward 0 120 200 module=layer1.0 shapes=[[2,8,4,4]]
op aten::batch_norm 0 130 20 shapes=[[2,8,4,4]]
kernel batch_norm 1 140 50 op=6 phase=forward bytes=3072
op aten::add_ 0 160 20 shapes=[[2,8,4,4],[2,8,4,4]]
phase backward 0 1000 900
op aten::add 0 1100 20 shapes=[[2,8,4,4],[2,8,4,4]]
op NativeBatchNormBackward0 0 1150 20 shapes=[[2,8,4,4]]
kernel batch_norm_backward 1 1200 50 op=11 phase=backward bytes=5120
)")
                          .model();
  const Expected expected[] = {
      {"aten::add_",
       "**aten::add_** in layer1.0 adds the block's input to its output, [2, 8, 4, 4]: "
       "ResNet's shortcut. It has no kernel of its own: it is fused into that of the "
       "batch norm before it."},
      {"aten::add",
       "Two gradients of [2, 8, 4, 4] are added: forward used that tensor twice, so "
       "**its gradient is the sum** of both. The addition has no kernel of its own: it "
       "is fused into that of the batch norm after it."},
      {"lockstep::reorder_for_convolutions",
       "The weights of the convolutions are copied to the order in which cuDNN reads "
       "them: **one kernel** for all of them, instead of one in each convolution. The "
       "call queues the kernel, which ran **5.00 µs later** on device 0, for 20.0 µs."},
      {"reorder_many@device 0",
       "**reorder_many** on device 0 copies the weights of the convolutions to the "
       "order "
       "in which cuDNN reads them, in 20.0 µs."},
  };
  expect_said(model, expected);
}

// With the loss in forward, gather has something to do, and the criterion nothing.
TEST(NarrationOfModes, OfALossInForward) {
  const char* const step = R"(
phase step 0 0 99000 kind=train batch=3 chunks=[2,1] input_on=host{}
phase forward 0 100 400
call DataParallel.forward 0 120 200 module="" shapes=[[3,5]]
phase gather 0 330 20
copy loss 1 1300 10 op=4 why=loss src=1 dst=0 bytes=4 tensor=loss
phase loss 0 1400 500
phase backward 0 3000 900
op GatherBackward 0 3010 50
copy loss_grad 2 3100 10 op=8 why=loss_grad src=0 dst=1 bytes=4 tensor=loss
)";
  const auto with = [&](const char* more) {
    return made("dp-criterion", fmt::format(fmt::runtime(step), more).c_str()).model();
  };
  const Model model = with(" loss_in_forward=1");
  const Expected expected[] = {
      {"gather",
       "The **losses of 2 chunks** become a vector on the first device. The outputs "
       "stay on their devices. Scalars cannot be concatenated: PyTorch warns that it "
       "unsqueezes them."},
      {"loss", "**.mean()** of the 2 losses: the mean of the chunks' means."},
      {"loss_grad@device 1",
       "The **gradient of the mean** with respect to device 1's loss (4 B) goes from "
       "device 0 to device 1, which can now run its own backward pass."},
  };
  expect_said(model, expected);
  EXPECT_EQ(said(with(""), "loss").find(".mean()"), std::string::npos);
}

// DistributedDataParallel's sentences would be false: gradients stay on their ranks.
TEST(NarrationOfModes, OfRanksThatAverageTheirWeights) {
  const Model model = made("local-sgd", R"(
phase step 0 0 1000 kind=train batch=1 chunks=[1] local_steps=2
phase loss 0 5 10
phase backward 0 20 100
phase optimizer 0 150 50
phase average 0 210 90
collective ring 1 220 500 op=5 collective=all_reduce why=average group_size=3 bytes=1200
copy chunk 2 230 50 op=6 why=average src=0 dst=1 bytes=400 ring_step=1
)")
                          .model();
  for (const char* path : {"backward", "optimizer"}) {
    const std::string text = said(model, path);
    EXPECT_EQ(text.find("bucket"), std::string::npos) << text;
    EXPECT_EQ(text.find("same gradients"), std::string::npos) << text;
  }
  const Expected expected[] = {
      {"average",
       "The ranks **average their weights**: all_reduce adds them, and every rank gets "
       "the mean. Momentum and running statistics stay as they are."},
      {"ring@device 0",
       "**all_reduce** of all parameters, divided by 3 before (**1.20 kB**), in 500 "
       "µs: every rank gets the **mean of the weights**. **Exposed**, without any "
       "kernel: 500 µs. Of that, waiting for other ranks: unknown."},
      {"chunk@device 1",
       "**400 B** of weights go from device 0 to device 1: part of the ranks' "
       "average."},
  };
  expect_said(model, expected);
}

TEST(FurtherReading, OfACollectiveDependsOnWhatItSums) {
  const auto file_of = [](const char* mode, const char* why) {
    const std::string lines =
        std::string(
            "phase step 0 0 1000 kind=train\ncollective all_reduce 1 20 50 "
            "collective=all_reduce group_size=3 bytes=1200 why=") +
        why;
    const Model model = made(mode, lines.c_str()).model();
    const State state = state_at(
        model,
        at_event(model, static_cast<uint32_t>(names_of(model)["all_reduce@device 0"])));
    return std::string(pytorch_file_at(model, state));
  };
  EXPECT_EQ(file_of("ddp", "all_reduce"), "torch/csrc/distributed/c10d/reducer.cpp");
  EXPECT_EQ(file_of("local-sgd", "average"),
            "torch/distributed/algorithms/model_averaging/averagers.py");
  EXPECT_EQ(file_of("ddp", "metrics"), "") << "main.py sums these itself";
  EXPECT_EQ(file_of("hybrid", "all_reduce"), "") << "no reducer takes part";
}

// DataParallel's, a ring of ranks' and a pipeline's sentences would be false: weights
// stay, one device takes no part in the sum, and there are no micro-batches.
TEST(NarrationOfModes, OfAHybrid) {
  const Model model = made("hybrid", R"(
phase step 0 0 99000 kind=train batch=3 chunks=[2,1] input_on=host
phase h2d 0 10 20
copy labels 3 15 10 op=2 why=h2d src=host dst=2 bytes=24 tensor=labels
phase forward 0 100 400
phase scatter 0 110 20
copy images 1 115 10 op=5 why=scatter src=host dst=0 bytes=80 tensor=images
copy images 2 115 10 op=5 why=scatter src=host dst=1 bytes=40 tensor=images
phase gather 0 330 20
copy first 3 340 10 op=8 why=activation src=0 dst=2 bytes=16 tensor=output
copy second 3 360 10 op=8 why=activation src=1 dst=2 bytes=8 tensor=output
phase backward 0 3000 900
op GatherBackward 0 3010 50
copy grad 1 3100 10 op=12 why=activation_grad src=2 dst=0 bytes=16 tensor=output
phase all_reduce 0 3500 100
collective s 1 3520 99 op=14 why=all_reduce collective=all_reduce group_size=2 bytes=400
copy ring 1 3530 50 op=14 why=all_reduce src=1 dst=0 bytes=200 group=features seq=0
phase optimizer 0 4000 50
)")
                          .model();
  const Expected expected[] = {
      {"h2d",
       "Only the **labels** (24 B) go to device 2: the loss will be computed there. "
       "The "
       "images stay on the host, because **scatter** will send each device its chunk."},
      {"scatter",
       "**scatter** cuts the batch into 2 chunks of 2 (last: 1), for the devices that "
       "have the features: **120 B** leave the host. The classifier's device gets "
       "none."},
      {"gather",
       "The **features' outputs** (**24 B**) go to device 2, where the classifier and "
       "the loss see the whole batch."},
      {"first@device 2",
       "The **features of device 0's chunk** (16 B) go to device 2, which has the "
       "classifier."},
      {"grad@device 0",
       "The **gradient of the features** (16 B) goes from the classifier's device 2 "
       "back to device 0, which can now run the backward pass of its chunk."},
      {"s@device 0",
       "**all_reduce** of the gradients of the features (**400 B**) among the 2 "
       "devices "
       "that have them, in 99.0 µs: each gets the **sum**, since the loss is already "
       "the "
       "mean over the batch."},
      {"ring@device 0",
       "**200 B** of the features' gradients go around the ring, from device 1 to "
       "device 0. The device of the classifier is not in it."},
      {"optimizer",
       "Every device of the features makes the **same update** with the same "
       "gradients, "
       "so that their weights stay equal and none are sent. The classifier is updated "
       "once, on its own device."},
  };
  expect_said(model, expected);
}

}  // namespace
}  // namespace lockstep::gui
