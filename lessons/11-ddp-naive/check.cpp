#include <algorithm>
#include <cmath>
#include <map>

#include "engine/distributed/ddp/distributed_data_parallel.h"
#include "engine/nn/init.h"
#include "engine/nn/layers.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/optim/sgd.h"
#include "engine/runtime/device_context.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"
#include "lessons/machine/ranks.h"
#include "tracer/format/keys.h"

namespace lockstep::lessons::lesson_11 {

using distributed::GradientSync;
using Numbers = std::vector<double>;

constexpr double kExact = 1e-12;

/// Linear, ReLU, Linear in float64, identical on each rank; not yet on a device.
nn::ModulePtr make_net() {
  nn::Construction construction;
  construction.dtype = DType::f64;
  nn::ConstructionScope scope(construction);
  const auto net = std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<nn::Linear>(5, 4), std::make_shared<nn::ReLU>(),
      std::make_shared<nn::Linear>(4, 2)});
  net->assign_paths("");
  return net;
}

constexpr int kRows = 12;

/// Returns the mean loss over rows rank, rank + size, … of the whole batch.
Tensor loss_of(nn::Module& net, int rank, int size, Device device) {
  Numbers images, labels;
  for (int row = rank; row < kRows; row += size) {
    for (int i = 0; i < 5; ++i) images.push_back(std::sin(1 + 5 * row + i));
    labels.push_back(row % 3 == 0);
  }
  const auto rows = static_cast<int64_t>(labels.size());
  const Tensor x = ops::copy_to(Tensor::from(images, {rows, 5}, DType::f64), device,
                                {"h2d", "images"});
  const Tensor y =
      ops::copy_to(Tensor::from(labels, {rows}, DType::i64), device, {"h2d", "labels"});
  return ops::cross_entropy(net(x), y);
}

using Gradients = std::map<std::string, Numbers>;  // by parameter

Gradients gradients_of(const nn::Module& model, Device device) {
  runtime::context(device).synchronize();
  Gradients all;
  for (const auto& [name, parameter] : model.named_parameters()) {
    all[name] = values(parameter.grad());
  }
  return all;
}

/// Returns the gradient of one rank's rows, computed on a single device.
Gradients gradient_alone(int rank, int size) {
  const Device device{DeviceType::reference, 0};
  const nn::ModulePtr net = make_net();
  net->to(device);
  loss_of(*net, rank, size, device).backward();
  return gradients_of(*net, device);
}

bool near(const Numbers& a, const Numbers& b, double factor) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - factor * b[i]) <= kExact)) return false;
  }
  return true;
}

/// Returns the misconception behind a wrong mean.
std::string likely(const Numbers& got, const Numbers& mean, const Numbers& own) {
  if (near(got, mean, 2)) {
    return "this is the sum over ranks, twice the mean. Each rank's loss is a mean "
           "over its own rows, so the gradient of the whole batch is the mean over "
           "ranks";
  }
  if (near(got, mean, 0.5)) {
    return "this is half of the mean: it was divided twice, or by something other "
           "than `divisor_`";
  }
  if (near(got, own, 0.5)) {
    return "this is half of this rank's own gradient: it was scaled before the other "
           "rank's share had arrived. all_reduce only enqueues: wait(), then scale";
  }
  if (near(got, Numbers(got.size(), 0), 1)) {
    return "it is 0: in C++ the quotient of two integers is an integer, and 1 / 2 is "
           "0; "
           "write 1.0 / divisor_";
  }
  Numbers rest = got;
  for (size_t i = 0; i < rest.size(); ++i) rest[i] -= own[i];
  if (near(rest, mean, 1)) {
    return "this is the mean plus this rank's own gradient: set_grad replaces what "
           "backward left there";
  }
  if (near(got, own, 1)) {
    return "this is the gradient of this rank's rows alone: ranks must share gradients "
           "while backward runs or just after it, before any optimizer sees them. "
           "Averaging parameters after the step is not equivalent";
  }
  return "this is neither the mean nor the sum. The loss is already a mean over this "
         "rank's rows, so it includes the batch size; only the division by the "
         "number of ranks is missing";
}

/// Returns ` (right: 0.bias)`, the parameters with the right gradient.
std::string right_ones(const Gradients& got, const Gradients& mean) {
  std::string names;
  for (const auto& [name, numbers] : got) {
    if (!near(numbers, mean.at(name), 1)) continue;
    names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "" : " (right: " + names + ")";
}

constexpr const char* kSameCalls = "all ranks make the same calls in the same order";
const Because kOtherCalls{
    "the ranks' calls differ in number or order: an all_reduce inside an `if` that "
    "depends on this rank or its gradient leaves the other ranks waiting",
    "Ranks meet call by call"};

LESSON_TEST(11, mean_of_two, "two ranks hold the gradient of the whole batch") {
  const Gradients mean = gradient_alone(0, 1);
  std::vector<Gradients> got(2);
  HeadStart head;
  on_ranks(2, kSameCalls, kOtherCalls, [&](Rank& rank) {
    const nn::ModulePtr net = make_net();
    net->to(rank.device);
    distributed::DistributedDataParallel ddp(net, rank.group);
    if (rank.rank == 1) head.wait_for_rank_0(0);
    loss_of(ddp, rank.rank, 2, rank.device).backward();
    if (rank.rank == 0) head.rank_0_is_ahead();
    got[rank.rank] = gradients_of(*net, rank.device);
  });
  for (int r : {0, 1}) {
    const Gradients own = gradient_alone(r, 2);
    const std::string right = right_ones(got[r], mean);
    for (const auto& [name, numbers] : got[r]) {
      exam.close(
          fmt::format("rank {}'s gradient of {} after backward{}", r, name, right),
          mean.at(name), numbers, kExact,
          {likely(numbers, mean.at(name), own.at(name)), "Mean or sum"});
    }
  }
}

LESSON_TEST(11, in_backward, "one all-reduce per parameter, and the optimizer waits") {
  const tracer::Trace& trace = exam.train(
      "-a resnet18 --dataset generated --device-type null --mode ddp --devices 2 -b 2 "
      "--steps 2 --trace-steps 1:2 --timeout 5",
      {"two ranks train ResNet18 with your class; its output is printed below",
       "Ranks meet call by call"});
  const tracer::Event *last = nullptr, *optimizer = nullptr;
  std::map<std::pair<int64_t, std::string>, int> count;  // by step and parameter
  for (const tracer::Event& event : trace.events) {
    if (number(event, "device") != 0) continue;
    if (event.is("kernel") && text(event, "phase") == "optimizer") optimizer = &event;
    if (event.is("collective") && text(event, "phase") == "all_reduce") {
      exam.that(event.name == "all_reduce" && !text(event, "tensor").empty(),
                fmt::format("collective #{} after backward", event.id),
                "an all_reduce of a parameter's gradient",
                fmt::format("{} `{}`", event.name, text(event, "tensor")),
                {"one all-reduce for each gradient is enough: anything else that is "
                 "exchanged pays its latency 62 times in a step",
                 "Backward, not step", event.id});
    }
    if (!event.is("collective") || text(event, tracer::keys::why) != "all_reduce")
      continue;
    last = &event;
    const auto key = std::pair(event.step, text(event, "tensor"));
    exam.equal(
        fmt::format("step {}: all-reduces of {} on rank 0", key.first, key.second), 1,
        ++count[key],
        {"one all-reduce makes the gradient the same on all ranks, and equal "
         "optimizers keep equal parameters equal: another all-reduce, of the gradient "
         "or of the parameter, sends all bytes again for nothing",
         "Backward, not step", event.id});
  }
  exam.that(last && optimizer, "all-reduces of gradients in step 1", "62", "none",
            {"equal models stay equal only as long as their gradients are: reduce in "
             "every step",
             "Backward, not step"});
  const Events waits = host_waits_in(
      trace, {"before_forward", "before_backward", "gradient_ready", "after_backward"});
  const bool host_waited = !waits.empty();
  exam.that(
      depends_on(trace, optimizer->id, last->id),
      fmt::format("the optimizer's kernel (#{}) waits for the last all-reduce (#{})",
                  optimizer->id, last->id),
      "yes", "no",
      {host_waited
           ? "the host waited for the device and could enqueue nothing; but nothing "
             "orders the optimizer after the all-reduce on the stream: use wait()"
           : "the optimizer reads a gradient while its sum is still arriving. The host "
             "has only enqueued the all-reduce; wait() makes the device wait, not the "
             "host",
       "What wait() waits for", optimizer->id});
  exam.equal("times in a step that the host waits for a device in your functions",
             size_t{0}, waits.size(),
             {"a waiting host can enqueue nothing, and the devices run dry after every "
              "all-reduce. A Work's wait() is enough: it makes the device wait, not "
              "the host",
              "What wait() waits for", waits.empty() ? -1 : waits.back()->id});
}

LESSON_TEST(11, trains, "three ranks train like one device") {
  const auto train = [](nn::Module& net, const nn::Module& model, int rank, int size,
                        Device device) {
    optim::Sgd sgd(model.named_parameters(), {0.1, 0.9, 1e-4});
    for (int step = 0; step < 4; ++step) {
      const Tensor loss = loss_of(net, rank, size, device);
      sgd.zero_grad();
      loss.backward();
      sgd.step();
    }
    Numbers all;
    for (const Tensor& parameter : model.parameters()) {
      const Numbers some = values(parameter);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  };
  const Device alone{DeviceType::reference, 0};
  const nn::ModulePtr net = make_net();
  net->to(alone);
  const Numbers expected = train(*net, *net, 0, 1, alone);
  std::vector<Numbers> got(3);
  on_ranks(3, kSameCalls, kOtherCalls, [&](Rank& rank) {
    const nn::ModulePtr net = make_net();
    net->to(rank.device);
    distributed::DistributedDataParallel ddp(net, rank.group);
    got[rank.rank] = train(ddp, *net, rank.rank, 3, rank.device);
  });
  exam.close("rank 0's parameters after 4 steps", expected, got[0], kExact,
             {"it worked with two ranks. Divide by divisor_, which is the number of "
              "ranks unless set_divisor changes it, and do the same in every step",
              "Mean or sum"});
  for (int r : {1, 2}) {
    exam.close(
        fmt::format("rank {}'s parameters: bitwise equal to rank 0's", r), got[0],
        got[r], 0,
        {"ranks drift apart, one rounding error at a time. After the all-reduce all "
         "ranks hold the same bits: do not combine them with a rank's own gradient",
         "Backward, not step"});
  }
}

/// A learner's gradient sync, called directly: three parameters of 2, 3 and 4 elements
/// whose gradients, if present, are all rank + 1.
struct ByHand {
  explicit ByHand(Rank& rank) {
    for (int64_t numel : {2, 3, 4}) {
      const Tensor parameter =
          ops::copy_to(counting({numel}), rank.device, {"h2d", "p"});
      parameters.push_back({fmt::format("p{}", numel - 2), parameter});
    }
    gradient = rank.rank + 1;
    sync = distributed::make_gradient_sync(parameters, *rank.group, {});
  }
  void step(const std::vector<size_t>& ready) {
    sync->before_forward();
    sync->before_backward(parameters[0].value);
    for (size_t p : ready) {
      const Tensor& parameter = parameters[p].value;
      parameter.set_grad(ops::full_like(parameter, gradient));
      sync->gradient_ready(p);
    }
    sync->after_backward();
  }
  distributed::Parameters parameters;
  double gradient = 0;
  std::unique_ptr<GradientSync> sync;
};

LESSON_TEST(11, any_order,
            "gradients may become ready in a different order on each rank") {
  on_ranks(
      2, kSameCalls,
      {"gradient_ready is called in the order of this rank's backward: a rank that "
       "reduces there is matched with a different parameter on another rank. In "
       "after_backward, use the order of parameters_, which is the same on all ranks",
       "Ranks meet call by call"},
      [](Rank& rank) {
        ByHand by_hand(rank);
        if (rank.rank == 0) by_hand.step({2, 1, 0});
        if (rank.rank == 1) by_hand.step({1, 2, 0});
      });
}

LESSON_TEST(11, same_bits, "afterwards the ranks hold the same bits") {
  std::vector<Numbers> got(3);
  on_ranks(3, kSameCalls, kOtherCalls, [&](Rank& rank) {
    const Tensor parameter = ops::copy_to(counting({256}), rank.device, {"h2d", "p"});
    const auto sync =
        distributed::make_gradient_sync({{"p", parameter}}, *rank.group, {});
    Numbers gradient;
    for (int i = 0; i < 256; ++i) {  // of different magnitude on each rank
      gradient.push_back(std::sin(1 + 7 * i + rank.rank) * std::pow(50, rank.rank));
    }
    sync->before_forward();
    sync->before_backward(parameter);
    parameter.set_grad(ops::copy_to(Tensor::from(gradient, {256}, DType::f64),
                                    rank.device, {"h2d", "g"}));
    sync->gradient_ready(0);
    sync->after_backward();
    runtime::context(rank.device).synchronize();
    got[rank.rank] = values(parameter.grad());
  });
  for (int r : {1, 2}) {
    exam.close(fmt::format("rank {}'s gradient: bitwise equal to rank 0's", r), got[0],
               got[r], 0,
               {"a rank's own gradient was combined with the mean once more, and each "
                "rank rounds differently: after the all-reduce the bits are equal, so "
                "set them as they are",
                "Backward, not step"});
  }
}

LESSON_TEST(11, no_gradient, "a parameter may have no gradient on one rank") {
  std::vector<Numbers> got(2);
  on_ranks(2, kSameCalls,
           {"a rank without a gradient skipped the call, so the other rank was matched "
            "with the next parameter, or with none: take part with zeros",
            "Ranks meet call by call"},
           [&](Rank& rank) {
             ByHand by_hand(rank);
             if (rank.rank == 0) by_hand.step({2, 1, 0});
             if (rank.rank == 1) by_hand.step({2, 0});
             runtime::context(rank.device).synchronize();
             const Tensor grad = by_hand.parameters[1].value.grad();
             if (grad.defined()) got[rank.rank] = values(grad);
           });
  for (int r : {0, 1}) {
    exam.close(fmt::format("rank {}'s gradient of p1: (1 + 0) / 2", r), {0.5, 0.5, 0.5},
               got[r], kExact,
               {"the rank that had no gradient must also have the mean afterwards, and "
                "its zero counts: otherwise the ranks' parameters diverge",
                "Ranks meet call by call"});
  }
}

LESSON_TEST(11, no_batch, "a rank without a batch takes part with zeros") {
  std::vector<Numbers> got(3);
  on_ranks(3, kSameCalls,
           {"shadow_step must make all calls of after_backward: the ranks that still "
            "have a batch wait for it",
            "Ranks meet call by call"},
           [&](Rank& rank) {
             ByHand by_hand(rank);
             const bool last = rank.rank == 2;  // it has never used p1
             by_hand.step(last ? std::vector<size_t>{2, 0}
                               : std::vector<size_t>{2, 1, 0});  // p2's .grad is 2
             by_hand.sync->set_divisor(2);
             if (last) by_hand.sync->shadow_step();
             if (rank.rank < 2) by_hand.step({2, 1, 0});
             runtime::context(rank.device).synchronize();
             const Tensor& p2 = by_hand.parameters[2].value;
             got[rank.rank] = values(last ? p2 : p2.grad());
           });
  exam.close("rank 2's parameter p2 after shadow_step", {0, 1, 2, 3}, got[2], 0,
             {"the parameter itself was handed to all_reduce, which overwrites its "
              "argument: make zeros of its size, ops::full_like(parameter, 0)",
              "Ranks meet call by call"});
  for (int r : {0, 1}) {
    const bool old = near(got[r], Numbers(4, 2.5), 1);  // (1 + 2 + its last 2) / 2
    exam.close(fmt::format("rank {}'s gradient of p2 when rank 2 has no batch and the "
                           "divisor is 2: (1 + 2 + 0) / 2",
                           r),
               Numbers(4, 1.5), got[r], kExact,
               {old ? "rank 2 added the gradient of its last step; a rank without a "
                      "batch sends zeros, whatever .grad contains"
                    : "divide by divisor_: it is the number of ranks unless "
                      "set_divisor changes it; a rank without a batch adds zero",
                "Mean or sum"});
  }
}

}  // namespace lockstep::lessons::lesson_11
