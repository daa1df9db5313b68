#include "engine/sharing/shared_worker.h"

#include "engine/ops/copy.h"
#include "tracer/format/keys.h"

namespace lockstep::sharing {
namespace keys = tracer::keys;
namespace reasons = tracer::reasons;

SharedWorker::SharedWorker(nn::Module& model, std::shared_ptr<SharedModel> shared,
                           int worker, LockFor lock)
    : shared_(std::move(shared)),
      worker_(worker),
      lock_(lock),
      tensors_(model.named_parameters()) {
  for (nn::Named<Tensor>& buffer : model.named_buffers()) tensors_.push_back(buffer);
  for (nn::Named<Tensor>& named : tensors_) named.value = named.value.detach();
}

void SharedWorker::before_forward() {
  tracer::Phase phase(tracer::phases::pull);
  join();
  last_ = {.read_version = shared_begin()(*this, lock_)};
  pull(reasons::pull);
}

void SharedWorker::update(optim::Optimizer& optimizer) {
  tracer::HostEvent* const phase = tracer::innermost_host_event();
  optimizer.step();
  next_ = push();
  last_ = shared_end()(*this, lock_, last_.read_version);
  if (!phase) return;
  phase->arg({keys::worker, worker_});
  phase->arg({keys::read_version, last_.read_version});
  phase->arg({keys::version, last_.version});
  if (shared_->has_values()) phase->arg({keys::lost_updates, last_.lost});
}

int64_t SharedWorker::read() {
  const tracer::HostEvent read("op", tracer::names::read_shared);
  event_ = read.id();
  return shared_->read(read_);
}

Update SharedWorker::apply(int64_t read_version) {
  const tracer::HostEvent change("op", tracer::names::update_shared);
  event_ = change.id();
  return shared_->apply(read_, next_, read_version);
}

/// All workers have made their updates when one of them reads, and none makes another
/// one before all have read.
void SharedWorker::settle() {
  join();
  shared_->agree(true);
  shared_->read(read_);
  pull(reasons::h2d);
  shared_->agree(true);
}

/// Not in the constructor: a checkpoint may be loaded after it.
void SharedWorker::join() {
  if (!read_.empty()) return;
  Tensors mine;
  for (const auto& [name, tensor] : tensors_) mine.push_back(tensor);
  shared_->start_with(mine);
  if (!shared_->has_values()) {
    read_ = shared_->tensors();
    return;
  }
  for (const Tensor& tensor : mine) {
    read_.push_back(Tensor::empty(tensor.sizes(), kHost, tensor.dtype()));
  }
}

void SharedWorker::pull(const char* why) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    ops::copy_into(read_[i], tensors_[i].value,
                   {why, tracer::intern(tensors_[i].name)});
  }
}

Tensors SharedWorker::push() const {
  Tensors next;
  for (const auto& [name, tensor] : tensors_) {
    next.push_back(ops::copy_to(tensor, kHost, {reasons::push, tracer::intern(name)}));
  }
  return next;
}

void SharedWorker::describe(tracer::HostEvent& step) const {
  const bool adds = shared_->rule() == UpdateBy::fetch_add;
  step.arg({keys::worker, worker_});
  step.arg({keys::update_rule, adds ? "fetch-add" : "store"});
  if (lock_ == LockFor::nothing) return;
  step.arg({keys::lock, lock_ == LockFor::step ? "step" : "update"});
}

std::vector<nn::Named<double>> SharedWorker::totals() const {
  const UpdateTotals all = shared_->totals();
  std::vector<nn::Named<double>> named{{"updates", double(all.updates)},
                                       {"elements", double(all.elements)}};
  if (all.updates == 0) return named;
  const double updates = double(all.updates);
  named.push_back({"mean_staleness", double(all.staleness) / updates});
  if (!shared_->has_values()) return named;
  named.push_back({"lost", double(all.lost)});
  named.push_back({"mean_changed", double(all.written) / updates});
  named.push_back({"mean_conflicts", double(all.conflicts) / updates});
  return named;
}

}  // namespace lockstep::sharing
