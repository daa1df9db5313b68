#include "engine/ops/copy.h"

#include <cstring>

#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "engine/runtime/pace.h"
#include "engine/runtime/pinned_memory.h"
#include "tracer/format/keys.h"

namespace lockstep::ops {
namespace keys = tracer::keys;
namespace {

using runtime::DeviceContext;

/// Returns the driver that performs the copy; null if a host thread does.
runtime::Driver* driver_between(Device from, Device to) {
  return runtime::context(from.is_host() ? to : from).driver();
}

/// Returns the memory that the copy reads by itself; null if it reads none so.
runtime::PinnedMemory* pinned_source(const Tensor& x, Device to) {
  if (!x.device().is_host() || to.is_host()) return nullptr;
  runtime::Driver* driver = driver_between(kHost, to);
  runtime::PinnedMemory* memory = driver ? driver->pinned_memory() : nullptr;
  return memory && memory->contains(x.view().data) ? memory : nullptr;
}

std::function<void()> mover(const Tensor& x, const Tensor& destination, bool pinned) {
  const View from = x.view(), into = destination.view();
  const size_t bytes = x.nbytes();
  // Host memory is freed by its last user, not in stream order, so keep it alive.
  const Tensor keep_source = x.device().is_host() ? x : Tensor();
  const Tensor keep_destination =
      destination.device().is_host() ? destination : Tensor();
  const Device from_device = x.device(), to_device = destination.device();
  if (from_device.type == DeviceType::emulated ||
      to_device.type == DeviceType::emulated) {
    return [=] {
      (void)keep_source, (void)keep_destination;
      runtime::emulate_copy(from_device, to_device, static_cast<int64_t>(bytes));
    };
  }
  if (runtime::Driver* driver = driver_between(from_device, to_device)) {
    return [=] {
      (void)keep_source, (void)keep_destination;
      if (pinned) return driver->copy_pinned(into.data, to_device, from.data, bytes);
      driver->copy(into.data, to_device, from.data, from_device, bytes);
    };
  }
  return [=] {
    (void)keep_source, (void)keep_destination;
    if (from.data && into.data) std::memcpy(into.data, from.data, bytes);
  };
}

/// Enqueues a copy to a device on the receiver's copy stream. Returns its end.
runtime::EventPtr receive(const Tensor& x, const Tensor& destination,
                          const CopyLabel& label, bool destination_is_fresh) {
  DeviceContext& receiver = runtime::context(destination.device());
  runtime::Task task;
  describe_copy(task, x.spec(), x.device(), destination.device(), label);
  runtime::PinnedMemory* pinned = pinned_source(x, destination.device());
  task.run = mover(x, destination, pinned != nullptr);
  task.uses_host_memory = x.device().is_host();
  if (!x.device().is_host()) {
    task.waits.push_back(runtime::context(x.device()).compute().record_event());
    x.storage()->record_stream(receiver.copy());
  }
  if (!destination_is_fresh) {
    task.waits.push_back(receiver.compute().record_event());
    destination.storage()->record_stream(receiver.copy());
  }
  runtime::EventPtr done = receiver.copy().enqueue(std::move(task));
  if (pinned) pinned->read_by(x.view().data, done);  // until then, `x` keeps the block
  if (runtime::options().launch_blocking) receiver.synchronize();
  return done;
}

/// Copies to the host and blocks until the copy has finished.
Tensor send_to_host(const Tensor& x, const CopyLabel& label, const char* why_wait) {
  DeviceContext& sender = runtime::context(x.device());
  Tensor result = Tensor::empty({x.sizes(), x.dtype(), nullptr}, kHost);
  if (x.view().data == nullptr) std::memset(result.view().data, 0, x.nbytes());
  runtime::Task task;
  describe_copy(task, x.spec(), x.device(), kHost, label);
  task.host_lane = tracer::host_lane("from " + x.device().str());
  task.run = mover(x, result, false);
  task.completes_on_return = true;  // see Driver::copy
  task.uses_host_memory = true;
  task.waits.push_back(sender.compute().record_event());
  x.storage()->record_stream(sender.copy());
  runtime::host_wait(sender.copy().enqueue(std::move(task)), why_wait);
  sender.rethrow();
  return result;
}

}  // namespace

Tensor empty_for_copy(const TensorSpec& plain, Device device) {
  DeviceContext& receiver = runtime::context(device);
  const auto bytes = plain.sizes.numel() * static_cast<int64_t>(item_size(plain.dtype));
  auto storage = std::make_shared<Storage>(device, bytes, CategoryScope::current(),
                                           receiver.copy());
  storage->record_stream(receiver.compute());
  return Tensor(storage, 0, plain);
}

void describe_copy(runtime::Task& task, const TensorSpec& tensor, Device from,
                   Device to, const CopyLabel& label) {
  task.record.cat = "copy";
  task.record.name = label.why;
  if (!tracer::recording()) return;
  task.record.id = tracer::next_id();
  task.record.op = tracer::innermost_event();
  task.record.step = tracer::current_step();
  const auto end = [](const char* key, Device d) {
    return d.is_host() ? tracer::Arg(key, "host")
                       : tracer::Arg(key, static_cast<int64_t>(d.trace_id()));
  };
  const auto item = static_cast<int64_t>(item_size(tensor.dtype));
  task.args = {end("src", from),
               end("dst", to),
               {keys::bytes, tensor.sizes.numel() * item},
               {keys::why, label.why},
               {keys::tensor, label.tensor},
               {keys::dtype, name(tensor.dtype)}};
  if (label.stage >= 0) {
    task.args.emplace_back(keys::stage, label.stage);
    task.args.emplace_back(keys::micro_batch, label.micro_batch);
  }
  task.shape.assign(tensor.sizes.begin(), tensor.sizes.end());
  if (const char* phase = tracer::thread_context().phase) {
    task.args.emplace_back(keys::phase, phase);
  }
}

Tensor copy_to(const Tensor& x, Device to, CopyLabel label, std::source_location site) {
  if (!to.is_host()) return arrived(send_to(x, to, label, site));
  if (x.device().is_host()) return x;
  const OpEvent op("aten::to", {x}, site);
  return send_to_host(contiguous(x), label, "device");
}

Arriving send_to(const Tensor& x, Device to, CopyLabel label,
                 std::source_location site) {
  if (x.device() == to) return {x, nullptr};
  const OpEvent op("aten::to", {x}, site);
  const Tensor plain = x.device().is_host() ? x : contiguous(x);
  const Tensor result = empty_for_copy({x.sizes(), x.dtype(), nullptr}, to);
  return {result, receive(plain, result, label, true)};
}

Tensor arrived(const Arriving& copy) {
  if (copy.done) runtime::context(copy.tensor.device()).compute().wait(copy.done);
  return copy.tensor;
}

void copy_into(const Tensor& x, const Tensor& destination, CopyLabel label,
               std::source_location site) {
  const OpEvent op("aten::copy_", {x}, site);
  const Tensor plain = x.device().is_host() ? x : contiguous(x);
  if (plain.device() == destination.device()) {
    compute_into(OpCode::copy, {plain}, {destination});
  } else if (destination.device().is_host()) {
    std::memcpy(destination.view().data, copy_to(plain, kHost, label).view().data,
                plain.nbytes());
  } else {
    arrived({destination, receive(plain, destination, label, false)});
  }
}

namespace {

double value_of(const Tensor& host, int64_t i) {
  switch (host.dtype()) {
    case DType::f32:
      return host.data<float>()[i];
    case DType::f64:
      return host.data<double>()[i];
    case DType::i64:
      return static_cast<double>(host.data<int64_t>()[i]);
    case DType::u8:
      return host.data<uint8_t>()[i];
  }
  return 0;
}

}  // namespace

double item(const Tensor& x, std::source_location site) {
  const OpEvent op("aten::item", {}, site);
  if (x.numel() != 1) {
    throw std::runtime_error("a Tensor with " + std::to_string(x.numel()) +
                             " elements cannot be converted to Scalar");
  }
  const Tensor host =
      x.device().is_host() ? x : send_to_host(contiguous(x), {"d2h", "scalar"}, "item");
  return value_of(host, 0);
}

std::vector<double> items(const Tensors& scalars, std::source_location site) {
  std::vector<double> values;
  const Device device = scalars.at(0).device();
  if (scalars.size() == 1 || driver_between(device, kHost) == nullptr) {
    for (const Tensor& scalar : scalars) values.push_back(item(scalar, site));
    return values;
  }
  const autograd::NoGrad no_grad;
  const Tensor together = cat(scalars, site);
  const OpEvent op("aten::to", {together}, site);
  const Tensor host = send_to_host(together, {"d2h", "scalars"}, "item");
  for (int64_t i = 0; i < host.numel(); ++i) values.push_back(value_of(host, i));
  return values;
}

}  // namespace lockstep::ops
