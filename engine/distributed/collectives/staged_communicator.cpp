#include "engine/distributed/collectives/staged_communicator.h"

#include <vector>

#include "engine/backends/backend.h"

namespace lockstep::distributed {

/// A host copy of a device buffer.
class StagedCommunicator::OnHost {
 public:
  OnHost(const Buffer& there, Device device)
      : there_(there),
        device_(device),
        driver_(*backend_of(device.type).driver()),
        bytes_(there.bytes()) {}

  /// Returns the host copy, for the inner communicator.
  Buffer here() { return {bytes_.data(), there_.numel, there_.dtype}; }
  Buffer fetched() {
    driver_.copy(bytes_.data(), kHost, there_.data, device_, bytes_.size());
    return here();
  }
  /// Waits until the device's queue reaches this collective, which must not start
  /// before its dependencies are done; then returns the host copy, to be overwritten.
  Buffer awaited() {
    mark_queue(device_)->wait();
    return here();
  }
  void store() {
    driver_.copy(there_.data, device_, bytes_.data(), kHost, bytes_.size());
  }

 private:
  const Buffer there_;
  const Device device_;
  runtime::Driver& driver_;
  std::vector<char> bytes_;
};

StagedCommunicator::StagedCommunicator(std::unique_ptr<Communicator> inner,
                                       Device device)
    : inner_(std::move(inner)), device_(device) {}

void StagedCommunicator::all_reduce(Buffer data, ReduceOp op, const Collective& call) {
  OnHost copy(data, device_);
  inner_->all_reduce(copy.fetched(), op, call);
  copy.store();
}

void StagedCommunicator::broadcast(Buffer data, int root, const Collective& call) {
  OnHost copy(data, device_);
  inner_->broadcast(rank() == root ? copy.fetched() : copy.awaited(), root, call);
  if (rank() != root) copy.store();
}

void StagedCommunicator::reduce(Buffer data, int root, ReduceOp op,
                                const Collective& call) {
  OnHost copy(data, device_);
  inner_->reduce(copy.fetched(), root, op, call);
  if (rank() == root) copy.store();
}

void StagedCommunicator::all_gather(Buffer in, Buffer out, const Collective& call) {
  OnHost from(in, device_), to(out, device_);
  inner_->all_gather(from.fetched(), to.here(), call);
  to.store();
}

void StagedCommunicator::reduce_scatter(Buffer in, Buffer out, ReduceOp op,
                                        const Collective& call) {
  OnHost from(in, device_), to(out, device_);
  inner_->reduce_scatter(from.fetched(), to.here(), op, call);
  to.store();
}

void StagedCommunicator::send(Buffer data, int to, const Collective& call) {
  OnHost copy(data, device_);
  inner_->send(copy.fetched(), to, call);
}

void StagedCommunicator::recv(Buffer data, int from, const Collective& call) {
  OnHost copy(data, device_);
  inner_->recv(copy.awaited(), from, call);
  copy.store();
}

std::unique_ptr<Communicator> reach_device(std::unique_ptr<Communicator> communicator,
                                           Device device) {
  if (device.is_host() || !backend_of(device.type).driver()) return communicator;
  return std::make_unique<StagedCommunicator>(std::move(communicator), device);
}

}  // namespace lockstep::distributed
