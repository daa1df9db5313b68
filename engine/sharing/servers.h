// The parameter servers of a run, as a worker sees them.
#pragma once

#include <string>
#include <vector>

#include "engine/nn/module.h"
#include "engine/optim/adaptive.h"
#include "engine/sharing/server_access.h"

namespace lockstep::sharing {

using Parameters = std::vector<nn::Named<Tensor>>;

/// What a worker asks of all servers. Implemented by ParameterServers, in the process
/// of the workers, and by RemoteServers, for servers that are processes. `flat` has the
/// elements of all parameters, one after the other, on the worker's device. A call that
/// waits throws std::runtime_error if a worker or a server has failed.
class Servers {
 public:
  virtual ~Servers() = default;

  /// Gives the servers the weights `flat` of all parameters, and the state of their
  /// optimizer. Only the first call counts: all workers begin with the same. Throws
  /// std::runtime_error if there are more servers than keys.
  virtual void begin(const Parameters& parameters, const Tensor& flat,
                     const optim::AnyOptions& optimizer, const Parameters& state) = 0;
  virtual bool has_begun() const = 0;

  /// Sends each server its part of the gradients `flat`. Returns when they have arrived
  /// and the updates that they caused are made, or enqueued before all that is pulled
  /// later; `flat` may then be changed.
  virtual void push(int worker, const Tensor& flat, double lr) = 0;
  /// Waits until the worker may go on, then has the weights sent to `flat`.
  virtual void pull(int worker, const Tensor& flat) = 0;

  /// Waits until all workers have called it. Returns whether one of them passed `stop`
  /// or has left.
  virtual bool meet(bool stop) = 0;
  /// The worker makes no more steps, and nobody waits for it.
  virtual void leave(int worker) = 0;
  /// The worker waits for others outside the servers, such as where recording begins:
  /// meanwhile nobody waits for it. With backup workers, an update that the others wait
  /// for may then be the mean of fewer gradients.
  virtual void pause(int worker) = 0;
  virtual void resume(int worker) = 0;

  /// Returns the optimizer's state, as from Optimizer::state(), in host memory.
  virtual Parameters state() const = 0;
  virtual size_t size() const = 0;
  /// Returns the peak bytes of the servers' devices, after all workers have left, if
  /// servers are processes; otherwise this process knows them.
  virtual std::vector<int64_t> peaks() const { return {}; }
  virtual const PsOptions& options() const = 0;
};

}  // namespace lockstep::sharing
