// `lockstep doctor`: reports what is installed, what is missing, and the consequences.
#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <thread>

#include "base/container.h"
#include "base/program.h"
#include "cli/commands.h"
#include "engine/backends/backend.h"
#include "engine/data/cifar10.h"
#include "engine/data/generated.h"

namespace lockstep::cli {
namespace {

void line(bool good, const std::string& what, const std::string& detail) {
  const bool color = isatty(1) && std::getenv("NO_COLOR") == nullptr;
  const char* sign = good ? "ok     " : "missing";
  if (color) {
    std::printf("\033[%sm%s\033[0m  %-22s %s\n", good ? "32" : "33", sign, what.c_str(),
                detail.c_str());
  } else {
    std::printf("%s  %-22s %s\n", sign, what.c_str(), detail.c_str());
  }
}

bool in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

int report() {
  const int cores = visible_cores();
  line(true, "cores",
       std::to_string(cores) +
           "; virtual devices share them on the measured clock; on the emulated clock "
           "each has its own");
  const ContainerLimits limits = read_limits();
  line(true, "CPU quota", describe_cpus(limits.cpus, static_cast<int>(cores)));
  line(true, "memory limit", describe_memory(limits.memory));
  line(true, "/dev/shm", describe_shared(limits.shared));
  const bool cpu = has_backend(DeviceType::cpu);
  line(cpu, "oneDNN (cpu)",
       cpu ? "--device-type cpu, the default"
           : "only --device-type reference; fix: apt-get install libdnnl-dev "
             "ocl-icd-opencl-dev, then rebuild");
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (cpu) {
    line(avx512 || avx2, "Winograd convolutions",
         avx512 ? "oneDNN's, with AVX-512 (--conv direct disables them)"
         : avx2 ? "lockstep's, with AVX2 (--conv direct disables them)"
                : "not available without AVX2; convolutions are slower");
  }
  line(true, "reference, null", "plain loops; a device that only records");
  const CudaStatus cuda = cuda_status();
  std::string gpus;
  for (const std::string& gpu : cuda.gpus) gpus += (gpus.empty() ? "" : "; ") + gpu;
  line(!cuda.gpus.empty(), "CUDA",
       (cuda.gpus.empty() ? cuda.why_not : "--device-type cuda: " + gpus) +
           (cuda.libraries.empty() ? "" : " (built with " + cuda.libraries + ")"));
  const bool gnuplot = in_path("gnuplot");
  line(gnuplot, "gnuplot",
       gnuplot ? "available for plots of " + program() + " experiment"
               : "not found: no plots of " + program() +
                     " experiment; fix: apt-get install gnuplot-nox");
  const auto data = data::find_cifar10(std::nullopt);
  if (data && !data::is_generated(*data)) {
    line(true, "CIFAR-10", data->string());
  } else if (data) {
    line(false, "CIFAR-10",
         data->string() + " contains a generated data set; fix: remove it, then run " +
             program() + " data fetch (needs a network connection)");
  } else {
    line(false, "CIFAR-10",
         "not in ./data or ~/data; fix: run " + program() +
             " data fetch (needs a network connection), or " + program() +
             " data make (generates a data set)");
  }
  return 0;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  app.add_subcommand("doctor",
                     "show what is available, what is missing and how to fix it")
      ->callback([&action] { action = report; });
}

}  // namespace lockstep::cli
