// Collectives staged through host memory, for device memory the host cannot read.
#pragma once

#include <memory>

#include "engine/distributed/collectives/communicator.h"
#include "engine/runtime/driver.h"

namespace lockstep::distributed {

/// Copies a device's part of each collective to main memory, runs `inner` (a ring or
/// Gloo) there, and copies the result back. Used for CUDA devices in several processes
/// if NCCL is not available. Must be called by the worker of the device's comm stream.
class StagedCommunicator : public Communicator {
 public:
  StagedCommunicator(std::unique_ptr<Communicator> inner, Device device);

  const char* algorithm() const override { return inner_->algorithm(); }
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }

  void all_reduce(Buffer data, ReduceOp op, const Collective& call) override;
  void broadcast(Buffer data, int root, const Collective& call) override;
  void reduce(Buffer data, int root, ReduceOp op, const Collective& call) override;
  void all_gather(Buffer in, Buffer out, const Collective& call) override;
  void reduce_scatter(Buffer in, Buffer out, ReduceOp op,
                      const Collective& call) override;
  void send(Buffer data, int to, const Collective& call) override;
  void recv(Buffer data, int from, const Collective& call) override;
  void abort(const std::string& why) override { inner_->abort(why); }

 private:
  class OnHost;

  std::unique_ptr<Communicator> inner_;
  const Device device_;
};

/// Returns `communicator`, or a StagedCommunicator around it if `device` needs one.
std::unique_ptr<Communicator> reach_device(std::unique_ptr<Communicator> communicator,
                                           Device device);

}  // namespace lockstep::distributed
