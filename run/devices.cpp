#include "run/devices.h"

#include <fmt/format.h>

#include <cstdlib>

#include "engine/backends/backend.h"
#include "engine/backends/load_cuda.h"
#include "run/pipeline.h"

namespace lockstep::run {

int device_count(const RunConfig& c) {
  constexpr int kVirtual = 4;
  if (c.device.count > 0) return c.device.count;
  if (c.device.type != DeviceType::cuda) return kVirtual;
  return std::max<int>(1, static_cast<int>(cuda_status().gpus.size()));
}

parallel::Devices devices_of(const RunConfig& c) {
  const DeviceType type = c.device.type;
  if (mode_of(c) == train::Mode::single) return {{type, c.device.gpu.value_or(0)}};
  parallel::Devices devices;
  if (mode_of(c) == train::Mode::model_parallel) {
    for (int i = 0; i < pipeline_devices(c); ++i) devices.push_back({type, i});
    return devices;
  }
  const int count = device_count(c);
  for (int i = 0; i < count; ++i) devices.push_back({type, i});
  if (c.device.device_ids.empty()) return devices;
  devices.clear();
  for (const int id : c.device.device_ids) devices.push_back({type, id});
  return devices;
}

std::string gpu_of(Device device, const RankPlace& place) {
  const auto& gpus = cuda_status().gpus;
  const int count = static_cast<int>(gpus.size());
  const bool is_own = !place.neighbours || device.index == place.rank;
  const int gpu = is_own ? gpu_of_device(device.index, count)
                         : place.neighbours->local_rank(device.index) % count;
  return fmt::format("GPU {}, {}", gpu, gpus[gpu]);
}

std::string describe_gpus(const parallel::Devices& devices, const RankPlace& place) {
  if (devices.empty() || devices[0].type != DeviceType::cuda) return "";
  std::string text;
  size_t here = 0;
  for (const Device device : devices) {
    const auto& neighbours = place.neighbours;
    if (neighbours && !neighbours->share_machine(place.rank, device.index)) continue;
    text += fmt::format("=> {} on {}\n", device.str(), gpu_of(device, place));
    ++here;
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible) {
    text += fmt::format("=> CUDA_VISIBLE_DEVICES={}: GPU 0 is the first of these\n",
                        visible);
  }
  const size_t gpus = cuda_status().gpus.size();
  if (here > gpus) {
    text += fmt::format(
        "=> {} devices share {} GPU{}: each has its own streams and memory counters, "
        "but their kernels take turns\n",
        here, gpus, gpus == 1 ? "" : "s");
  }
  return text;
}

std::string prepare_gpu_timeline(const parallel::Devices& devices) {
  if (devices.empty() || devices[0].type != DeviceType::cuda) return "";
  const auto prepare = cuda_module().prepare_timeline;
  const std::string why_not = prepare ? prepare() : "this GPU has no timeline";
  if (why_not.empty()) return "=> GPU timeline: using CUPTI\n";
  return fmt::format("=> GPU timeline: using CUDA events; CUPTI is unavailable: {}\n",
                     why_not);
}

}  // namespace lockstep::run
