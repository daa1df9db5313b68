#include <cmath>
#include <map>
#include <random>
#include <set>

#include "engine/nn/layers.h"
#include "engine/ops/copy.h"
#include "engine/optim/sgd.h"
#include "engine/parallel/data_parallel.h"
#include "engine/plan/coalesce.h"
#include "engine/runtime/device_context.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"

namespace lockstep::lessons::lesson_06 {

constexpr const char* kResNet =
    "-a resnet18 --dataset generated --device-type null --devices 4 -b 8 --steps 1";
constexpr const char* kVgg =
    "-a vgg16 --mode dp --dataset generated --device-type null --devices 2 -b 8 "
    "--steps 1";

const Because kRun{
    "the engine's own DataParallel trains with your reduce; its output is printed "
    "below",
    "What the trace shows"};

parallel::Devices reference_devices(int count) {
  parallel::Devices devices;
  for (int i = 0; i < count; ++i) devices.push_back({DeviceType::reference, i});
  return devices;
}

// --- values

/// Returns the misconception that explains a sum whose first element is `got`.
std::string why_not(double sum, double got, double of_replica_0, int replicas) {
  if (std::abs(got - sum / replicas) < 1e-9) {
    return "that is the mean. The loss is already a mean over the whole gathered "
           "batch, so each replica's gradient is its share of the total, and the "
           "shares just have to be added";
  }
  if (std::abs(got - (sum - of_replica_0)) < 1e-9) {
    return "that is the sum without replica 0. Replica 0 also processed a chunk of the "
           "batch; its gradients just don't have to be sent";
  }
  return "each parameter's gradient is the sum of that parameter's gradients over all "
         "replicas";
}

/// Throws Wrong unless gradients of these shapes are summed on the first of `devices`.
void expect_sums(const Exam& exam, const std::vector<Shape>& shapes,
                 const parallel::Devices& devices) {
  std::vector<Tensors> gradients(devices.size());
  std::vector<std::vector<double>> expected;
  for (size_t i = 0; i < shapes.size(); ++i) {
    expected.emplace_back(shapes[i].numel(), 0.0);
    for (size_t d = 0; d < devices.size(); ++d) {
      const Tensor here = counting(shapes[i], 100.0 * (d + 1) + 10.0 * i);
      gradients[d].push_back(ops::copy_to(here, devices[d], {"h2d", "gradient"}));
      const std::vector<double> numbers = values(here);
      for (size_t j = 0; j < numbers.size(); ++j) expected[i][j] += numbers[j];
    }
  }
  const Tensors sums =
      parallel::primitives().reduce_add_coalesced(gradients, devices[0]);
  exam.equal(
      fmt::format("gradients returned, of {} parameters", shapes.size()), shapes.size(),
      sums.size(),
      {"the last group is never closed by a following tensor, but it must be sent, too",
       "Few large messages"});
  for (size_t i = 0; i < sums.size(); ++i) {
    const std::string what = fmt::format("gradient of parameter {}", i);
    exam.equal(
        what + ": device", devices[0].str(), sums[i].device().str(),
        {"the parameters that the optimizer updates live on device `to`, the first "
         "of the list; replicas are discarded after the step",
         "One model, and its replicas"});
    const std::vector<double> got = values(sums[i]);
    const double first = got.empty() ? 0 : got[0];
    exam.close(what, expected[i], got, 0,
               {why_not(expected[i][0], first, 100.0 + 10.0 * i,
                        static_cast<int>(devices.size())),
                "A sum, since the loss was a mean"});
    exam.close(
        fmt::format("replica 0's own gradient of parameter {}, afterwards", i),
        values(counting(shapes[i], 100.0 + 10.0 * i)), values(gradients[0][i]), 0,
        {"the sum was added into an input gradient: add into a new tensor, such as the "
         "one that packing makes, even for a group of one",
         "A sum, since the loss was a mean"});
  }
}

LESSON_TEST(6, sums_on_device_0,
            "every gradient is summed over replicas, on device 0") {
  expect_sums(exam, {{2, 3}, {4}, {1, 2, 2}, {3}}, reference_devices(3));
}

/// Returns all parameters of a small model after three steps on these devices.
std::vector<double> trained_on(int count) {
  const parallel::Devices devices = reference_devices(count);
  nn::ConstructionScope scope({.dtype = DType::f64, .seed = 6});
  auto net = std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<nn::Linear>(6, 5), std::make_shared<nn::ReLU>(),
      std::make_shared<nn::Linear>(5, 3)});
  net->to(devices[0]);
  parallel::DataParallel model(net, devices);
  optim::Sgd sgd(net->named_parameters(), {.lr = 0.01});
  std::vector<double> classes;
  for (int i = 0; i < 10; ++i) classes.push_back(i % 3);
  const Tensor labels = ops::copy_to(Tensor::from(classes, {10}, DType::i64),
                                     devices[0], {"h2d", "labels"});
  for (int step = 0; step < 3; ++step) {
    const Tensor loss = ops::cross_entropy(model(counting({10, 6}, step)), labels);
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  std::vector<double> all;
  for (const Tensor& parameter : net->parameters()) {
    for (double value : values(parameter)) all.push_back(value);
  }
  return all;
}

LESSON_TEST(6, same_training, "DP(2), DP(3) and DP(4) train as one device does") {
  const std::vector<double> single = trained_on(1);
  for (int count : {2, 3, 4}) {
    exam.close(
        fmt::format("parameters after 3 steps of 10 samples on {} devices", count),
        single, trained_on(count), 1e-12,
        {"each call to reduce serves one step: its sums must contain nothing from "
         "the step before",
         "A sum, since the loss was a mean"});
  }
}

// --- the trace of a training run

/// Records one run for three tests, to keep checks fast.
const tracer::Trace& resnet(Exam& exam) { return exam.train(kResNet, kRun); }

/// Returns the copies that reduce makes, whatever their labels.
Events reduce_copies(const tracer::Trace& trace) {
  Events copies;
  for (const tracer::Event* event : in_phase(trace, "reduce")) {
    if (event->is("copy")) copies.push_back(event);
  }
  return copies;
}

int64_t last_id(const Events& events) {
  return events.empty() ? tracer::kNone : events.back()->id;
}

LESSON_TEST(6, bytes_once, "each replica's gradients travel once, to device 0") {
  const tracer::Trace& trace = resnet(exam);
  const Events copies = reduce_copies(trace);
  int64_t by_host = 0, from_root = 0;
  for (const tracer::Event* copy : copies) {
    if (text(*copy, "src") == "host" || text(*copy, "dst") == "host") ++by_host;
    if (number(*copy, "src") == 0) ++from_root;
  }
  std::string likely = "k - 1 replicas send P bytes each; device 0 already has its own";
  if (by_host > 0) {
    likely = fmt::format(
        "{} copies begin or end on the host: devices can send to each other directly",
        by_host);
  } else if (from_root > 0) {
    likely = fmt::format(
        "{} copies leave device 0: replicas need no sum, since they are created from "
        "device 0 in the next forward pass. (In DistributedDataParallel all ranks "
        "receive it)",
        from_root);
  }
  const int64_t parameters = trace.lockstep["model"]["parameter_bytes"];
  exam.equal("bytes moved in the reduce phase, on 4 devices", 3 * parameters,
             bytes_of(copies),
             {likely, "One model, and its replicas", last_id(copies)});
  for (const tracer::Event* copy : copies) {
    exam.that(number(*copy, "dst") == 0,
              fmt::format("destination of copy #{}, from device {}", copy->id,
                          number(*copy, "src")),
              "device 0", fmt::format("device {}", number(*copy, "dst")),
              {"the sums are right, but partial sums travel between replicas: each "
               "replica's gradients travel once, to device 0. In a tree the next level "
               "waits for the one before",
               "One model, and its replicas", copy->id});
  }
}

/// Returns the bytes of each message according to PyTorch's rule for this model's
/// gradients.
std::vector<int64_t> group_bytes(const tracer::Trace& trace) {
  std::vector<int64_t> tensors, groups;
  for (const tracer::Json& tensor : trace.lockstep["model"]["tensors"]) {
    if (tensor["kind"] != "parameter") continue;
    int64_t bytes = 4;
    for (int64_t size : tensor["shape"]) bytes *= size;
    tensors.push_back(bytes);
  }
  for (const plan::Group& group : plan::coalesce_reduce(tensors)) {
    groups.push_back(0);
    for (size_t i : group) groups.back() += tensors[i];
  }
  return groups;
}

std::vector<int64_t> bytes_from(const Events& copies, int64_t device) {
  std::vector<int64_t> bytes;
  for (const tracer::Event* copy : copies) {
    if (number(*copy, "src") == device) bytes.push_back(number(*copy, "bytes"));
  }
  return bytes;
}

LESSON_TEST(6, few_messages, "gradients travel in groups of at most 10 MiB") {
  const tracer::Trace& trace = resnet(exam);
  const Events copies = reduce_copies(trace);
  const std::vector<int64_t> groups = group_bytes(trace);
  exam.at_most("messages in reduce, for ResNet18's 62 parameters on 4 devices",
               3 * groups.size(), copies.size(),
               {"a message for each tensor: most tensors are tiny, and every message "
                "costs its latency. Pack a group, send it, add it",
                "Few large messages", last_id(copies)});
  exam.equal("bytes of replica 1's messages (a group holds at most 10485760)", groups,
             bytes_from(copies, 1),
             {"a group is closed before the tensor that would exceed the limit",
              "Few large messages", last_id(copies)});
}

/// Returns the last kernel of the true backward pass on each device.
Events last_gradients(const tracer::Trace& trace) {
  std::map<int64_t, const tracer::Event*> last;
  for (const tracer::Event* event : in_phase(trace, "backward")) {
    const tracer::Event* op = event_with_id(trace, event->op);
    if (!event->is("kernel") || !op || op->fwd == tracer::kNone) continue;
    last[event->pid] = event;
  }
  Events found;
  for (const auto& [pid, kernel] : last) found.push_back(kernel);
  return found;
}

LESSON_TEST(6, after_all,
            "nothing is sent before the last gradient of the last replica") {
  const tracer::Trace& trace = resnet(exam);
  const Events waits = host_waits_in(trace, {"reduce_add_coalesced"});
  exam.equal(
      "waits of the host in reduce", size_t{0}, waits.size(),
      {"let the copy stream wait for an event; a waiting host can enqueue nothing",
       "Ready on the host is not ready on the device", last_id(waits)});
  const Events last = last_gradients(trace);
  std::set<int64_t> receivers;
  for (const tracer::Event* copy : reduce_copies(trace)) {
    if (!receivers.insert(copy->pid).second) continue;  // only a stream's first copy
    for (const tracer::Event* kernel : last) {
      exam.that(depends_on(trace, copy->id, kernel->id),
                fmt::format("copy #{} from device {}", copy->id, number(*copy, "src")),
                fmt::format("waits for kernel #{}, the last of backward on device {}",
                            kernel->id, kernel->pid - 1),
                "may begin before it",
                {"a copy waits automatically for its own sender, but not for the other "
                 "replicas: the copy stream of the receiving device must wait for them",
                 "Ready on the host is not ready on the device", copy->id});
    }
  }
}

LESSON_TEST(6, large_tensor, "a tensor of 411 MB travels alone") {
  const tracer::Trace& vgg = exam.train(kVgg, kRun);
  const Events copies = reduce_copies(vgg);
  exam.equal("bytes in each of replica 1's messages, for VGG16", group_bytes(vgg),
             bytes_from(copies, 1),
             {"a tensor larger than the limit also begins a group of its own: the "
              "small ones before it need not wait for it",
              "Few large messages", last_id(copies)});
}

// --- group_sizes alone

void expect_groups(const Exam& exam, const std::vector<int64_t>& bytes, int64_t limit,
                   const std::string& likely, const std::string& drawn = "") {
  using Function = void(const std::vector<int64_t>&, int64_t, std::vector<size_t>&);
  std::vector<size_t> expected, got;
  for (const plan::Group& group : plan::coalesce_reduce(bytes, limit)) {
    expected.push_back(group.size());
  }
  exam.function<Function>("lesson_group_sizes")(bytes, limit, got);
  exam.equal(fmt::format("group_sizes({}, {}){}", bytes, limit, drawn), expected, got,
             {likely, "Few large messages"});
}

LESSON_TEST(6, groups_alone, "groups hold up to the limit, and none is empty") {
  expect_groups(exam, {9, 1}, 8,
                "a group is opened by the first tensor that joins it: if the very "
                "first tensor exceeds the limit, there is no group to close yet, and "
                "an empty group would be an empty message");
  expect_groups(exam, {4, 4, 4}, 8,
                "a tensor begins a new group only if the open one would exceed the "
                "limit: a group of exactly the limit is allowed");
  expect_groups(exam, {}, 8, "without tensors there is no group");
  std::mt19937_64 random(exam.seed());
  for (int draw = 0; draw < 40; ++draw) {
    std::vector<int64_t> bytes;
    for (int i = 0; i <= draw % 9; ++i) {
      bytes.push_back(static_cast<int64_t>(1 + random() % 12));
    }
    expect_groups(exam, bytes, 8,
                  "a tensor joins the open group unless that would exceed the limit; "
                  "then it begins a new one",
                  fmt::format(" (drawn with seed {})", exam.seed()));
  }
}

LESSON_TEST(6, other_sums, "this holds for any number and order of devices") {
  const std::vector<Shape> shapes{{2, 3}, {4}, {1, 2, 2}, {3}};
  expect_sums(exam, {{5}}, reference_devices(2));
  expect_sums(exam, shapes, reference_devices(6));
  const DeviceType type = DeviceType::reference;
  expect_sums(exam, shapes, {{type, 1}, {type, 0}, {type, 2}});
}

// --- the trace of one call

/// Returns gradients of these lengths on each device, each computed by its own kernel.
std::vector<Tensors> computed_gradients(const parallel::Devices& devices,
                                        const std::vector<int64_t>& elements) {
  std::vector<Tensors> gradients(devices.size());
  for (size_t d = 0; d < devices.size(); ++d) {
    for (int64_t count : elements) {
      const Tensor here = ops::copy_to(counting({count}), devices[d], {"h2d", "test"});
      gradients[d].push_back(ops::add(here, here));
    }
  }
  return gradients;
}

LESSON_TEST(6, any_devices, "this holds for devices of any index, and in every step") {
  const DeviceType type = DeviceType::reference;
  const parallel::Devices devices{{type, 1}, {type, 4}, {type, 3}};
  for (const char* step : {"first", "second"}) {
    const tracer::Trace trace = recorded(5, [&] {
      const auto gradients = computed_gradients(devices, {7});
      parallel::primitives().reduce_add_coalesced(gradients, devices[0]);
    });
    std::map<int64_t, const tracer::Event*> gradients;
    for (const tracer::Event* kernel : events_of(trace, "kernel")) {
      const tracer::Event*& first = gradients[kernel->pid];
      if (!first || kernel->id < first->id) first = kernel;
    }
    for (const tracer::Event* copy : events_of(trace, "copy")) {
      if (text(*copy, "src") == "host") continue;  // the test's own
      for (const auto& [pid, kernel] : gradients) {
        exam.that(
            depends_on(trace, copy->id, kernel->id),
            fmt::format("in the {} call, the copy from device {}", step,
                        number(*copy, "src")),
            fmt::format("waits for the gradient of device {}", pid - 1),
            "may begin before it",
            {"ask a replica's gradients for their device, whose index need not be the "
             "replica's number, and record a new event in each call",
             "Ready on the host is not ready on the device"});
      }
    }
  }
}

LESSON_TEST(6, doubles_and_memory,
            "groups are limited in bytes, and their memory is freed") {
  constexpr int64_t kElements = 800'000;  // 6.4 MB: two exceed 10 MiB
  const parallel::Devices devices = reference_devices(2);
  const auto gradients = computed_gradients(devices, {kElements, kElements});
  const auto live = [&] {
    for (const Device device : devices) runtime::context(device).synchronize();
    return runtime::context(devices[0]).allocator().live_bytes() +
           runtime::context(devices[1]).allocator().live_bytes();
  };
  int64_t before = live(), after = 0;
  const tracer::Trace trace = recorded(
      2, [&] { parallel::primitives().reduce_add_coalesced(gradients, devices[0]); });
  after = live();
  exam.equal(
      "messages, for two gradients of 6.4 MB in float64", size_t{2},
      events_of(trace, "copy").size(),
      {"10 MiB counts bytes, and an element has 4 or 8: ask the tensor for nbytes()",
       "Few large messages"});
  exam.equal("bytes on both devices that remain after the sums were dropped", before,
             after,
             {"a message needs memory only while it travels: the engine keeps what "
              "enqueued work uses, so your code need not hold on to anything",
              "Few large messages"});
}

}  // namespace lockstep::lessons::lesson_06
