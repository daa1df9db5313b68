#include <functional>
#include <memory>
#include <set>
#include <stdexcept>

#include "engine/autograd/engine.h"
#include "engine/autograd/node.h"
#include "engine/nn/layers.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/optim/sgd.h"
#include "engine/parallel/data_parallel.h"
#include "engine/plan/coalesce.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/models_to_copy.h"
#include "lessons/machine/predicates.h"
#include "lessons/plugin.h"

namespace lockstep::lessons::lesson_15 {

/// Calls the learner's `broadcast`.
std::vector<Tensors> broadcast(const Exam& exam, const Tensors& tensors,
                               const parallel::Devices& devices) {
  using Function =
      void(const Tensors&, const parallel::Devices&, std::vector<Tensors>&);
  std::vector<Tensors> result;
  exam.function<Function>("lesson_broadcast")(tensors, devices, result);
  return result;
}

LESSON_TEST(15, everywhere, "every tensor arrives on every device") {
  const char* const paragraph = "The same bytes everywhere";
  for (const parallel::Devices& devices :
       {reference_devices(3), reference_devices(1),
        parallel::Devices{{kReference, 2}, {kReference, 0}}}) {
    const Tensors tensors = numbered({{2, 3}, {4}, {}, {1, 2, 2}}, devices[0]);
    const std::vector<Tensors> result = broadcast(exam, tensors, devices);
    exam.equal("lists returned", devices.size(), result.size(),
               {"there is one list of tensors for each device", paragraph});
    for (size_t d = 0; d < devices.size(); ++d) {
      exam.equal(
          fmt::format("tensors for {}", devices[d].str()), tensors.size(),
          result[d].size(),
          {"each device gets all tensors: a list with as many entries", paragraph});
      for (size_t i = 0; i < tensors.size(); ++i) {
        const std::string what = fmt::format("tensor {} for {}", i, devices[d].str());
        exam.equal(what + ": device", devices[d].str(), result[d][i].device().str(),
                   {"result[d] are tensors on devices[d]", paragraph});
        exam.that(result[d][i].sizes() == tensors[i].sizes(), what + ": shape",
                  "that of the tensor", "another one",
                  {"a group is unpacked on each device: the parts have the shapes of "
                   "its tensors",
                   paragraph});
        exam.close(
            what, values(tensors[i]), values(result[d][i]), 0,
            {"tensor i is entry i on each device, in whichever group it travelled",
             paragraph});
      }
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      exam.that(result[0][i].storage() == tensors[i].storage(),
                fmt::format("memory of tensor {} for the first device", i),
                "that of the tensor itself", "other memory",
                {"the first device has the tensors: nothing is copied there",
                 "What replica 0 shares"});
    }
  }
}

LESSON_TEST(15, few_messages, "tensors travel in groups") {
  const parallel::Devices devices = reference_devices(3);
  // In float64: 0.8, 9.6, 8 and 0.8 MB; a group is closed when it reaches 10 MiB.
  const std::vector<Shape> shapes{{100'000}, {1'200'000}, {1'000'000}, {100'000}};
  const Tensors tensors = numbered(shapes, devices[0]);
  std::vector<Tensors> result;
  const tracer::Trace trace =
      recorded(3, [&] { result = broadcast(exam, tensors, devices); });
  std::vector<int64_t> to_1, to_2, others;
  for (const tracer::Event* copy : events_of(trace, "copy")) {
    const bool from_0 = number(*copy, "src") == 0;
    const int64_t to = number(*copy, "dst");
    auto& list = !from_0 ? others : to == 1 ? to_1 : to == 2 ? to_2 : others;
    list.push_back(number(*copy, "bytes"));
  }
  std::vector<int64_t> bytes, expected;
  for (const Tensor& tensor : tensors) bytes.push_back(tensor.nbytes());
  for (const plan::Group& group : plan::coalesce_broadcast(bytes)) {
    expected.push_back(0);
    for (size_t i : group) expected.back() += bytes[i];
  }
  const Because because{
      "each group is one message to each device. Which tensors are in it, "
      "plan::coalesce_broadcast says: given the size of each in bytes, a list of "
      "indices",
      "Few large messages, again"};
  exam.equal("messages that do not go from device 0 to another device",
             std::vector<int64_t>{}, others,
             {"device 0 has everything, and sends it straight to each device",
              "The same bytes everywhere"});
  exam.equal("bytes of the messages from device 0 to device 1", expected, to_1,
             because);
  exam.equal("bytes of the messages from device 0 to device 2", expected, to_2,
             because);
  size_t packed = 0, kernels = 0;
  for (const tracer::Event* kernel : events_of(trace, "kernel")) {
    ++kernels;
    if (kernel->name.view().find("flatten") != std::string_view::npos) ++packed;
  }
  exam.at_most("kernels that pack, for 2 groups and 2 receivers", expected.size(),
               packed,
               {"a group is packed once: the same flat tensor goes to every device",
                "Few large messages, again"});
  exam.equal("kernels that do something else", size_t{0}, kernels - packed,
             {"to unpack is to look at the parts of the memory that has arrived: "
              "nothing is copied again",
              "Few large messages, again"});
  exam.close("the last tensor on device 2, which is in a group of its own",
             values(tensors[3]), values(result[2][3]), 0,
             {"a group is a list of indices: these tensors, not the first ones",
              "Few large messages, again"});
}

/// Runs `work`. Throws Wrong if it throws anything but NotWritten.
void without_exceptions(const std::string& what, const Because& because,
                        const std::function<void()>& work) {
  try {
    work();
  } catch (const NotWritten&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw Wrong{what, "no exception", error.what(), because};
  }
}

std::vector<nn::ModulePtr> replicate(const nn::Module& module,
                                     const parallel::Devices& devices) {
  return parallel::primitives().replicate(module, devices);
}

LESSON_TEST(15, same_function, "every replica computes what the model computes") {
  const parallel::Devices devices{{kReference, 1}, {kReference, 0}, {kReference, 2}};
  const nn::ModulePtr model = model_on(devices[0], two_layers);
  model->eval();
  const std::vector<nn::ModulePtr> all = replicate(*model, devices);
  exam.equal("replicas for 3 devices", size_t{3}, all.size(),
             {"one replica for each device", "What replica 0 shares"});
  const Tensor input = counting({5, 3}, -7);
  const Numbers expected = values((*model)(on(devices[0], input)));
  for (const nn::ModulePtr& replica : all) {
    exam.equal("whether a replica trains, of a model in evaluation", false,
               replica->training(),
               {"a replica does what its model does: assemble() has set its mode",
                "What replica 0 shares"});
  }
  std::set<const nn::Module*> objects{model.get()};
  for (size_t d = 0; d < devices.size(); ++d) {
    const std::string what = fmt::format("replica {} on {}", d, devices[d].str());
    const Because because{
        "copies[d][i] is parameter i of replica d, on devices[d], and was made for "
        "this call: the model may have changed since the last one",
        "What replica 0 shares"};
    Numbers output;
    without_exceptions("a call of " + what, because,
                       [&] { output = values((*all[d])(on(devices[d], input))); });
    exam.close("output of " + what, expected, output, 0, because);
    exam.that(objects.insert(all[d].get()).second, "the object of " + what,
              "one of its own", "the same as another one",
              {"each replica is a module of its own, replica 0 as well: its parameters "
               "are other tensors on the tape",
               "What replica 0 shares"});
    const bool shares =
        all[d]->parameters()[0].storage() == model->parameters()[0].storage();
    exam.equal("the weights of " + what + " are in the model's memory", d == 0, shares,
               {"replica 0 uses the model's own memory, every other one has a copy",
                "What replica 0 shares"});
  }
}

LESSON_TEST(15, buffers, "running statistics of replica 0 stay in the model") {
  const parallel::Devices devices = reference_devices(2);
  const nn::ModulePtr model = model_on(devices[0], []() -> nn::ModulePtr {
    return std::make_shared<nn::BatchNorm2d>(2);
  });
  std::vector<nn::ModulePtr> all = replicate(*model, devices);
  const Tensor images = counting({2, 2, 1, 2});
  for (size_t d = 0; d < devices.size(); ++d) {
    without_exceptions(
        fmt::format("a call of replica {} of a batch norm", d),
        {"replicas are made for this model, in this call, and buffers[d] are those on "
         "devices[d]",
         "What replica 0 shares"},
        [&] { (*all[d])(on(devices[d], images)); });
  }
  const auto buffer = [&](const char* wanted) {
    for (const auto& [name, tensor] : model->named_buffers()) {
      if (name == wanted) return values(tensor);
    }
    return Numbers{};
  };
  const Because because{
      "replica 0's buffers are the model's own, in its memory: what batch norm writes "
      "there stays. The others' are copies, which nobody keeps",
      "What replica 0 shares"};
  // Channel means 2.5 and 4.5, with momentum 0.1.
  exam.close("running_mean of the model after a step", {0.25, 0.45},
             buffer("running_mean"), 1e-12, because);
  exam.close("num_batches_tracked of the model after a step", {1},
             buffer("num_batches_tracked"), 0, because);
  for (const nn::ModulePtr& replica : all) {
    for (const Tensor& tensor : replica->buffers()) {
      exam.that(!tensor.requires_grad(), "a buffer of a replica", "not on the tape",
                "on the tape",
                {"buffers have no gradient: only parameters get a history",
                 "How gradients get back"});
    }
  }
}

/// Runs backward from a tensor with gradients 1.
void backward_from(const Tensor& tensor) {
  autograd::tape_walk()(autograd::gradient_edge(tensor), ops::full_like(tensor, 1));
}

LESSON_TEST(15, gradients, "the model's gradients are the sums over its replicas") {
  const parallel::Devices devices = reference_devices(3);
  const auto linear = []() -> nn::ModulePtr {
    return std::make_shared<nn::Linear>(2, 1);
  };
  const Because sum{
      "entry i of what the formula returns is parameter i's gradient, summed over all "
      "devices; the gradients come device by device, in the order of `outputs`",
      "How gradients get back"};
  const nn::ModulePtr model = model_on(devices[0], linear);
  const std::vector<nn::ModulePtr> all = replicate(*model, devices);
  std::vector<Tensor> outputs;
  for (size_t d = 0; d < devices.size(); ++d) {
    const Tensor input = on(devices[d], counting({1, 2}, 10.0 * (d + 1)));
    outputs.push_back((*all[d])(input));
    for (const Tensor& parameter : all[d]->parameters()) {
      exam.that(parameter.requires_grad() && !parameter.is_leaf(),
                fmt::format("a parameter of replica {}", d),
                "a tensor with a history, that of the broadcast",
                parameter.requires_grad() ? "a leaf, which keeps its gradient"
                                          : "a tensor that is not on the tape",
                {"the history leads from every replica's parameter to the model's: "
                 "without it gradients end in replicas, which are thrown away, and the "
                 "model never learns",
                 "How gradients get back"});
    }
  }
  const Tensors parameters = model->parameters();
  exam.that(
      parameters[0].is_leaf(), "a parameter of the model, after replicate",
      "a leaf, which keeps its gradient", "a tensor with a history",
      {"the tensors of device 0 need .detach() as well: otherwise the model's own "
       "parameters get the history",
       "What replica 0 shares"});
  auto& reduce = parallel::primitives().reduce_add_coalesced;
  noted_to.clear();
  reduce.plug(noting_reduce);
  without_exceptions("backward", sum,
                     [&] { backward_from(parallel::gather(outputs, devices[0])); });
  reduce.unplug();
  for (const std::string& to : noted_to) {
    exam.equal("the device on which `reduce` adds", devices[0].str(), to,
               {"the model is on devices[0], and so are its gradients",
                "How gradients get back"});
  }
  exam.that(parameters[0].grad().defined(), "gradient of the model's weight",
            "a tensor", "none", sum);
  exam.equal("device of the gradient", devices[0].str(),
             parameters[0].grad().device().str(), sum);
  // Inputs 10 11, 20 21, 30 31; the gradient of each output is 1.
  exam.close("gradient of the model's weight", {60, 63}, values(parameters[0].grad()),
             0, sum);
  exam.close("gradient of the model's bias", {3}, values(parameters[1].grad()), 0, sum);
}

LESSON_TEST(15, unused, "a parameter that a replica does not use counts as zero") {
  const parallel::Devices devices = reference_devices(2);
  const nn::ModulePtr model = model_on(devices[0], two_layers);
  const std::vector<nn::ModulePtr> all = replicate(*model, devices);
  // Only replica 1's last layer is used.
  const Tensor input = on(devices[1], counting({1, 4}));
  const Tensors parameters = model->parameters();
  const Because because{
      "a gradient that the formula receives may be undefined: that means zeros, with "
      "the shape and type of its parameter, on the device of its replica",
      "How gradients get back"};
  without_exceptions("backward if only one layer of one replica was used", because,
                     [&] { backward_from((*all[1]->children()[2].value)(input)); });
  exam.close("gradient of the last layer's bias", {1, 1}, values(parameters[3].grad()),
             0, because);
  const Tensor first = parameters[0].grad();
  exam.close("gradient of the first layer's weight", Numbers(12, 0.0),
             first.defined() ? values(first) : Numbers{}, 0, because);
}

LESSON_TEST(15, same_training, "DP(2), DP(3) and DP(4) train as one device does") {
  const Numbers single = trained_on(1);
  for (int count : {2, 3, 4}) {
    exam.close(
        fmt::format("parameters after 3 steps of 10 samples on {} devices", count),
        single, trained_on(count), 1e-12,
        {"replicas are created again in every step, from the weights of that moment: "
         "the optimizer has changed the model since the last one",
         "Thrown away after every step"});
  }
}

LESSON_TEST(15, messages, "ResNet18 travels to three devices in 18 messages") {
  const tracer::Trace& trace = exam.train(
      "-a resnet18 --dataset generated --device-type null --devices 4 -b 8 --steps 1",
      {"the engine's own DataParallel trains with your replicate; its output is "
       "printed "
       "below",
       "What the trace shows"});
  Events copies;
  for (const tracer::Event* event : in_phase(trace, "replicate")) {
    if (event->is("copy")) copies.push_back(event);
  }
  const int64_t last = copies.empty() ? tracer::kNone : copies.back()->id;
  const int64_t model = int64_t{trace.lockstep["model"]["parameter_bytes"]} +
                        int64_t{trace.lockstep["model"]["buffer_bytes"]};
  exam.equal("bytes moved in replicate, on 4 devices", 3 * model, bytes_of(copies),
             {"three devices receive the model once, straight from device 0",
              "The same bytes everywhere", last});
  exam.at_most("messages in replicate, on 4 devices", size_t{18}, copies.size(),
               {"a message for each group and device, for parameters and for buffers",
                "Few large messages, again", last});
  size_t nodes = 0;
  for (const tracer::Event& event : trace.events) {
    if (event.name == "BroadcastBackward") ++nodes;
  }
  exam.equal(
      "nodes `BroadcastBackward` that ran in backward", size_t{1}, nodes,
      {"there is one node for all parameters and all devices: it adds what comes "
       "back from all replicas, in groups",
       "How gradients get back"});
  const Events sums = copies_because(trace, "reduce");
  exam.at_most(
      "messages of gradients", size_t{15}, sums.size(),
      {"`reduce` sends gradients in groups: give it all of them at once",
       "How gradients get back", sums.empty() ? tracer::kNone : sums.back()->id});
  const Events waits = host_waits_in(trace, {"replicate"});
  exam.equal(
      "waits of the host for a device", size_t{0}, waits.size(),
      {"the copies wait in their streams; the host goes on", "What the trace shows",
       waits.empty() ? tracer::kNone : waits.back()->id});
}

}  // namespace lockstep::lessons::lesson_15
