// The peer: one training step in libtorch C++. Forward, cross entropy, backward, SGD
// (momentum 0.9, weight decay 1e-4), zero_grad, and a read of the loss on the host.
//
//   torch_step --net resnet18 --batch 128 --threads 1 --channels-last 1 --steps 7
#include <ATen/Version.h>
#include <dlfcn.h>

#include <climits>
#include <cstdio>
#include <cstdlib>

#include "step_meter.h"
#include "torch_nets.h"

namespace lockstep::bench {
namespace {

// The file that the dynamic linker resolved a symbol from: shows which BLAS is in use.
std::string home_of(const char* symbol) {
  void* address = dlsym(RTLD_DEFAULT, symbol);
  Dl_info info{};
  if (!address || !dladdr(address, &info)) return "not found";
  char real[PATH_MAX];
  return realpath(info.dli_fname, real) ? real : info.dli_fname;
}

void use_channels_last(Net& net, torch::Tensor& images) {
  images = images.contiguous(at::MemoryFormat::ChannelsLast);
  torch::NoGradGuard no_grad;
  for (auto& p : net.module->parameters())
    if (p.dim() == 4) p.set_data(p.contiguous(at::MemoryFormat::ChannelsLast));
}

int run(int argc, char** argv) {
  const auto flags = parse_flags(argc, argv,
                                 {{"net", "resnet18"},
                                  {"batch", 128},
                                  {"threads", 1},
                                  {"channels-last", 1},
                                  {"grads-to-none", 0},
                                  {"steps", 7},
                                  {"warmup", 2}});
  const std::string name = flags["net"];
  at::set_num_threads(flags["threads"]);
  torch::manual_seed(1);
  Net net = make_net(name);
  net.module->train();
  const int batch = flags["batch"];
  torch::Tensor images = torch::randn({batch, 3, net.size, net.size});
  const torch::Tensor labels = torch::arange(batch) % net.classes;
  if (flags["channels-last"] != 0) use_channels_last(net, images);
  const double lr = name == "vgg16" ? 0.001 : 0.01;
  torch::optim::SGD optimizer(
      net.module->parameters(),
      torch::optim::SGDOptions(lr).momentum(0.9).weight_decay(1e-4));

  StepMeter meter;
  std::vector<double> losses;
  const int warmup = flags["warmup"], steps = flags["steps"];
  for (int i = 0; i < warmup + steps; ++i) {
    if (i >= warmup) meter.begin();
    torch::Tensor output = net.module->forward(images);
    torch::Tensor loss = torch::nn::functional::cross_entropy(output, labels);
    net.module->zero_grad(flags["grads-to-none"] != 0);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
    if (i >= warmup) meter.end();
  }

  int64_t parameters = 0;
  for (const auto& p : net.module->parameters()) parameters += p.numel();
  auto report = meter.report();
  report["peer"] = "libtorch";
  for (const char* key : {"net", "batch", "threads", "channels-last"})
    report[key] = flags[key];
  report["impls"] = {{"libtorch", 1}};
  report["losses"] = losses;
  report["parameters"] = parameters;
  report["library"] = "libtorch " TORCH_VERSION;
  report["blas"] = home_of("sgemm_");
  report["onednn"] = home_of("dnnl_version");
  report["config"] = at::show_config();
  std::printf("%s\n", report.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) {
  try {
    return lockstep::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "torch_step: %s\n", error.what());
    return 1;
  }
}
