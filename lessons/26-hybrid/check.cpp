#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>

#include "engine/autograd/engine.h"
#include "engine/autograd/node.h"
#include "engine/distributed/collectives/local_transport.h"
#include "engine/distributed/collectives/ring.h"
#include "engine/nn/layers.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "engine/sharing/hybrid_features.h"
#include "engine/sharing/hybrid_parts.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/hybrid_nets.h"
#include "lessons/machine/noted.h"
#include "lessons/machine/predicates.h"
#include "lessons/machine/ranks.h"
#include "lessons/plugin.h"

namespace lockstep::lessons::lesson_26 {

constexpr double kRounding = 1e-12;

// --- activations

LESSON_TEST(26, joined, "gather: all rows, in order, on the classifier's device") {
  for (const Rows& rows : row_counts(exam)) {
    const Tensors outputs = outputs_of(rows);
    const Tensor all = gathered(outputs);
    const int64_t count = std::accumulate(rows.begin(), rows.end(), int64_t{0});
    exam.equal("device of the joined " + named(exam, rows),
               reference(kClassifier).str(), all.device().str(),
               {"the classifier is on the last device, and device 0 has no part in it",
                kThere});
    exam.equal("rows of the joined " + named(exam, rows), count, all.size(0),
               {"all rows of all outputs, and no others", kThere});
    exam.close("the joined " + named(exam, rows), numbers_from(0, count * 2),
               values(all), 0, why_not_joined(rows));
  }
}

LESSON_TEST(26, back, "its backward pass: each replica gets the gradient of its rows") {
  for (const Rows& rows : row_counts(exam)) {
    const Tensors outputs = outputs_of(rows);
    const Tensor all = gathered(outputs);
    exam.that(all.requires_grad(), "the joined " + named(exam, rows),
              "it is on the tape", "it is not: no gradient gets back",
              {"copies are not on the tape: `set_history` says how gradients get back",
               kThere});
    const Tensor gradient = on(reference(kClassifier), counting({all.size(0), 2}, 100));
    walk_back(all, gradient, named(exam, rows));
    double first = 100;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string which = fmt::format("of output {}, {}", i, named(exam, rows));
      const Tensor grad = outputs[i].grad();
      exam.that(grad.defined(), "gradient " + which, "some", "none",
                {"each output gets a gradient", kThere});
      exam.equal(
          "device of the gradient " + which, outputs[i].device().str(),
          grad.device().str(),
          {"the replica's backward pass runs on its own device: the gradient has "
           "to be sent there",
           kThere});
      exam.equal(
          "rows of the gradient " + which, rows[i], grad.size(0),
          {"a replica gets the gradients of its own rows, and no others: chunks need "
           "not be of equal size, the last chunk is smaller",
           kThere});
      const Numbers expected = numbers_from(first, rows[i] * 2), got = values(grad);
      const bool scaled = std::abs(got[0] - expected[0] / double(rows.size())) < 1e-6 &&
                          rows.size() > 1;
      exam.close(
          "gradient " + which, expected, got, kRounding,
          {scaled
               ? "nothing has to be averaged here: each row's gradient goes "
                 "back as it is"
               : "cut the gradient where the outputs were joined: chunks need not be "
                 "of equal size, the last chunk is smaller",
           kThere});
      first += static_cast<double>(rows[i]) * 2;
    }
  }
}

LESSON_TEST(26, blocked, "the gradient may be in another order of memory") {
  const Device classifier{DeviceType::cpu, 2};
  const auto images = [](int64_t count, int device) {
    return on({DeviceType::cpu, device}, counting({count, 16, 4, 4}, 1, DType::f32));
  };
  Tensors outputs{images(2, 0), images(1, 1)};
  for (Tensor& output : outputs) output.set_requires_grad(true);
  const Tensor weight = on(classifier, counting({16, 16, 3, 3}, 1, DType::f32));
  const Tensor gradient = ops::conv2d(images(3, 2), weight, {}, {1, 1});
  const Tensor all = sharing::hybrid_gather().in_use()(outputs, classifier);
  walk_back(all, gradient, "outputs of convolutions, 2 and 1 rows");
  const Numbers expected = values(gradient);
  Numbers got = values(outputs[0].grad());
  std::ranges::copy(values(outputs[1].grad()), std::back_inserter(got));
  exam.close("gradients of two outputs of convolutions", expected, got, 0,
             {"the gradient of a row goes to the row", kThere});
}

LESSON_TEST(26, each_once, "each output travels once, straight to the classifier") {
  for (const Rows& rows : row_counts(exam)) {
    const Tensors outputs = outputs_of(rows);
    const Tensor gradient =
        on(reference(kClassifier),
           counting({std::accumulate(rows.begin(), rows.end(), int64_t{0}), 2}));
    const tracer::Trace trace = recorded(4, [&] {
      autograd::tape_walk()(autograd::gradient_edge(gathered(outputs)), gradient);
    });
    std::multiset<std::string> expected, got;
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t bytes = rows[i] * 16;
      expected.insert(fmt::format("activation {} to {}: {} B", i, kClassifier, bytes));
      expected.insert(
          fmt::format("activation_grad {} to {}: {} B", kClassifier, i, bytes));
    }
    for (const tracer::Event* copy : events_of(trace, "copy")) {
      const auto place = [copy](const char* key) {
        const std::string host = text(*copy, key);
        return host.empty() ? fmt::format("{}", number(*copy, key)) : host;
      };
      const bool by_host = place("src") == "host" || place("dst") == "host";
      exam.that(!by_host,
                "copies in gather and its backward pass, " + named(exam, rows),
                "from device to device", "by way of the host",
                {"the host would wait for each device", kThere});
      got.insert(fmt::format("{} {} to {}: {} B", text(*copy, "why"), place("src"),
                             place("dst"), number(*copy, "bytes")));
    }
    const bool more = got.size() > expected.size();
    const bool rowwise = got.size() > 2 * rows.size() + rows.size();
    exam.equal("copies in gather and its backward pass, " + named(exam, rows), expected,
               got,
               {more && !rowwise
                    ? "an output goes straight to the classifier, and not by way of "
                      "another device, whose port would be the bottleneck"
                    : "one message for all rows of a device: they are next to each "
                      "other",
                kThere});
  }
}

// --- the sum

LESSON_TEST(26, the_sum, "gradients are added over the replicas") {
  // Replica r's gradients are (r + 1) times 1, 2, …; the last replica has none, or only
  // the first one.
  on_ranks(
      3, "all replicas make the same all-reduces",
      {"each replica takes part in the all-reduce, also if it has no samples: the "
       "others wait for it",
       kIdle},
      [&](Rank& rank) {
        for (const bool one : {false, true}) {
          distributed::Bucket flat = bucket_on(rank.device);
          for (size_t i = 0; i < 4; ++i) {  // the last step's sum
            flat.pack(i, on(rank.device, counting({flat.view(i).numel()}, 1000)), 1);
          }
          Tensors gradients =
              gradients_on(rank.device, rank.rank < 2 ? rank.rank + 1 : 0);
          if (one && rank.rank == 2) gradients[0] = gradients_on(rank.device, 3)[0];
          sharing::hybrid_sum().in_use()(gradients, flat, *rank.group).wait();
          runtime::context(rank.device).synchronize();
          const Numbers got = values(flat.flat());
          for (size_t k = 0; k < got.size(); ++k) {
            const double sum = (one && k < 3 ? 6 : 3) * (static_cast<double>(k) + 1);
            const bool mean = !one && got[k] < 0.9 * sum && got[k] > 0 && k == 0;
            exam.that(
                std::abs(got[k] - sum) < 1e-5,
                fmt::format("element {} of the sum on replica {}; replica 2 "
                            "has {}",
                            k, rank.rank,
                            one ? "a gradient of parameter 0 only" : "no samples"),
                fmt::format("{}", sum), fmt::format("{}", got[k]),
                {mean ? "the classifier has divided by the whole batch "
                        "already: another division makes the steps of the "
                        "features too small"
                 : one && k < 3
                     ? "an undefined gradient counts as zeros, in its own place: "
                       "those that are packed already stay"
                 : got[k] >= 999
                     ? "what is left from the last step has been added: pack "
                       "every gradient, and one that is undefined counts as "
                       "zeros"
                     : "each gradient of each replica, once",
                 mean ? kSum : kIdle});
          }
        }
      });
}

LESSON_TEST(26, at_once, "one host thread begins all parts of the ring") {
  const auto hub = std::make_shared<distributed::LocalHub>(2);
  std::vector<distributed::ProcessGroup> ring;
  for (int rank = 0; rank < 2; ++rank) {
    ring.emplace_back(std::make_unique<distributed::Ring>(
        std::make_unique<distributed::LocalTransport>(hub, rank, Milliseconds{1'000}),
        rank, 2, "features"));
  }
  std::vector<distributed::Bucket> flats{bucket_on(reference(4)),
                                         bucket_on(reference(5))};
  try {
    std::vector<distributed::Work> sums;
    for (int rank = 0; rank < 2; ++rank) {
      sums.push_back(sharing::hybrid_sum().in_use()(
          gradients_on(reference(4 + rank), 1), flats[rank], ring[rank]));
    }
    for (const distributed::Work& sum : sums) sum.synchronize();
  } catch (const NotWritten&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw Wrong{"the sum of two replicas, begun by one thread",
                "both parts are enqueued, then the ring turns",
                error.what(),
                {"one host thread calls this for all replicas, one after the other. If "
                 "the first call waits for the sum, nobody makes the others",
                 kSum}};
  }
}

LESSON_TEST(26, one_message, "one all-reduce, of all gradients") {
  auto owned = std::make_unique<Noted>();
  const Noted& noted = *owned;
  distributed::ProcessGroup group(std::move(owned));
  distributed::Bucket flat = bucket_on(reference(0));
  sharing::hybrid_sum().in_use()(gradients_on(reference(0), 1), flat, group).wait();
  runtime::context(reference(0)).synchronize();
  exam.equal("all-reduces for a replica's gradients, 4 parameters", size_t{1},
             noted.buckets.size(),
             {"each message costs its latency: all gradients are in one flat tensor, "
              "which is reduced once",
              kSum});
}

LESSON_TEST(26, as_one_device, "the gradients are those of one device") {
  nn::Construction construction;
  construction.dtype = DType::f64;
  construction.seed = 3;
  const nn::ConstructionScope scope(construction);
  for (const int64_t batch : {9, 10, 4}) {  // 3 3 3, 4 4 2, and 2 2 with an idle one
    Numbers pixels, classes;
    for (int64_t i = 0; i < batch * 5; ++i) pixels.push_back(std::sin(double(i * i)));
    for (int64_t i = 0; i < batch; ++i) classes.push_back(double(i % 3));
    const Tensor images = Tensor::from(pixels, {batch, 5}, DType::f64);
    const Tensor labels = Tensor::from(classes, {batch}, DType::i64);
    const auto features = std::make_shared<nn::Linear>(5, 4);
    const auto classifier = std::make_shared<nn::Linear>(4, 3);
    features->to(reference(0));
    classifier->to(reference(0));
    ops::cross_entropy((*classifier)((*features)(on(reference(0), images))),
                       on(reference(0), labels))
        .backward();
    std::vector<Numbers> expected;
    for (const Tensor& parameter : features->parameters()) {
      expected.push_back(values(parameter.grad()));
      parameter.set_grad(Tensor());
    }
    for (const Tensor& parameter : classifier->parameters()) {
      parameter.set_grad(Tensor());
    }
    classifier->to(reference(kClassifier));
    sharing::HybridFeatures hybrid(features, {reference(0), reference(1), reference(2)},
                                   reference(kClassifier));
    ops::cross_entropy((*classifier)(hybrid(images)),
                       on(reference(kClassifier), labels))
        .backward();
    hybrid.sum_gradients();
    for (size_t r = 0; r < hybrid.replicas().size(); ++r) {
      for (size_t i = 0; i < expected.size(); ++i) {
        exam.close(
            fmt::format("gradient of parameter {} on device {}, batch {}", i, r, batch),
            expected[i], values(hybrid.replicas()[r]->parameters()[i].grad()), 1e-6,
            {"the mean over the whole batch is computed in one place, so the "
             "replicas' gradients are parts of a sum",
             kSum});
      }
    }
  }
}

LESSON_TEST(26, vgg, "VGG16 on four devices, nine images") {
  const tracer::Trace& trace = exam.train(
      "-a vgg16 --dataset generated --length 18 --device-type null --mode hybrid "
      "--devices 4 -b 9 -j 0 --steps 2 --trace-steps 1:2",
      {"four devices train VGG16 with your functions; the run's output is printed "
       "below",
       "What the trace shows"});
  std::map<int64_t, int64_t> bytes = sent_by(trace);
  exam.equal("bytes that leave the classifier's device", int64_t{9 * 2048}, bytes[3],
             {"the gradients of nine images' activations, 2,048 bytes each", kLedger});
  for (int device = 0; device < 3; ++device) {
    exam.at_most(
        fmt::format("bytes that leave device {}", device),
        4 * (kFeatures / 3) + 3 * 2048 + 8, bytes[device],
        {"a ring of the features' parameters, and three images' activations", kLedger});
  }
}

// --- the ledger

LESSON_TEST(26, the_ledger, "the ledger of a step") {
  auto* const ledger =
      exam.function<void(const Net&, int64_t, int64_t, Ledger&)>("lesson_ledger");
  constexpr Net kVgg{kFeatures, 123'642'856 * int64_t{4}, 100'352};
  struct Case {
    Net net;
    int64_t batch, devices;
  };
  std::vector<Case> cases{
      {kVgg, 192, 4}, {{6000, 840, 10}, 10, 4}, {{840, 840, 1}, 5, 2}};
  std::mt19937_64 random(exam.seed());
  const auto some = [&random](int64_t most) {
    return 1 + static_cast<int64_t>(random() % most);
  };
  for (int i = 0; i < 6; ++i) {
    cases.push_back({{840 * some(9), 840 * some(9), some(50)}, some(40), 1 + some(7)});
  }
  cases.push_back({kVgg, 65536, 8});
  cases.push_back({{1003, 1002, 10}, 10, 4});  // no parts of 1/n
  for (const auto& [net, batch, devices] : cases) {
    const std::string which = fmt::format(
        "features of {} B, a classifier of {} B, activations of {} B, batch {}, {} "
        "devices (seed {})",
        net.features, net.classifier, net.activation, batch, devices, exam.seed());
    const Ledger expected = expected_of(net, batch, devices);
    Ledger got{};
    ledger(net, batch, devices, got);
    exam.equal("bytes that leave a device of the features, " + which,
               expected.feature_device, got.feature_device,
               why_not_sent(net, batch, devices, got.feature_device));
    const bool large = expected.classifier_device > INT32_MAX;
    exam.equal(
        "bytes that leave the classifier's device, " + which,
        expected.classifier_device, got.classifier_device,
        {large ? "the smaller cases are right; this one has too many bytes for 32 "
                 "bits"
         : got.classifier_device == 0
             ? "the gradients of all activations leave this device"
             : "the gradients of the whole batch's activations, and nothing of "
               "the classifier's own: no other device has its weights",
         kLedger});
    exam.equal("bytes that leave each device of DDP, " + which, expected.ddp, got.ddp,
               why_not_ddp(net, devices, got.ddp));
  }
}

// --- the cut

LESSON_TEST(26, the_cut, "where to cut, or not at all") {
  auto* const best_cut =
      exam.function<int64_t(const std::vector<Layer>&, int64_t, int64_t)>(
          "lesson_best_cut");
  struct Case {
    std::string name;
    std::vector<Layer> layers;
    int64_t batch, devices;
  };
  std::vector<Case> cases{
      {"the net VGG16", vgg16(), 192, 4},
      {"the net VGG16", vgg16(), 3072, 4},
      {"a net of equal layers", {{8400, 5000}, {8400, 5000}, {8400, 1}}, 64, 4},
      {"two equal cuts", {{8400, 10}, {0, 10}, {84'000, 1}}, 4, 4},
      {"a cut that sends what DDP does", {{100, 10}, {100, 1}}, 20, 2}};
  std::mt19937_64 random(exam.seed());
  for (int i = 0; i < 12; ++i) {
    Case& made = cases.emplace_back(
        Case{"a net", {}, int64_t(1 + random() % 30), int64_t(2 + random() % 6)});
    const size_t count = 2 + random() % 6;
    for (size_t k = 0; k < count; ++k) {
      made.layers.push_back(
          {840 * int64_t(random() % 40), 40 * int64_t(1 + random() % 20)});
    }
  }
  for (const auto& [name, layers, batch, devices] : cases) {
    std::string list;  // of the nets that the chapter does not know
    for (const Layer& layer : layers) {
      list += fmt::format(" {}/{}", layer.parameters, layer.output);
    }
    if (name == "the net VGG16") list = " its own";
    const Cut best = expected_cut(layers, batch, devices);
    const int64_t got = best_cut(layers, batch, devices);
    exam.equal(fmt::format("layers that should be features, {} (parameters/output:{}), "
                           "batch {}, {} devices (seed {})",
                           name, list, batch, devices, exam.seed()),
               best.best, got, why_not_there(layers, batch, devices, best, got));
  }
}

}  // namespace lockstep::lessons::lesson_26
