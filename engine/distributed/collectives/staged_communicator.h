// Collectives of the host's memory, for devices whose memory the host cannot read.
#pragma once

#include <memory>

#include "engine/distributed/collectives/communicator.h"
#include "engine/runtime/driver.h"

namespace lockstep::distributed {

/// Copies a device's part of each collective to main memory, lets `inner` (a ring,
/// Gloo) do its work there, and copies the result back: for CUDA devices of other
/// processes, where NCCL cannot be used. Calls come from the comm stream's worker of
/// that device.
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

/// `communicator`, or one around it where `device` needs it.
std::unique_ptr<Communicator> reach_device(std::unique_ptr<Communicator> communicator,
                                           Device device);

}  // namespace lockstep::distributed
