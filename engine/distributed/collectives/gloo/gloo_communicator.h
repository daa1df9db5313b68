// Collectives using Gloo, PyTorch's library for CPUs, for comparison.
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

/// Uses Gloo over TCP, with one connection per pair of ranks. All-reduce is Gloo's ring
/// (that of its newer interface), broadcast is a tree, and reduce is a ring followed by
/// a gather. Reduce-scatter, which the newer interface lacks, is an all-reduce of which
/// only one part is kept. Buffers without data are not exchanged, so ranks do not wait
/// for each other in such calls.
///
/// Gloo's errors do not name a rank; Monitor identifies it. Gloo does not compare the
/// ranks' calls either, so each collective is preceded by a small all-gather that does.
/// Source: gloo/allreduce.cc, gloo/transport/tcp/{pair,unbound_buffer}.cc (May 2022).
class GlooCommunicator : public Communicator {
 public:
  /// Connects to all ranks. Makes the process ignore SIGPIPE unless it has a handler,
  /// because Gloo writes to broken connections.
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

  /// Closes all connections, which wakes calls waiting for a message. A call whose
  /// message has been partly transferred blocks until Gloo's timeout.
  void abort(const std::string& why) override;

 private:
  /// Runs `exchange` unless there is no data to exchange, translates Gloo's errors, and
  /// records `messages`. `together`: whether all ranks take part.
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
