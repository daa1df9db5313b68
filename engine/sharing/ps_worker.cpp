#include "engine/sharing/ps_worker.h"

#include <chrono>
#include <numeric>
#include <thread>

#include "engine/ops/op_call.h"
#include "engine/runtime/device_context.h"
#include "tracer/format/keys.h"
#include "tracer/record/slow_rank.h"

namespace lockstep::sharing {
namespace keys = tracer::keys;
namespace {

plan::Bucket indices_of(const Parameters& parameters) {
  plan::Bucket all(parameters.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

const char* word_of(Consistency consistency) {
  const char* const words[] = {"sync", "async", "ssp"};
  return words[static_cast<int>(consistency)];
}

}  // namespace

bool steps_together(const PsOptions& options) {
  return options.consistency == Consistency::sync && options.backup == 0;
}

PsWorker::PsWorker(nn::Module& model, std::shared_ptr<Servers> servers, int worker,
                   double slowness)
    : parameters_(model.named_parameters()),
      servers_(std::move(servers)),
      worker_(worker),
      slowness_(slowness),
      device_(parameters_[0].value.device()),
      flat_(0, indices_of(parameters_), parameters_) {}

void PsWorker::attach(optim::Optimizer& optimizer, const optim::AnyOptions& options) {
  optimizer_ = &optimizer;
  optimizer_options_ = options;
}

void PsWorker::before_forward() {
  if (!begun_) begin();
  if (std::exchange(has_met_, false)) {
    servers_->resume(worker_);
    servers_->meet(false);
  }
  pull();
  started_ = tracer::now_ns();
}

/// The servers take the weights and the optimizer's state of a checkpoint, too.
void PsWorker::begin() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    flat_.pack(i, parameters_[i].value, 1);
  }
  servers_->begin(parameters_, flat_.flat(), optimizer_options_, optimizer_->state());
  optimizer_->set_state({});
  begun_ = true;
}

void PsWorker::pull() {
  tracer::Phase phase(tracer::phases::pull);
  servers_->pull(worker_, flat_.flat());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    flat_.unpack(i, parameters_[i].value);
  }
}

void PsWorker::update(optim::Optimizer& optimizer) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    flat_.pack(i, parameters_[i].value.grad(), 1);
  }
  if (slowness_ > 1) work_longer();
  // A gradient is pushed when it is there: the servers serve who comes first.
  runtime::host_wait(runtime::context(device_).compute().record_event(),
                     tracer::reasons::stream);
  runtime::context(device_).rethrow();
  servers_->push(worker_, flat_.flat(), optimizer.lr());
}

/// Keeps the device's compute stream busy for so long that the step takes `slowness_`
/// times as long. It uses no core, so that the other devices are not slowed down, and
/// nothing depends on its length.
void PsWorker::work_longer() {
  runtime::DeviceContext& device = runtime::context(device_);
  runtime::host_wait(device.compute().record_event(), tracer::reasons::stream);
  const auto took = static_cast<double>(tracer::now_ns() - started_);
  const std::chrono::nanoseconds more(static_cast<int64_t>((slowness_ - 1) * took));
  const ops::OpEvent op(tracer::names::emulated_work, {});
  runtime::Task task;
  task.record.cat = tracer::categories::kernel;
  task.record.name = tracer::names::emulated_work;
  if (tracer::recording()) {
    task.record.id = tracer::next_id();
    task.record.op = tracer::innermost_event();
    task.record.step = tracer::current_step();
    task.args.emplace_back(keys::impl, "emulated_work");
    task.args.emplace_back(keys::slowness, slowness_);
  }
  task.run = [more] { std::this_thread::sleep_for(more); };
  device.compute().enqueue(std::move(task));
}

/// Those who come later must not wait for gradients of this worker.
bool PsWorker::meet(bool stop) {
  has_met_ = true;
  servers_->pause(worker_);
  return servers_->meet(stop);
}

void PsWorker::settle() {
  if (servers_->has_begun()) pull();
}

bool PsWorker::in_step() const { return steps_together(servers_->options()); }

void PsWorker::describe(tracer::HostEvent& step) const {
  const PsOptions& options = servers_->options();
  step.arg({keys::servers, static_cast<int64_t>(servers_->size())});
  step.arg({keys::consistency, word_of(options.consistency)});
  if (options.backup > 0) step.arg({keys::backup, options.backup});
  if (options.consistency == Consistency::ssp) {
    step.arg({keys::staleness, options.staleness});
  }
}

}  // namespace lockstep::sharing
