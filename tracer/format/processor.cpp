#include "tracer/format/processor.h"

#include <set>
#include <string>

#include "tracer/format/keys.h"

namespace lockstep::tracer {

namespace {

/// Returns `GPU 0` of `cuda:1 on GPU 0, NVIDIA …`; "" if the name has no such part.
std::string gpu_in(const std::string& device_name) {
  static constexpr std::string_view on = " on ";
  const size_t at = device_name.find(" on GPU ");
  if (at == device_name.npos) return {};
  const size_t from = at + on.size();
  return device_name.substr(from, device_name.find(',', from) - from);
}

}  // namespace

bool is_gpu(std::string_view device_name) {
  return device_name.starts_with("cuda:") || device_name.starts_with("GPU ") ||
         device_name.starts_with("emulated:");
}

Processor processor_of(const Json& lockstep) {
  const auto devices = lockstep.find(top::devices);
  if (devices == lockstep.end() || !devices->is_array()) return Processor::cores;
  std::set<std::string> gpus;
  Processor processor = Processor::cores;
  for (const Json& device : *devices) {
    const std::string name = string_arg(device, keys::name);
    if (!is_gpu(name)) return Processor::cores;
    const std::string gpu = gpu_in(name);
    if (!gpu.empty() && !gpus.insert(gpu).second) return Processor::shared_gpus;
    processor = Processor::gpus;
  }
  return processor;
}

const char* waiting_name(Processor processor) {
  return processor == Processor::cores ? kWaitingForCore : kWaitingForGpu;
}

const char* waiting_rule(Processor processor) {
  switch (processor) {
    case Processor::gpus:
      return "a kernel could start, but its launch takes time";
    case Processor::shared_gpus:
      return "a kernel could start, but its launch takes time, or kernels of another "
             "device run on the GPU that they share";
    default:
      return "a kernel could start, but no core of this machine is free";
  }
}

}  // namespace lockstep::tracer
