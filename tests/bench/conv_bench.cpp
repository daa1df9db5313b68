// Compares Winograd's algorithm with the direct one, convolution by convolution:
//   conv_bench [ROUNDS] [CxKxSIZExBATCH...]
// The figures behind the rule of `--conv auto` (engine/backends/cpu/convolution.cpp).
// Both algorithms alternate in each round; a time is CPU time of one thread, which
// barely depends on other processes; a ratio is the median over rounds.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "engine/backends/backend.h"
#include "tracer/record/recorder.h"

namespace {

using namespace lockstep;  // NOLINT

/// A 3×3 convolution with stride 1 and padding 1.
struct Case {
  int64_t in, out, size, batch;
};

/// A plan, and memory for its arguments.
class Kernel {
 public:
  Kernel(const PlanRequest& request, PlanPtr plan) : plan_(std::move(plan)) {
    for (const TensorSpec& spec : request.in) in_.push_back(view(spec));
    for (size_t i = 0; i < request.out.size(); ++i) {
      TensorSpec spec = request.out[i];
      if (i < plan_->layouts.size()) spec.layout = plan_->layouts[i];
      out_.push_back(view(spec));
    }
    workspace_ = memory(plan_->workspace);
  }
  /// Returns the seconds of `repeats` runs.
  double run(int repeats) const {
    const int64_t start = tracer::thread_cpu_ns();
    for (int i = 0; i < repeats; ++i) plan_->run({in_, out_, workspace_, {}});
    return static_cast<double>(tracer::thread_cpu_ns() - start) / 1e9 / repeats;
  }
  const Plan& plan() const { return *plan_; }

 private:
  void* memory(size_t bytes) {
    constexpr size_t kLine = 64;
    const size_t lines = bytes / kLine + 1;
    blocks_.emplace_back(std::aligned_alloc(kLine, lines * kLine), std::free);
    std::fill_n(static_cast<float*>(blocks_.back().get()), lines * kLine / 4, 0.01f);
    return blocks_.back().get();
  }
  View view(const TensorSpec& spec) {
    View result{nullptr, spec.dtype, spec.sizes, spec.layout.get()};
    result.data = memory(result.bytes());
    return result;
  }

  PlanPtr plan_;
  std::vector<std::unique_ptr<void, void (*)(void*)>> blocks_;
  std::vector<View> in_, out_;
  void* workspace_ = nullptr;
};

PlanPtr plan(const PlanRequest& request, ConvAlgorithm algorithm) {
  Backend& cpu = backend_of(DeviceType::cpu);
  backend_options().conv = algorithm;
  cpu.clear_cache();
  return cpu.plan(request);
}

Attributes padded_3x3() {
  Attributes a;
  a.kernel = {3, 3};
  a.padding = {1, 1};
  return a;
}

/// Returns a tensor in the layout that convolutions produce.
TensorSpec activation(int64_t batch, int64_t channels, int64_t size) {
  TensorSpec spec{{batch, channels, size, size}, DType::f32, nullptr};
  const TensorSpec weight{{channels, channels, 3, 3}, DType::f32, nullptr};
  const TensorSpec none{{}, DType::u8, nullptr};
  spec.layout = plan({OpCode::conv2d, {spec, weight, none}, {spec}, padded_3x3()},
                     ConvAlgorithm::direct)
                    ->layouts[0];
  return spec;
}

std::array<PlanRequest, 3> passes(const Case& c) {
  const TensorSpec x = activation(c.batch, c.in, c.size),
                   y = activation(c.batch, c.out, c.size),
                   w{{c.out, c.in, 3, 3}, DType::f32, nullptr},
                   none{{}, DType::u8, nullptr};
  const Attributes a = padded_3x3();
  return {{{OpCode::conv2d, {x, w, none}, {y}, a},
           {OpCode::conv2d_backward_data, {y, w}, {x}, a},
           {OpCode::conv2d_backward_weight, {x, y}, {w}, a}}};
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void compare(const PlanRequest& request, int rounds) {
  const PlanPtr winograd = plan(request, ConvAlgorithm::winograd);
  const PlanPtr automatic = plan(request, ConvAlgorithm::automatic);
  const Kernel a(request, winograd), b(request, plan(request, ConvAlgorithm::direct));
  const int repeats = std::max(1, static_cast<int>(0.01 / std::max(1e-6, b.run(2))));
  std::vector<double> ratios, direct;
  a.run(1);
  for (int round = 0; round < rounds; ++round) {
    direct.push_back(b.run(repeats));
    ratios.push_back(a.run(repeats) / direct.back());
  }
  const double mib = 1 << 20;
  fmt::print(" | {:9.1f} {:5.2f} {:6.1f} {:6.1f} {}", median(direct) * 1e6,
             median(ratios), static_cast<double>(b.plan().workspace) / mib,
             static_cast<double>(a.plan().workspace) / mib,
             automatic->impl == winograd->impl ? "w" : "d");
  std::fflush(stdout);
}

std::vector<Case> cases_of_nets() {
  std::vector<Case> cases;
  const std::pair<int64_t, int64_t> maps[] = {
      {64, 8},  {128, 4},  {256, 2}, {512, 1},             // --stem imagenet at 32x32
      {64, 32}, {128, 16}, {256, 8}, {512, 4}, {512, 2}};  // --stem cifar, VGG16
  for (const auto& [channels, size] : maps) {
    for (const int64_t batch : {4, 16, 32, 64, 128, 256}) {
      cases.push_back({channels, channels, size, batch});
    }
  }
  return cases;
}

}  // namespace

int main(int count, char** words) {
  const int rounds = count > 1 ? std::atoi(words[1]) : 9;
  std::vector<Case> cases;
  for (int i = 2; i < count; ++i) {
    Case c{};
    if (std::sscanf(words[i], "%ldx%ldx%ldx%ld", &c.in, &c.out, &c.size, &c.batch) == 4)
      cases.push_back(c);
  }
  if (cases.empty()) cases = cases_of_nets();
  fmt::print(
      "in x out x size x batch; for forward, backward data, backward weight:\n"
      "direct us, winograd/direct, workspaces in MiB, auto's choice\n");
  for (const Case& c : cases) {
    fmt::print("{:4} {:4} {:3} {:4}", c.in, c.out, c.size, c.batch);
    for (const PlanRequest& request : passes(c)) compare(request, rounds);
    fmt::print("\n");
  }
}
