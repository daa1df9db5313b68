#include "engine/models/vgg.h"
#include "engine/train/trainer.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/lanes.h"

namespace lockstep::lessons::lesson_07 {

// As in the exercise.
struct Step {
  int64_t devices, batch, sample, output, labels, parameters, buffers, numbers;
};
struct Port {
  int64_t in = 0, out = 0;
};
using Predict = void(const Step& step, Port& host, Port* device);

const Because kRun{
    "DataParallel trains with your functions; its output is printed below",
    "What the trace shows"};

std::string training(const std::string& model, int64_t devices, int64_t batch) {
  return fmt::format(
      "-a {} --dataset generated --device-type null --devices {} -b {} --steps 1",
      model, devices, batch);
}

// --- the byte counts

/// Returns the facts of the trace's step that `predict` receives.
Step facts(const tracer::Trace& trace, int64_t devices) {
  const tracer::Event& step = *events_of(trace, "phase", "step").front();
  const tracer::Json& model = trace.lockstep["model"];
  const int64_t batch = number(step, "batch");
  return {.devices = devices,
          .batch = batch,
          .sample = number(step, "input_bytes") / batch,
          .output = number(step, "output_bytes") / batch,
          .labels = number(step, "label_bytes"),
          .parameters = number(step, "wrapped_parameter_bytes",
                               model["parameter_bytes"].get<int64_t>()),
          .buffers = number(step, "wrapped_buffer_bytes",
                            model["buffer_bytes"].get<int64_t>()),
          .numbers = bytes_of(copies_because(trace, "d2h"))};
}

/// Returns the ports of the whole step: the host's, then each device's.
std::vector<Port> recorded(const tracer::Trace& trace, int64_t devices) {
  const auto ports = tracer::summarize(trace).train.ports;
  std::vector<Port> all;
  for (int64_t place = tracer::kHost; place < devices; ++place) {
    const auto found = ports.find(place);
    all.push_back(found == ports.end() ? Port{}
                                       : Port{found->second.in, found->second.out});
  }
  return all;
}

/// Returns the single mistake that makes a prediction for two devices wrong by `off`
/// bytes; "" if there is none.
std::string slip(const Step& step, int64_t place, bool in, int64_t off) {
  const int64_t half = step.batch / 2;
  if (place == tracer::kHost) {
    return off < 0 && !in ? "the images are on the host, so they leave through its "
                            "port, chunk by chunk"
                          : "";
  }
  if (place == 0 && off == half * step.sample) {
    return "each chunk of images goes from the host to its device, in one hop: not all "
           "of them to device 0 first";
  }
  if (place == 0 && off >= step.parameters + (in ? 0 : step.buffers)) {
    return "replica 0 shares device 0's memory, so k - 1 copies travel, not k";
  }
  if (off == step.parameters) {
    return "the sums stay on device 0: the next step's replicate gives every replica "
           "the new weights";
  }
  if (off == -step.buffers) {
    return "replicate sends the buffers, too: a replica's batch norms need them";
  }
  if (off == step.buffers) {
    return "buffers have no gradients: the data sent back is as large as the "
           "parameters";
  }
  if (off == -half * step.output) {
    return in ? "gather: the replicas' outputs go to device 0, where the loss is "
                "computed"
              : "grad_scatter: what was gathered has a gradient, which is sent back "
                "the same way";
  }
  return "";
}

/// `likely` applies if the numbers identify no mistake.
void expect_ports(const Exam& exam, const tracer::Trace& trace, int64_t devices,
                  const std::string& likely) {
  const Step step = facts(trace, devices);
  const std::vector<Port> truth = recorded(trace, devices);
  std::vector<Port> got(devices + 1);
  exam.function<Predict>("predict")(step, got[0], got.data() + 1);
  const std::string net = trace.lockstep["arch"];
  for (int64_t place = tracer::kHost; place < devices; ++place) {
    const std::string port =
        place == tracer::kHost ? "the host" : fmt::format("device {}", place);
    for (bool in : {true, false}) {
      const int64_t expected = in ? truth[place + 1].in : truth[place + 1].out;
      const int64_t bytes = in ? got[place + 1].in : got[place + 1].out;
      const std::string known =
          devices == 2 ? slip(step, place, in, bytes - expected) : "";
      exam.equal(fmt::format("bytes {} {} ({}, {} samples, {} devices)",
                             in ? "into" : "out of", port, net, step.batch, devices),
                 expected, bytes,
                 {known.empty() ? likely : known, "The ledger of a step"});
    }
  }
}

LESSON_TEST(7, two_devices, "your ledger holds for ResNet18 on 2 devices") {
  expect_ports(exam, exam.train(training("resnet18", 2, 8), kRun), 2,
               "go through the reasons one by one: which of h2d, scatter, replicate, "
               "gather, grad_scatter, reduce and d2h go through this port?");
}

LESSON_TEST(7, uneven, "and for 10 samples on 4 devices") {
  expect_ports(exam, exam.train(training("resnet18", 4, 10), kRun), 4,
               "chunks have ceil(10 / 4) = 3 samples, except the last, smaller one: "
               "images and outputs travel in chunks");
}

LESSON_TEST(7, idle_device, "and for 9 samples, where device 3 is idle") {
  expect_ports(exam, exam.train(training("resnet18", 4, 9), kRun), 4,
               "9 samples make three chunks: device 3 gets no images and no model, and "
               "so it has nothing to send back");
}

// --- wrapping

struct State {
  const char* what;
  const char* likely;
};

/// Describes what has been wrapped.
State state(const std::shared_ptr<parallel::DataParallel>& wrapper,
            const models::VGG& model, const nn::ModulePtr& features) {
  if (!wrapper) return {"nothing", "return the wrapper"};
  if (wrapper->module().get() == &model) {
    return {"a DataParallel around the whole model",
            "then the head travels, too: 478 MB, of which 411 are one matrix, in every "
            "step, to every device"};
  }
  if (wrapper->module() != features) {
    return {"a DataParallel around another part",
            "the head has most of the bytes and little of the computation: it is the "
            "part that should stay on device 0"};
  }
  if (model.features() != wrapper) {
    return {"a DataParallel that is never called",
            "creating a wrapper changes nothing in the model, which still calls its "
            "bare features: replace them with the wrapper"};
  }
  return {"a DataParallel around the features, in their place", ""};
}

LESSON_TEST(7, in_its_place, "the features are wrapped, in their place in the model") {
  nn::ConstructionScope scope({.fill = false});
  models::VGG model({.classes = 10});
  const parallel::Devices devices{{DeviceType::null, 0}, {DeviceType::null, 1}};
  model.to(devices[0]);
  const nn::ModulePtr features = model.features();
  const auto wrapper = train::feature_wrapper()(model, devices);
  const State found = state(wrapper, model, features);
  exam.equal<std::string>("the result of your function",
                          "a DataParallel around the features, in their place",
                          found.what, {found.likely, "Wrap what computes"});
}

LESSON_TEST(7, head_stays, "the head of 478 MB stays on device 0") {
  const tracer::Trace& trace =
      exam.train(training("vgg16 --mode dp-features", 4, 64),
                 {"DataParallel requires the wrapped module on the first of its "
                  "devices, and the model is on device 0, so device 0 must come first",
                  "Wrap what computes"});
  std::vector<int64_t> sent;
  for (const Port& port : recorded(trace, 4)) sent.push_back(port.out);
  sent.erase(sent.begin());  // the host
  const int64_t features = 14714688 * 4, outputs = 16 * 512 * 4;
  const std::vector<int64_t> expected{3 * (features + outputs) + 12, features + outputs,
                                      features + outputs, features + outputs};
  exam.equal(
      "bytes out of devices 0 to 3", expected, sent,
      {"every device processes its own chunk and receives only the parameters of "
       "the features, not of the whole model",
       "Wrap what computes"});
  expect_ports(exam, trace, 4,
               "the gathered outputs are no longer 10 logits per image, but the "
               "features: `output` says how large they are");
}

}  // namespace lockstep::lessons::lesson_07
