#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include "engine/autograd/engine.h"
#include "engine/autograd/node.h"
#include "engine/nn/layers.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/optim/sgd.h"
#include "engine/parallel/data_parallel.h"
#include "lessons/machine/chosen_replicas.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/meeting.h"
#include "lessons/machine/predicates.h"
#include "lessons/plugin.h"

namespace lockstep::lessons::lesson_14 {

LESSON_TEST(14, order, "output i is that of replica i for input i") {
  const auto scaled = [](int replica, const Tensor& input) {
    return ops::scale(input, replica + 2);
  };
  for (const int count : {1, 2, 4}) {
    const std::vector<Tensor> inputs = inputs_on(reference_devices(count));
    const std::vector<nn::ModulePtr> all = replicas(count, scaled);
    hooked = 0;
    for (const nn::ModulePtr& replica : all) {
      replica->register_forward_hook(
          [](nn::Module&, const Tensor&, const Tensor&) -> Tensor {
            ++hooked;
            return {};
          });
    }
    const std::vector<Tensor> outputs = run_all(all, inputs);
    exam.equal(fmt::format("replicas of {} whose hooks ran once", count), count,
               hooked.load(),
               {"a replica is called as a module, once: its `forward` alone leaves out "
                "its hooks",
                "One thread per replica"});
    exam.equal(fmt::format("outputs of {} replicas", count), inputs.size(),
               outputs.size(),
               {"there is one output for each input", "One thread per replica"});
    for (int i = 0; i < count; ++i) {
      Numbers expected = values(inputs[i]);
      for (double& number : expected) number *= i + 2;
      exam.that(outputs[i].defined(), fmt::format("output {} of {}", i, count),
                "a tensor", "an undefined one",
                {"an output exists when its replica's thread has ended: join all "
                 "threads before you return",
                 "One thread per replica"});
      exam.close(fmt::format("output {} of {}", i, count), expected, values(outputs[i]),
                 0,
                 {"replica i gets input i, and its output is entry i of the result, "
                  "whichever thread ends first",
                  "One thread per replica"});
    }
  }
}

LESSON_TEST(14, at_once, "all replicas run at the same time, in threads of their own") {
  Meeting meeting(4);
  run_all(replicas(4,
                   [&](int, const Tensor& input) {
                     meeting.arrive();
                     return input;
                   }),
          inputs_on(reference_devices(4)));
  exam.equal("replicas of 4 that had not begun while the first one waited for them", 0,
             meeting.missed(),
             {"start all threads before you join the first one: otherwise the replicas "
              "run one after the other",
              "One thread per replica"});
  exam.that(!meeting.threads().contains(std::this_thread::get_id()),
            "the thread of each replica", "a thread of its own", "the caller's",
            {"with several replicas each has its thread, the first one too",
             "One thread per replica"});
  std::thread::id single;
  run_all(replicas(1,
                   [&](int, const Tensor& input) {
                     single = std::this_thread::get_id();
                     return input;
                   }),
          inputs_on(reference_devices(1)));
  exam.that(single == std::this_thread::get_id(), "the thread of a single replica",
            "the caller's", "another one",
            {"with a single replica there is nothing to run beside it",
             "One thread per replica"});
}

LESSON_TEST(14, exceptions, "an exception arrives when all replicas have ended") {
  const std::vector<Tensor> inputs = inputs_on(reference_devices(4));
  const char* const paragraph = "Exceptions do not leave their thread";
  for (int run = 0; run < 7; ++run) {
    const auto failures = std::make_shared<TwoFailures>(run % 2 == 0 ? 1 : 3, run < 3);
    const std::vector<nn::ModulePtr> all =
        replicas(4, [failures](int replica, const Tensor& input) {
          return failures->forward(replica, input);
        });
    std::string caught = "nothing";
    bool itself = false;
    try {
      run_all(all, inputs);
    } catch (const OutOfMemory& error) {
      caught = error.what();
      itself = true;
    } catch (const std::logic_error&) {
      throw;  // says that the engine's own must not be called
    } catch (const std::exception& error) {
      caught = error.what();
    }
    const int ended = failures->end();
    exam.that(
        caught != "nothing", "what is thrown if replicas 1 and 3 throw",
        "replica 1's exception", "nothing",
        {"a kept exception is thrown again by std::rethrow_exception: without it, "
         "training would go on with an output that does not exist",
         paragraph});
    exam.that(caught.find("replica 1 has no memory left") != std::string::npos,
              fmt::format("what is thrown if replicas 1 and 3 throw, {} first",
                          run % 2 == 0 ? 1 : 3),
              "replica 1 has no memory left", caught,
              {"of several exceptions the one of the lowest replica is thrown, so that "
               "the message does not depend on which thread was faster",
               paragraph});
    exam.equal("replicas that had ended when the exception arrived, of 4", 4, ended,
               {"replicas that still run use the inputs, the model and your variables: "
                "join all threads first, then throw",
                paragraph});
    exam.that(itself, "the type of the exception that arrives", "that of the replica's",
              "another one",
              {"the exception itself is thrown again, by std::rethrow_exception: a new "
               "one with its message has lost its type",
               paragraph});
  }
}

LESSON_TEST(14, any_exception, "that holds for every exception, and for one replica") {
  for (const int count : {1, 2}) {
    int caught = 0;
    try {
      run_all(replicas(count, [](int, const Tensor&) -> Tensor { throw 14; }),
              inputs_on(reference_devices(count)));
    } catch (const int number) {
      caught = number;
    }
    exam.equal(fmt::format("what arrives if the first of {} replicas throws 14", count),
               14, caught,
               {"a replica's exception is the caller's, also if there is only one "
                "replica, and whatever its type",
                "Exceptions do not leave their thread"});
  }
}

LESSON_TEST(14, no_grad, "the threads take over whether gradients are recorded") {
  const auto recorded_in = [&exam](bool enabled) {
    const autograd::GradMode mode(enabled);
    std::vector<Tensor> inputs;
    for (const Device device : reference_devices(2)) {
      inputs.push_back(on(device, counting({2})).detach().set_requires_grad(true));
    }
    const std::vector<Tensor> outputs = run_all(
        replicas(2, [](int, const Tensor& x) { return ops::scale(x, 2); }), inputs);
    exam.equal("whether the caller's own thread records, afterwards", enabled,
               autograd::grad_enabled(),
               {"a replica's thread has a setting of its own; the caller's stays as it "
                "is",
                "What a thread takes over"});
    return outputs[0].requires_grad() && outputs[1].requires_grad();
  };
  const Because because{
      "whether the tape is on belongs to a thread: ask for it in the caller, and set "
      "it "
      "in each replica's thread. An evaluation in no_grad would otherwise keep every "
      "activation",
      "What a thread takes over"};
  exam.equal("outputs are on the tape, in training", true, recorded_in(true),
             {"in training the outputs are on the tape, and they are returned as they "
              "are: neither GradMode nor .detach() may take them off",
              "What a thread takes over"});
  exam.equal("outputs are on the tape, in an evaluation without gradients", false,
             recorded_in(false), because);
}

LESSON_TEST(14, rows, "gather joins all rows, in order, on the given device") {
  std::mt19937_64 random(exam.seed());
  // The first batch is the chapter's, the others are drawn.
  const std::vector<int64_t> chapters = {3, 3, 3, 1};
  for (int draw = 0; draw < 12; ++draw) {
    const auto count = draw == 0   ? 4
                       : draw == 1 ? 1
                                   : static_cast<int>(1 + random() % 5);
    const parallel::Devices devices = reference_devices(count);
    const Device to{DeviceType::reference,
                    draw == 1 ? 1 : static_cast<int>(random() % 5)};
    const DType dtype = draw % 3 == 0 ? DType::f32 : DType::f64;
    const auto of_rows = [&](int64_t n) {
      return draw % 2 == 0 ? Shape{n, 3} : Shape{n, 2, 2};
    };
    std::vector<Tensor> outputs;
    Shape all = of_rows(0);
    for (const Device device : devices) {
      const Shape sizes = of_rows(draw == 0 ? chapters[outputs.size()]
                                            : static_cast<int64_t>(1 + random() % 4));
      outputs.push_back(
          on(device, counting(sizes, static_cast<double>(all.numel()), dtype)));
      all[0] += sizes[0];
    }
    const std::string drawn = fmt::format("{} outputs, on {} (drawn with seed {})",
                                          count, to.str(), exam.seed());
    const char* const paragraph = "Rows below each other";
    const Tensor joined = [&] {
      try {
        return parallel::primitives().gather(outputs, to);
      } catch (const NotWritten&) {
        throw;
      } catch (const std::runtime_error& error) {
        throw Wrong{"gather of " + drawn,
                    "no exception",
                    error.what(),
                    {"the outputs are as in the chapter: their numbers of rows differ "
                     "between replicas (3, 3, 3 and 1 there), and the rest of their "
                     "sizes is the same. The exception's words say which call did not "
                     "get what it needs",
                     paragraph}};
      }
    }();
    exam.equal("device of " + drawn, to.str(), joined.device().str(),
               {"the caller says where the result is to be: `to`", paragraph});
    exam.equal("sizes of " + drawn, std::vector<int64_t>(all.begin(), all.end()),
               std::vector<int64_t>(joined.sizes().begin(), joined.sizes().end()),
               {"the first dimensions are added, and differ between replicas: 3, 3, 3 "
                "and 1. The others stay",
                paragraph});
    exam.equal("type of " + drawn, std::string(name(dtype)),
               std::string(name(joined.dtype())),
               {"the result has the type of the outputs", paragraph});
    Numbers expected(all.numel());
    std::iota(expected.begin(), expected.end(), 0.0);
    exam.close(
        "elements of " + drawn, expected, values(joined), 0,
        {"each output's rows begin where those of the previous one end", paragraph});
  }
}

LESSON_TEST(14, gradients, "each output gets the gradient of its own rows, at home") {
  const parallel::Devices devices = reference_devices(3);
  std::vector<Tensor> leaves, outputs;
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto rows = static_cast<int64_t>(i) + 1;
    leaves.push_back(
        on(devices[i], counting({rows, 2})).detach().set_requires_grad(true));
    outputs.push_back(ops::scale(leaves[i], 1));
  }
  const Tensor joined = parallel::primitives().gather(outputs, devices[0]);
  const char* const paragraph = "The gradient of a gather";
  exam.that(joined.requires_grad(), "what gather returns", "a tensor on the tape",
            "a tensor without a grad_fn",
            {"set_history attaches the node: without it backward ends here, and no "
             "replica computes a gradient",
             paragraph});
  {
    const autograd::GradMode mode(false);
    exam.equal("gather's result is on the tape, in an evaluation without gradients",
               false,
               parallel::primitives().gather(outputs, devices[0]).requires_grad(),
               {"set_history does what has to be done, which without gradients is "
                "nothing",
                paragraph});
  }
  std::vector<std::weak_ptr<Storage>> kept;
  for (const Tensor& output : outputs) kept.emplace_back(output.storage());
  outputs.clear();
  exam.equal(
      "outputs whose memory the formula keeps, of 3", std::ptrdiff_t{0},
      std::ranges::count_if(kept, [](const auto& one) { return !one.expired(); }),
      {"backward needs to know how many rows an output has and where it was: "
       "capture these numbers, not the tensors, whose memory would stay until "
       "then",
       paragraph});
  autograd::tape_walk()(autograd::gradient_edge(joined),
                        on(devices[0], counting({6, 2}, 100)));
  double first = 100;
  for (size_t i = 0; i < devices.size(); ++i) {
    const Tensor grad = leaves[i].grad();
    const std::string what = fmt::format("gradient of output {}", i);
    exam.that(
        grad.defined(), what, "a tensor", "none",
        {"the formula returns a gradient for each output, in their order", paragraph});
    exam.equal(what + ": device", devices[i].str(), grad.device().str(),
               {"a replica continues backward on its own device", paragraph});
    Numbers expected(leaves[i].numel());
    std::iota(expected.begin(), expected.end(), first);
    first += static_cast<double>(expected.size());
    exam.close(what, expected, values(grad), 0,
               {"the way back of joining is dividing: output i gets the rows of the "
                "gradient at which its own rows are in the result",
                paragraph});
  }
}

LESSON_TEST(14, any_layout, "the gradient of a convolution's input comes back, too") {
  exam.equal("exceptions in backward, of a convolution after gather",
             std::string("none"), backward_of_a_convolution(),
             {"a gradient may have any layout in memory, that of a convolution's input "
              "too: begin with ops::contiguous(grads[0]), whose rows can be cut",
              "The gradient of a gather"});
}

LESSON_TEST(14, messages, "one message per replica, both ways, and none of device 0") {
  const tracer::Trace& trace = exam.train(
      "-a resnet18 --dataset generated --device-type null --devices 4 -b 10 --steps 1",
      {"the engine's own DataParallel trains with your functions; its output is "
       "printed "
       "below",
       "What the trace shows"});
  const auto copies_in = [&](const char* phase) {
    Events copies;
    for (const tracer::Event* event : in_phase(trace, phase)) {
      if (event->is("copy")) copies.push_back(event);
    }
    return copies;
  };
  const auto last = [](const Events& of) { return of.empty() ? -1 : of.back()->id; };
  const Events there = copies_in("gather");
  exam.at_most("messages in gather", size_t{3}, there.size(),
               {"the rows of a replica are contiguous: one message. Those of device 0 "
                "are there already",
                "Rows below each other", last(there)});
  exam.equal("bytes in gather (7 rows of 10 logits of 4 bytes)", int64_t{7 * 10 * 4},
             bytes_of(there),
             {"every row that is not on device 0 travels once", "Rows below each other",
              last(there)});
  const Events gathering = in_phase(trace, "gather");
  exam.equal("copies and kernels in gather: 3 messages, and a copy on device 0",
             size_t{4}, gathering.size(),
             {"each row is written once, to its place in the result, and sent there "
              "directly",
              "Rows below each other", last(gathering)});
  const Events back = copies_because(trace, "grad_scatter");
  exam.equal("messages labelled {\"grad_scatter\", \"output\"}", size_t{3}, back.size(),
             {"each replica gets its rows of the gradient, in one message",
              "The gradient of a gather", last(back)});
  exam.equal("bytes of the gradient that travel", int64_t{7 * 10 * 4}, bytes_of(back),
             {"each replica gets its own rows, not all of them",
              "The gradient of a gather", last(back)});
  Events waits = host_waits_in(trace, {"parallel_apply", "gather"});
  for (const tracer::Event* phase : events_of(trace, "phase", "parallel_apply")) {
    for (const tracer::Event* sync : events_of(trace, "sync", "synchronize")) {
      const bool replicas = sync->tid != phase->tid && sync->ts >= phase->ts;
      if (replicas && sync->end() <= phase->end()) waits.push_back(sync);
    }
  }
  exam.equal("waits of the host for a device", size_t{0}, waits.size(),
             {"kernels and copies wait in their streams; the host goes on, in each "
              "replica's thread as well",
              "What the trace shows", last(waits)});
  std::set<int64_t> lanes;
  for (const tracer::Event* call : events_of(trace, "call", "ResNet.forward")) {
    if (call->step == 0) lanes.insert(call->tid);
  }
  exam.equal("rows of the trace in which a replica's forward runs", size_t{4},
             lanes.size(),
             {"appear_in_trace is called first in each replica's thread, with the "
              "device of its input",
              "What a thread takes over"});
}

LESSON_TEST(14, same_training, "DP(2), DP(3) and DP(4) train as one device does") {
  const Numbers single = trained_on(1);
  for (int count : {2, 3, 4}) {
    exam.close(
        fmt::format("parameters after 3 steps of 10 samples on {} devices", count),
        single, trained_on(count), 1e-12,
        {"each step has its own outputs and threads: nothing may remain from the "
         "step before",
         "The gradient of a gather"});
  }
}

}  // namespace lockstep::lessons::lesson_14
