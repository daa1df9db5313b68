#include "engine/parallel/device_group.h"

#include <map>
#include <mutex>

#include "engine/backends/load_cuda.h"
#include "engine/ops/copy.h"
#include "engine/runtime/device_context.h"
#include "tracer/format/keys.h"

namespace lockstep::parallel {
namespace keys = tracer::keys;
namespace {

using runtime::context;
using runtime::EventPtr;

/// Fills in the trace record of a device's part: the copy that the device receives.
void describe(runtime::Task& task, const Tensor& received, Device from,
              const char* why) {
  ops::describe_copy(task, received.spec(), from, received.device(), {why, "group"});
  if (tracer::recording()) task.args.emplace_back(keys::modelled, true);
}

void enqueue(Device device, runtime::Task task) {
  task.shared = true;
  runtime::DeviceContext& part = context(device);
  part.compute().wait(part.copy().enqueue(std::move(task)));
}

/// For CUDA_LAUNCH_BLOCKING: waits once all parts are enqueued, to avoid a deadlock.
void wait_if_blocking(const Tensors& parts) {
  if (!runtime::options().launch_blocking) return;
  for (const Tensor& part : parts) context(part.device()).synchronize();
}

}  // namespace

DeviceGroup* device_group(const Devices& devices) {
  if (devices.size() < 2 || devices[0].type != DeviceType::cuda) return nullptr;
  if (!runtime::options().device_groups) return nullptr;
  const CudaModule& cuda = cuda_module();
  if (!cuda.make_device_group) return nullptr;
  static std::mutex mutex;
  static auto* const groups = new std::map<Devices, std::unique_ptr<DeviceGroup>>;
  std::lock_guard lock(mutex);
  const auto [place, is_new] = groups->try_emplace(devices);
  if (is_new) place->second = cuda.make_device_group(devices);
  return place->second.get();
}

Tensors broadcast(DeviceGroup& group, const Tensor& flat, const Devices& devices) {
  // Allocate everything first: an allocation may wait for the device's kernels, which
  // in turn wait for the devices after it.
  Tensors arrived{flat};
  for (size_t i = 1; i < devices.size(); ++i) {
    arrived.push_back(ops::empty_for_copy(flat.spec(), devices[i]));
  }
  flat.storage()->record_stream(context(devices[0]).copy());
  const EventPtr made = context(devices[0]).compute().record_event();
  for (size_t i = 0; i < devices.size(); ++i) {
    runtime::Task task;
    task.record.name = "replicate";
    if (i > 0) describe(task, arrived[i], devices[i - 1], "replicate");
    task.waits = {made};
    task.run = [&group, i, data = arrived[i].view()] {
      group.broadcast(i, data.data, data.numel(), data.dtype);
    };
    enqueue(devices[i], std::move(task));
  }
  wait_if_blocking(arrived);
  return arrived;
}

void reduce(DeviceGroup& group, const Tensors& flats) {
  std::vector<EventPtr> made;
  for (const Tensor& flat : flats) {
    runtime::DeviceContext& device = context(flat.device());
    made.push_back(device.compute().record_event());
    flat.storage()->record_stream(device.copy());
  }
  for (size_t i = 0; i < flats.size(); ++i) {
    runtime::Task task;
    task.record.name = "reduce";
    if (i + 1 < flats.size()) describe(task, flats[i], flats[i + 1].device(), "reduce");
    task.waits = made;
    task.run = [&group, i, data = flats[i].view()] {
      group.reduce(i, data.data, data.numel(), data.dtype);
    };
    enqueue(flats[i].device(), std::move(task));
  }
  wait_if_blocking(flats);
}

}  // namespace lockstep::parallel
