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
      group_(std::move(group)),
      options_(options),
      flat_(0, all_of(parameters_), parameters_) {}

void LocalSgd::update(optim::Optimizer& optimizer) {
  optimizer.step();
  if (average_is_due()) average();
  ++step_;
}

bool LocalSgd::average_is_due() const {
  const int64_t since = step_ - options_.warmup_steps;
  return since >= 0 && since % options_.period == 0;
}

void LocalSgd::describe(tracer::HostEvent& event) const {
  event.arg({tracer::keys::local_steps, options_.period});
  event.arg({tracer::keys::warmup_steps, options_.warmup_steps});
  event.arg({tracer::keys::optimizer_steps, step_});
}

void LocalSgd::average() {
  tracer::Phase phase(tracer::phases::average);
  const double share = 1.0 / group_->size();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    flat_.pack(i, parameters_[i].value, share);
  }
  distributed::CollectiveLabel label;
  label.why = tracer::reasons::average;
  label.tensor = "parameters";
  group_->all_reduce(flat_.flat(), ReduceOp::sum, label).wait();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    flat_.unpack(i, parameters_[i].value);
  }
}

}  // namespace lockstep::sharing
