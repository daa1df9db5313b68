// The ceiling: one training step on oneDNN alone, without an engine. Weights stay
// blocked, BN+ReLU and add+ReLU are fused, memory is planned once and reused. An engine
// that reaches 90 % of this speed has an overhead of at most 10 %.
//
//   ceiling --net resnet18 --batch 128 --threads 1 --conv winograd --steps 7
//   ceiling --net resnet18 --batch 8 --check 1   # checks the gradients
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <stdexcept>

#include "ceiling_layers.h"
#include "step_meter.h"

namespace lockstep::bench {
namespace {

void fill_inputs(const Program& program, const Net& net, int classes) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 1);
  float* pixel = program.data(net.images);
  const size_t pixels = net.images.md.get_size() / sizeof(float);
  for (size_t i = 0; i < pixels; ++i) pixel[i] = normal(random);
  const auto n = net.labels.md.dims()[0];
  for (int64_t i = 0; i < n; ++i) program.data(net.labels)[i] = float(i % classes);
}

struct Phases {  // calls [0, forward) compute the loss, [forward, backward) gradients
  size_t forward, backward, update;
};

// Checks the directional derivative of every parameter along its own gradient: the loss
// must change by |g| per unit of length. Returns the number of parameters that fail.
int check(Program& program, Net& net, const Phases& phases) {
  program.run(0, phases.backward);
  std::vector<std::vector<float>> gradients;
  for (const Parameter& p : net.parameters) {
    const float* g = program.data(p.grad);
    gradients.emplace_back(g, g + p.count);
  }
  std::vector<double> deviations;
  int wrong = 0;
  for (size_t k = 0; k < net.parameters.size(); ++k) {
    const Parameter& p = net.parameters[k];
    const std::vector<float>& g = gradients[k];
    double squares = 0;
    for (float v : g) squares += double(v) * v;
    const double norm = std::sqrt(squares);
    const double step = 5e-4 / std::max(norm, 1e-3);  // the loss changes by about 5e-4
    float* w = program.data(p.value);
    const std::vector<float> saved(w, w + p.count);
    double loss[2], moved = 0;
    for (int side = 0; side < 2; ++side) {
      const double signed_step = (side ? -step : step) / std::max(norm, 1e-30);
      for (size_t i = 0; i < p.count; ++i) w[i] = float(saved[i] + signed_step * g[i]);
      for (size_t i = 0; side == 0 && i < p.count; ++i)
        moved += (double(w[i]) - saved[i]) * g[i];
      program.run(0, phases.forward);
      loss[side] = net.loss;
    }
    std::copy(saved.begin(), saved.end(), w);
    const double deviation =
        std::abs((loss[0] - loss[1]) / 2 - moved) / std::max(std::abs(moved), 1e-6);
    deviations.push_back(deviation);
    if (!(deviation < 0.05)) {
      ++wrong;
      std::fprintf(stderr,
                   "parameter %zu (%zu floats): loss moved by %.3e, gradient "
                   "says %.3e\n",
                   k, p.count, (loss[0] - loss[1]) / 2, moved);
    }
  }
  std::sort(deviations.begin(), deviations.end());
  std::printf("%zu parameters, deviation median %.1e, worst %.1e: %d wrong\n",
              deviations.size(), deviations[deviations.size() / 2], deviations.back(),
              wrong);
  return wrong;
}

int run(int argc, char** argv) {
  const auto flags = parse_flags(argc, argv,
                                 {{"net", "resnet18"},
                                  {"batch", 128},
                                  {"threads", 1},
                                  {"conv", "winograd"},
                                  {"steps", 7},
                                  {"warmup", 2},
                                  {"check", 0}});
  const std::string name = flags["net"], conv = flags["conv"];
  if (conv != "winograd" && conv != "direct")
    throw std::runtime_error("--conv is winograd or direct, not " + conv);
  // Must precede the first primitive, which fixes the number of threads.
  omp_set_num_threads(flags["threads"]);

  Program program;
  Net net(program, conv == "winograd");
  Phases phases{};
  build(net, name, flags["batch"]);
  phases.forward = program.size();
  net.backward();
  phases.backward = program.size();
  net.sgd(name == "vgg16" ? 0.001f : 0.01f, 1e-4f);
  phases.update = program.size();
  program.plan();
  fill_inputs(program, net, shape_of(name).classes);
  if (flags["check"] != 0) return check(program, net, phases) == 0 ? 0 : 1;

  StepMeter meter;
  std::vector<double> losses;
  const int warmup = flags["warmup"], steps = flags["steps"];
  for (int i = 0; i < warmup + steps; ++i) {
    if (i >= warmup) meter.begin();
    program.run(0, phases.update);
    if (i >= warmup) meter.end();
    losses.push_back(net.loss);
    ++net.dropout_round;
  }
  const dnnl_version_t* v = dnnl_version();
  char library[64];
  std::snprintf(library, sizeof library, "oneDNN %d.%d.%d", v->major, v->minor,
                v->patch);
  auto report = meter.report();
  report["peer"] = "ceiling";
  for (const char* key : {"net", "batch", "threads", "conv"}) report[key] = flags[key];
  report["impls"] = program.impls();
  report["losses"] = losses;
  report["planned_mib"] = program.planned_mib();
  report["scratch_mib"] = program.scratch_mib();
  report["library"] = library;
  std::printf("%s\n", report.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) {
  try {
    return lockstep::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ceiling: %s\n", error.what());
    return 1;
  }
}
