// Collectives by MPI, as torch.distributed's backend of the same name.
#pragma once

#include <mpi.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "engine/distributed/collectives/make_communicator.h"
#include "engine/distributed/collectives/modelled_messages.h"

namespace lockstep::distributed {

/// Uses MPI's collectives that do not block, and polls them: one that blocks can
/// neither be aborted nor time out, and would hold a core. Buffers without data are not
/// exchanged, so ranks do not wait for each other in such calls.
///
/// MPI does not compare the ranks' calls, so each collective is preceded by a small
/// all-gather that does. It chooses an algorithm for each size and does not report its
/// messages: the trace contains those of a ring, marked `modelled`.
/// Source: the MPI standard 3.1, chapter 5; torch/csrc/distributed/c10d/
/// ProcessGroupMPI.cpp.
class MpiCommunicator : public Communicator {
 public:
  /// Throws std::runtime_error if MPI's rank and size differ from those of `options`.
  explicit MpiCommunicator(const CommunicatorOptions& options);
  ~MpiCommunicator() override;

  const char* algorithm() const override { return "mpi"; }
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
  void abort(const std::string& why) override;

 private:
  /// A call of MPI that starts an exchange and returns MPI's code.
  using Start = std::function<int(MPI_Request*)>;

  /// Runs the exchange unless there is no data, and records `messages`; aborts if it
  /// fails. `together`: whether all ranks take part.
  void run(const Buffer& data, const Collective& call, const ModelledMessages& messages,
           const Start& start, bool together = true);
  void agree(const Collective& call);
  /// Throws if the exchange fails, takes longer than the time-out, or is aborted.
  void finish(const Start& start, const Collective& call);
  void throw_if_aborted() const;

  const int rank_, size_;
  const Milliseconds timeout_;
  MPI_Comm all_ = MPI_COMM_NULL;
  int largest_tag_ = 32767;
  std::atomic<bool> is_aborted_ = false;
  mutable std::mutex mutex_;
  std::string why_;  ///< it was aborted
};

}  // namespace lockstep::distributed
