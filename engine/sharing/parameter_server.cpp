#include "engine/sharing/parameter_server.h"

#include "engine/autograd/node.h"
#include "engine/ops/copy.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "engine/sharing/server_state.h"
#include "tracer/format/keys.h"

namespace lockstep::sharing {
namespace keys = tracer::keys;
namespace {

/// Returns `momentum_buffer.` of `momentum_buffer.conv1.weight`.
std::string part_of(const std::string& name) {
  return name.substr(0, name.find('.') + 1);
}

}  // namespace

ParameterServer::ParameterServer(int index, Device device, int workers,
                                 const PsOptions& options)
    : index_(index),
      device_(device),
      is_sync_(options.consistency == Consistency::sync),
      rule_(workers, options) {}

void ParameterServer::begin(const Parameters& parameters, const plan::KeyRange& range,
                            const Tensor& flat, const optim::AnyOptions& optimizer,
                            const Parameters& state) {
  std::vector<int64_t> numels;
  for (const auto& [name, parameter] : parameters) numels.push_back(parameter.numel());
  parameters_ = parameters;
  range_ = range;
  pieces_ = plan::pieces_of(range, numels);
  CategoryScope category(MemoryCategory::parameters);
  weights_ = ops::copy_to(flat, device_, {tracer::reasons::push, "initial weights"});
  views_.clear();
  for (const plan::Piece& piece : pieces_) {
    views_.push_back(
        {parameters[piece.tensor].name, weights_.narrowed(piece.offset, piece.length)});
  }
  optimizer_ = optim::make_optimizer(views_, optimizer);

  Parameters mine;
  for (const auto& [name, value] : state) {
    for (const plan::Piece& piece : pieces_) {
      const std::string& of = parameters[piece.tensor].name;
      if (name != part_of(name) + of) continue;
      mine.push_back(
          {name, is_count_of_updates(name)
                     ? value
                     : flat_on_host(value).narrowed(piece.begin, piece.length)});
    }
  }
  if (!mine.empty()) optimizer_->set_state(mine);
}

Sent ParameterServer::push(int worker, const Tensor& flat, double lr) {
  CategoryScope category(MemoryCategory::gradients);
  const Tensor gradient =
      ops::copy_to(flat, device_, {tracer::reasons::push, "gradients"});
  return take(worker, gradient, runtime::context(device_).copy().record_event(), lr);
}

Sent ParameterServer::take(int worker, const Tensor& gradient,
                           runtime::EventPtr arrived, double lr) {
  lr_ = lr;
  gradients_[worker] = gradient;
  Sent sent{rule_.push(worker), std::move(arrived)};
  if (sent.push.discarded) gradients_.erase(worker);
  if (sent.push.applied.empty()) return sent;
  update(sent.push, worker);
  sent.arrived = runtime::context(device_).compute().record_event();
  return sent;
}

void ParameterServer::update(const UpdateRule::Push& push, int worker) {
  tracer::Phase phase(tracer::phases::optimizer);
  phase.event.arg({keys::worker, worker})
      .arg({keys::server, index_})
      .arg({keys::read_version, push.read_version})
      .arg({keys::version, push.version});
  autograd::NoGrad no_grad;
  const Tensor gradient = sum_of(push.applied, push.scale);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    views_[i].value.set_grad(gradient.narrowed(pieces_[i].offset, pieces_[i].length));
  }
  optimizer_->set_lr(lr_);
  optimizer_->step();
  optimizer_->zero_grad();
}

/// Adds the gradients in the order of their workers, whichever came first.
Tensor ParameterServer::sum_of(const std::vector<int>& workers, double scale) {
  Tensor sum;
  for (const int worker : workers) {
    const Tensor gradient = gradients_.extract(worker).mapped();
    if (sum.defined()) {
      ops::add_(sum, gradient);
    } else {
      sum = gradient;
    }
  }
  if (scale == 1) return sum;
  ops::OpCall op("aten::div_", {sum}, std::source_location::current());
  ops::compute_into(OpCode::scale, {sum}, {sum}, {}, {scale});
  return sum;
}

int64_t ParameterServer::pull(int worker, const Tensor& flat) {
  ops::copy_into(weights_, flat, {tracer::reasons::pull, "weights"});
  // The next update must not overwrite what is being read.
  runtime::context(device_).compute().wait(
      runtime::context(flat.device()).copy().record_event());
  return rule_.pull(worker);
}

void ParameterServer::make_due_update(int worker) {
  const UpdateRule::Push push = rule_.make_due();
  update(push, worker);
  rule_.publish(push);
}

void ParameterServer::read_state(std::map<std::string, Tensor>& whole) const {
  for (const auto& [name, value] : optimizer_->state()) {
    add_state(whole, parameters_, pieces_, name, value);
  }
}

}  // namespace lockstep::sharing
