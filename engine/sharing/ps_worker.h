// A worker of parameter servers: pulls the weights, computes gradients, pushes them.
#pragma once

#include "engine/distributed/ddp/bucket.h"
#include "engine/sharing/servers.h"
#include "engine/sharing/sharing.h"

namespace lockstep::sharing {

/// One worker, on its rank's device. Its optimizer never steps: the servers' do, with
/// its learning rate. Buffers, such as the statistics of batch norms, stay with the
/// worker, as in DDP without `broadcast_buffers`.
class PsWorker : public Sharing {
 public:
  /// `slowness`: the worker takes this many times as long as it would (emulated).
  PsWorker(nn::Module& model, std::shared_ptr<Servers> servers, int worker,
           double slowness = 1);

  void attach(optim::Optimizer& optimizer, const optim::AnyOptions& options) override;
  void before_forward() override;
  void update(optim::Optimizer& optimizer) override;
  bool meet(bool stop) override;
  void settle() override;
  void fetch() override { settle(); }
  void leave() override { servers_->leave(worker_); }
  bool in_step() const override;
  Parameters optimizer_state(const optim::Optimizer&) const override {
    return servers_->state();
  }
  void describe(tracer::HostEvent& step) const override;

 private:
  void begin();
  void pull();
  void work_longer();

  const Parameters parameters_;
  const std::shared_ptr<Servers> servers_;
  const int worker_;
  const double slowness_;
  const Device device_;
  distributed::Bucket flat_;  ///< all parameters' gradients or weights, one by one
  optim::Optimizer* optimizer_ = nullptr;
  optim::AnyOptions optimizer_options_;
  bool begun_ = false;
  bool has_met_ = false;  ///< and others may not go on before everyone has settled
  int64_t started_ = 0;   ///< ns: when the current step's weights had been pulled
};

/// Returns whether all workers make each step together.
bool steps_together(const PsOptions& options);

}  // namespace lockstep::sharing
