#include "run/emulated_devices.h"

#include <fmt/format.h>

#include <map>

#include "engine/ops/ops.h"
#include "engine/plan/chunk.h"
#include "engine/plan/launch_arithmetic.h"
#include "engine/runtime/device_context.h"
#include "engine/train/train_step.h"
#include "run/devices.h"
#include "run/profile_pace.h"
#include "run/train.h"
#include "run/words.h"

namespace lockstep::run {
namespace {

bool is_emulated(const RunConfig& c) { return c.device.type == DeviceType::emulated; }

/// What a batch on a device is, by its size: the first reason found.
using Batches = std::map<int64_t, std::string>;

/// Adds the batches that devices get when `samples` samples of one rank are divided
/// into batches of `batch`.
void add_batches(const RunConfig& c, int64_t samples, int64_t batch,
                 const std::string& of, bool reaches_last, Batches& batches) {
  const auto add = [&](int64_t size, const std::string& what) {
    if (size == 0) return;
    const train::Mode mode = mode_of(c);
    const int64_t devices = train::is_data_parallel(mode) ? device_count(c) : 1;
    for (const int64_t chunk : plan::chunk_sizes(size, devices)) {
      batches.emplace(chunk, what);
    }
    // The classifier has the whole batch.
    if (mode == train::Mode::dp_features) batches.emplace(size, what);
  };
  if (samples >= batch) add(batch, "a batch of " + of);
  if (reaches_last) add(samples % batch, "the last batch of " + of);
}

/// Returns the batches that the run will have on one device.
Batches batches_of(const RunConfig& c, const DataSets& data) {
  const bool ranks = train::has_ranks(mode_of(c));
  const int world = ranks ? device_count(c) : 1;
  const auto whole = static_cast<int>(c.recipe.batch_size);
  const int64_t batch = plan::per_process_batch(whole, world);
  if (batch == 0) return {};  // an error that names it comes later
  const int64_t trained = (data.train->size() + world - 1) / world;
  const bool whole_epoch = !c.evaluate && (c.steps < 0 || c.steps > trained / batch);
  Batches batches;
  if (!c.evaluate) {
    add_batches(c, trained, batch, "the training set", whole_epoch, batches);
  }
  const bool tests =
      c.evaluate || c.steps < 0 || c.steps > (trained + batch - 1) / batch;
  if (!tests) return batches;
  const int64_t tested = data.test->size();
  add_batches(c, tested / world, batch, "the test set", true, batches);
  add_batches(c, tested % world, batch, "the rest of the test set", true, batches);
  return batches;
}

/// Runs a step with that batch on device 0, whose kernels are counted.
void count_step(const RunConfig& c, const DataSets& data, int64_t batch) {
  const Device device{DeviceType::emulated, 0};
  const uint64_t drawn = ops::dropout_calls(device);
  const nn::ModulePtr model = make_model(c, data, {});
  model->to(device);
  model->train();
  std::vector<int64_t> sizes{batch};
  for (const int64_t size : data.train->sample_shape()) sizes.push_back(size);
  const Tensor images = Tensor::empty(Shape(sizes), device);
  const Tensor labels = Tensor::empty({batch}, device, DType::i64);
  train::TrainStep step(model, model, optimizer_options(c.recipe), {});
  step.run(images, labels);
  runtime::context(device).synchronize();
  ops::set_dropout_calls(device, drawn);
}

}  // namespace

void validate_emulated_devices(const RunConfig& c) {
  const auto& hardware = c.device.hardware;
  if (!is_emulated(c)) {
    if (hardware == nullptr) return;
    throw UsageError(
        fmt::format("--hardware has no effect on --device-type {}; fix: add "
                    "--device-type emulated",
                    word(c.device.type)));
  }
  if (hardware == nullptr) {
    throw UsageError(
        "--device-type emulated requires the devices that it emulates; fix: add "
        "--hardware v100-pcie, or another of `emulate --list-hardware`");
  }
  if (!hardware->device_times) {
    throw UsageError(fmt::format(
        "--hardware {} has links, but no times of its devices; fix: choose one for "
        "which `emulate --list-hardware` names a device",
        hardware->name));
  }
  if (c.data.on_bad_image != OnBadImage::error) {
    throw UsageError(
        "--device-type emulated plans its batches, and skipped images would change "
        "them; fix: use --on-bad-image error");
  }
  const train::Mode mode = mode_of(c);
  const bool fits = mode == train::Mode::single || train::is_data_parallel(mode) ||
                    mode == train::Mode::ddp;
  if (!fits || ranks_are_processes(c)) {
    throw UsageError(fmt::format(
        "--device-type emulated is not available {}; fix: use --mode single, dp, "
        "dp-features, dp-criterion or ddp (ranks are threads)",
        fits ? "to ranks that are processes"
             : fmt::format("with --mode {}", train::name(mode))));
  }
  const int most = hardware->most_devices(), count = device_count(c);
  if (most > 0 && count > most) {
    throw UsageError(
        fmt::format("--hardware {} has {} devices, not {}; fix: use fewer "
                    "--devices",
                    hardware->name, most, count));
  }
  if (c.device.dtype != DType::f32) {
    throw UsageError(
        "--device-type emulated has times for float32 only; fix: omit "
        "--dtype");
  }
  for (const char* flag : {"--save", "--checkpoint", "--resume", "--pretrained"}) {
    if (!c.given.contains(flag)) continue;
    throw UsageError(fmt::format(
        "{} is about weights, but --device-type emulated computes none; fix: omit it",
        flag));
  }
}

void prepare_emulated_devices(const RunConfig& c, const DataSets& data) {
  if (!is_emulated(c)) return;
  const tracer::MeasuredDevice& times = *c.device.hardware->device_times;
  const std::vector<int64_t> shape = data.train->sample_shape();
  const int64_t pixels = shape.size() == 3 ? shape[1] : 0;
  Batches batches = batches_of(c, data);
  int64_t size = 0;
  try {
    const tracer::PhaseTable& table = tracer::table_of(times, c.model.arch, pixels);
    int highest = 0;
    for (const Device device : devices_of(c)) highest = std::max(highest, device.index);
    const auto pace = std::make_shared<ProfilePace>(c.device.hardware, table,
                                                    highest + 1, c.device.sleep_until);
    runtime::set_pace(pace);
    for (const auto& [batch, what] : batches) {
      size = batch;
      pace->begin_counting(batch);
      count_step(c, data, batch);
      pace->end_counting();
    }
  } catch (const std::runtime_error& error) {
    throw UsageError(fmt::format(
        "--hardware {}: {}{}", c.device.hardware->name,
        size > 0
            ? fmt::format("on one device, {} has {} samples: ", batches[size], size)
            : "",
        error.what()));
  }
  if (!c.output.quiet) {
    fmt::print("=> emulated devices: {}\n", emulated_devices_assume(c));
  }
}

std::string emulated_devices_assume(const RunConfig& c) {
  const tracer::Hardware& hardware = *c.device.hardware;
  const tracer::MeasuredDevice& device = *hardware.device_times;
  return fmt::format(
      "each takes as long as {} did for its measurer ({}), and computes nothing, so "
      "losses and accuracies are unknown; the measured times of forward pass, and of "
      "backward pass with optimizer, are divided among their kernels by the larger of "
      "operations at {:g} TFLOP/s and bytes at {:g} GB/s; other kernels take that "
      "estimate; copies take their links' latency and bandwidth in turn ({}), and sums "
      "in a ring no time; the host, its loader and its launches are this machine's",
      device.name, device.source, device.tflops, device.memory_gb_per_s,
      hardware.description);
}

}  // namespace lockstep::run
