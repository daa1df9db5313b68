// Collectives by Gloo, PyTorch's library for CPUs, for comparison.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/distributed/collectives/make_communicator.h"
#include "engine/distributed/collectives/modelled_messages.h"

namespace gloo {
class Context;
}

namespace lockstep::distributed {

/// Gloo over TCP, a connection for each pair of ranks. All-reduce is its ring (the one
/// of the newer interface), broadcast a tree, reduce a ring and then a gathering;
/// reduce-scatter is an all-reduce of which only a part is kept, since the newer
/// interface has none. Buffers without data are not exchanged, so ranks without data do
/// not wait for each other.
///
/// Gloo's errors name no rank: Monitor finds it. Gloo does not compare the ranks' calls
/// either: a small all-gather before each collective does that here. Source:
/// gloo/allreduce.cc, gloo/transport/tcp/{pair,unbound_buffer}.cc (May 2022).
class GlooCommunicator : public Communicator {
 public:
  /// Connects to all ranks. Makes the process ignore SIGPIPE unless it handles it: Gloo
  /// writes to broken connections.
  explicit GlooCommunicator(const CommunicatorOptions& options);
  ~GlooCommunicator() override;

  const char* algorithm() const override { return "gloo"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void all_reduce(Buffer data, ReduceOp op, const Collective& call) override;
  void broadcast(Buffer data, int root, const Collective& call) override;
  void reduce(Buffer data, int root, ReduceOp op, const Collective& call) override;
  void all_gather(Buffer in, Buffer out, const Collective& call) override;
  void reduce_scatter(Buffer in, Buffer out, ReduceOp op,
                      const Collective& call) override;
  void send(Buffer data, int to, const Collective& call) override;
  void recv(Buffer data, int from, const Collective& call) override;

  /// Closes all connections, which wakes the calls that wait for a message. A call
  /// whose message has moved in part waits until Gloo's timeout.
  void abort(const std::string& why) override;

 private:
  /// Runs `exchange` unless there is nothing to exchange, translates Gloo's errors, and
  /// records `messages`. `together`: all ranks take part.
  void run(const Buffer& data, const Collective& call, const ModelledMessages& messages,
           const std::function<void()>& exchange, bool together = true);
  void agree(const Collective& call);
  void all_reduce_in_place(Buffer data, ReduceOp op);
  std::string explained(const std::string& what, const Collective& call) const;
  void throw_if_aborted() const;

  const int rank_, size_;
  const Milliseconds timeout_;
  std::shared_ptr<gloo::Context> context_;

  mutable std::mutex mutex_;
  std::optional<std::string> aborted_;
};

}  // namespace lockstep::distributed
