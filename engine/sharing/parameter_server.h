// One parameter server: it owns a range of the model's keys, with their weights and
// their optimizer, on a device of its own.
#pragma once

#include <map>
#include <memory>

#include "engine/optim/adaptive.h"
#include "engine/plan/key_ranges.h"
#include "engine/runtime/stream.h"
#include "engine/sharing/servers.h"
#include "engine/sharing/update_rule.h"

namespace lockstep::sharing {

/// A gradient that is on its way to a server.
struct Sent {
  UpdateRule::Push push;
  runtime::EventPtr arrived;  ///< signalled when it, and the update if any, are done
};

/// A server is no thread: what it does for a request is enqueued on its device by the
/// worker that makes the request, as a handler of remote calls would; its device's
/// streams then run it, one request after the other. Its members must not be called
/// concurrently. Tensors of workers are flat and hold only this server's keys.
class ParameterServer {
 public:
  ParameterServer(int index, Device device, int workers, const PsOptions& options);

  /// Takes over the weights `flat` of the keys `range` of `parameters`, with the
  /// optimizer's `state` of whole parameters, as from Optimizer::state().
  void begin(const Parameters& parameters, const plan::KeyRange& range,
             const Tensor& flat, const optim::AnyOptions& optimizer,
             const Parameters& state);

  /// Receives the worker's gradients and updates the weights if an update is due.
  Sent push(int worker, const Tensor& flat, double lr);
  /// The same for a gradient that is on this server's device when `arrived` happens.
  Sent take(int worker, const Tensor& gradient, runtime::EventPtr arrived, double lr);
  void finish(int worker, const UpdateRule::Push& push) { rule_.finish(worker, push); }
  /// Sends the weights to the worker. Returns their version.
  int64_t pull(int worker, const Tensor& flat);
  /// The worker is sent weights() in another way. Returns their version.
  int64_t read(int worker) { return rule_.pull(worker); }
  const Tensor& weights() const { return weights_; }
  void leave(int worker) { rule_.leave(worker); }
  void come_back(int worker) { rule_.come_back(worker); }
  /// Makes the update that has become due because a worker left.
  void make_due_update(int worker);

  const UpdateRule& rule() const { return rule_; }
  int index() const { return index_; }
  Device device() const { return device_; }
  const plan::KeyRange& range() const { return range_; }

  /// Copies the optimizer's state of this server's pieces into `whole`: host tensors by
  /// name, which are created if they are absent. Waits for the device.
  void read_state(std::map<std::string, Tensor>& whole) const;
  /// Returns the optimizer's state of this server's pieces, each flat.
  Parameters state() const { return optimizer_->state(); }

 private:
  void update(const UpdateRule::Push& push, int worker);
  Tensor sum_of(const std::vector<int>& workers, double scale);

  const int index_;
  const Device device_;
  const bool is_sync_;
  UpdateRule rule_;
  plan::KeyRange range_;
  std::vector<plan::Piece> pieces_;
  Parameters parameters_;  ///< whole ones, of a worker: names and shapes
  Tensor weights_;         ///< of all pieces, flat
  Parameters views_;       ///< the pieces of `weights_`, named as the parameters
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::map<int, Tensor> gradients_;  ///< by worker: arrived and not yet used
  double lr_ = 0;
};

}  // namespace lockstep::sharing
