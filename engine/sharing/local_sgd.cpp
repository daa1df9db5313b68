#include "engine/sharing/local_sgd.h"

#include <numeric>

#include "tracer/format/keys.h"

namespace lockstep::sharing {
namespace {

plan::Bucket all_of(const distributed::Parameters& parameters) {
  plan::Bucket all(parameters.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

LocalSgd::LocalSgd(nn::Module& model, std::shared_ptr<distributed::ProcessGroup> group,
                   const LocalSgdOptions& options)
    : parameters_(model.named_parameters()),
      buffers_(model.named_buffers()),
      group_(std::move(group)),
      options_(options),
      flat_(0, all_of(parameters_), parameters_) {}

void LocalSgd::update(optim::Optimizer& optimizer) {
  optimizer_ = &optimizer;
  local_step()(*this, options_, step_);
  ++step_;
}

void LocalSgd::describe(tracer::HostEvent& event) const {
  event.arg({tracer::keys::local_steps, options_.period});
  event.arg({tracer::keys::warmup_steps, options_.warmup_steps});
  event.arg({tracer::keys::optimizer_steps, step_});
}

void LocalSgd::average() {
  tracer::Phase phase(tracer::phases::average);
  local_average()({parameters_, buffers_, optimizer_->state()}, flat_, *group_);
}

}  // namespace lockstep::sharing
