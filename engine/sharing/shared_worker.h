// Hogwild, and the same with a lock: workers that train one model in host memory.
#pragma once

#include <memory>

#include "engine/sharing/shared_access.h"
#include "engine/sharing/shared_model.h"
#include "engine/sharing/sharing.h"

namespace lockstep::sharing {

/// One worker. It reads the weights of the shared model, computes gradients with its
/// own copy of them on its device, makes its optimizer's step there, and applies that
/// step to the shared weights. Gradients and the optimizer's state (momentum) are its
/// own, as in PyTorch's example mnist_hogwild; weight decay uses the weights that it
/// read.
///
/// With one worker, or with the lock for the whole step, this is bit by bit the same as
/// training on one device, whatever the optimizer (see moved()).
class SharedWorker : public Sharing, private SharedAccess {
 public:
  SharedWorker(nn::Module& model, std::shared_ptr<SharedModel> shared, int worker,
               LockFor lock);

  void before_forward() override;
  void update(optim::Optimizer& optimizer) override;
  void settle() override;
  bool in_step() const override { return false; }
  bool agree(bool mine) override { return shared_->agree(mine); }
  bool meet(bool stop) override { return !shared_->agree(!stop); }
  void describe(tracer::HostEvent& step) const override;
  std::string report() const override { return shared_->report(); }
  std::vector<nn::Named<double>> totals() const override;

  const Update& last_update() const { return last_; }

 private:
  void acquire() override { shared_->lock().acquire(); }
  void release() override { shared_->lock().release(event_); }
  int64_t read() override;
  Update apply(int64_t read_version) override;

  void join();
  void pull(const char* why);
  Tensors push() const;

  const std::shared_ptr<SharedModel> shared_;
  const int worker_;
  const LockFor lock_;
  std::vector<nn::Named<Tensor>> tensors_;  ///< parameters, then buffers
  Tensors read_;  ///< on the host: what the last read returned
  Tensors next_;  ///< on the host: what the optimizer made of it
  Update last_;
  int64_t event_ = tracer::kNone;  ///< of the last access
};

}  // namespace lockstep::sharing
