// `lockstep bench-host`: what the host spends per kernel, read and copy on one device,
// for tests/gpu; prints one JSON line. The operations are so small that a GPU is done
// with them sooner than the host can enqueue the next one.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "cli/commands.h"
#include "cli/flags.h"
#include "engine/ops/copy.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "tracer/format/trace.h"
#include "tracer/record/recorder.h"

namespace lockstep::cli {
namespace {

struct HostBenchOptions {
  DeviceType device_type = DeviceType::cpu;
  int calls = 500;
};

/// Returns the least µs per call of five rounds, from the first call until the device
/// has done the last one.
double us_per_call(Device device, int calls, const std::function<void()>& call) {
  runtime::DeviceContext& context = runtime::context(device);
  call();  // makes plans
  int64_t least = INT64_MAX;
  for (int round = 0; round < 5; ++round) {
    context.synchronize();
    const int64_t start = tracer::now_ns();
    for (int i = 0; i < calls; ++i) call();
    context.synchronize();
    least = std::min(least, tracer::now_ns() - start);
  }
  return static_cast<double>(least) / 1e3 / calls;
}

int run(const HostBenchOptions& o) {
  const Device device{o.device_type, 0};
  const auto zeros = [&](const Shape& sizes) {
    const std::vector<double> values(sizes.numel());
    return ops::copy_to(Tensor::from(values, sizes, DType::f32), device, {"h2d"});
  };
  const Tensor scalar = zeros({1}), x = zeros({1, 8, 4, 4}), w = zeros({8, 8, 3, 3});
  const Tensor on_host = Tensor::from(std::vector<double>(1), {1}, DType::f32);
  Attributes same;  // keeps the image's size
  same.kernel = {3, 3};
  same.padding = {1, 1};
  const auto measured = [&](const std::function<void()>& call) {
    return us_per_call(device, o.calls, call);
  };
  const auto convolution = [&](OpCode code, const Tensor& a, const Tensor& b,
                               const Shape& made) {
    return measured([&, code] { ops::compute_one(code, {a, b}, made, same); });
  };
  const tracer::Json result{
      {"device", device.str()},
      {"calls", o.calls},
      {"us_per_call",
       {{"small kernel", measured([&] { ops::scale(scalar, 2); })},
        {"conv2d", convolution(OpCode::conv2d, x, w, x.sizes())},
        {"conv2d_backward_data",
         convolution(OpCode::conv2d_backward_data, x, w, x.sizes())},
        {"conv2d_backward_weight",
         convolution(OpCode::conv2d_backward_weight, x, x, w.sizes())},
        {"copy to the device",
         measured([&] { ops::copy_to(on_host, device, {"h2d"}); })},
        {"read of a scalar", measured([&] { ops::item(scalar); })}}}};
  std::printf("%s\n", result.dump().c_str());
  return 0;
}

}  // namespace

void add_bench_host(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "bench-host", "time the host's work per operation and print it as JSON");
  auto o = std::make_shared<HostBenchOptions>();
  add_choice<DeviceType>(*command, "--device-type", o->device_type, "",
                         {{"cpu", DeviceType::cpu}, {"cuda", DeviceType::cuda}});
  command->add_option("--calls", o->calls)->check(CLI::Range(1, 1 << 20));
  command->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace lockstep::cli
