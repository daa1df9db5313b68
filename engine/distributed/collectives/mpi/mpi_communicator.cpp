#include "engine/distributed/collectives/mpi/mpi_communicator.h"

#include <fmt/format.h>

#include <chrono>
#include <climits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "engine/distributed/collectives/mpi/load_mpi.h"
#include "engine/distributed/collectives/mpi/mpi_process.h"
#include "engine/distributed/collectives/transport.h"
#include "tracer/record/recorder.h"

namespace lockstep::distributed {

namespace {

constexpr RingWay kWay = RingWay::next;  // of the modelled messages
constexpr const char* kGroup = "default";

MPI_Datatype mpi_type(DType type) {
  switch (type) {
    case DType::f32:
      return MPI_FLOAT;
    case DType::f64:
      return MPI_DOUBLE;
    case DType::i64:
      return MPI_INT64_T;
    case DType::u8:
      return MPI_UINT8_T;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op mpi_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return MPI_SUM;
    case ReduceOp::min:
      return MPI_MIN;
    case ReduceOp::max:
      return MPI_MAX;
  }
  return MPI_OP_NULL;
}

/// Returns the number of elements as MPI wants it.
int count_of(const Buffer& data) {
  if (data.numel <= INT_MAX) return static_cast<int>(data.numel);
  throw std::runtime_error(
      fmt::format("MPI counts elements in 32 bits, and there are {}; fix: use "
                  "--dist-backend ring, or "
                  "a smaller --bucket-cap-mb",
                  data.numel));
}

}  // namespace

MpiCommunicator::MpiCommunicator(const CommunicatorOptions& options)
    : rank_(options.rank), size_(options.size), timeout_(options.timeout) {
  all_ = new_mpi_communicator();
  int rank = 0, size = 1, found = 0;
  int* largest = nullptr;
  check_mpi(MPI_Comm_rank(all_, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(all_, &size), "MPI_Comm_size");
  MPI_Comm_get_attr(all_, MPI_TAG_UB, &largest, &found);
  if (found) largest_tag_ = *largest;
  if (rank == rank_ && size == size_) return;
  leave_mpi_unfinished();
  throw std::runtime_error(fmt::format(
      "this is rank {} of {}, but rank {} of {} in MPI; fix: start the ranks with "
      "`mpirun -np {} ./lockstep train … --dist-url env:// --dist-backend mpi`, "
      "without launch, --rank and --multiprocessing-distributed",
      rank_, size_, rank, size, size_));
}

MpiCommunicator::~MpiCommunicator() {
  if (!is_aborted_) MPI_Comm_free(&all_);
}

void MpiCommunicator::all_reduce(Buffer data, ReduceOp op, const Collective& call) {
  run(data, call, modelled_all_reduce(rank_, size_, data.numel, kWay),
      [&](MPI_Request* request) {
        return MPI_Iallreduce(MPI_IN_PLACE, data.data, count_of(data),
                              mpi_type(data.dtype), mpi_op(op), all_, request);
      });
}

void MpiCommunicator::broadcast(Buffer data, int root, const Collective& call) {
  run(data, call, modelled_tree_broadcast(rank_, size_, root, data.numel),
      [&](MPI_Request* request) {
        return MPI_Ibcast(data.data, count_of(data), mpi_type(data.dtype), root, all_,
                          request);
      });
}

void MpiCommunicator::reduce(Buffer data, int root, ReduceOp op,
                             const Collective& call) {
  run(data, call, modelled_gathering_reduce(rank_, size_, root, data.numel, kWay),
      [&](MPI_Request* request) {
        const bool sends = rank_ != root;  // then `data` is only read
        return MPI_Ireduce(sends ? data.data : MPI_IN_PLACE,
                           sends ? nullptr : data.data, count_of(data),
                           mpi_type(data.dtype), mpi_op(op), root, all_, request);
      });
}

void MpiCommunicator::all_gather(Buffer in, Buffer out, const Collective& call) {
  run(in, call, modelled_all_gather(rank_, size_, in.numel, kWay),
      [&](MPI_Request* request) {
        const MPI_Datatype type = mpi_type(in.dtype);
        return MPI_Iallgather(in.data, count_of(in), type, out.data, count_of(in), type,
                              all_, request);
      });
}

void MpiCommunicator::reduce_scatter(Buffer in, Buffer out, ReduceOp op,
                                     const Collective& call) {
  run(in, call, modelled_all_reduce(rank_, size_, in.numel, kWay),
      [&](MPI_Request* request) {
        return MPI_Ireduce_scatter_block(in.data, out.data, count_of(out),
                                         mpi_type(in.dtype), mpi_op(op), all_, request);
      });
}

void MpiCommunicator::send(Buffer data, int to, const Collective& call) {
  const auto start = [&](MPI_Request* request) {
    return MPI_Isend(data.data, count_of(data), mpi_type(data.dtype), to,
                     static_cast<int>(call.seq % largest_tag_), all_, request);
  };
  run(data, call, {}, start, false);
}

void MpiCommunicator::recv(Buffer data, int from, const Collective& call) {
  const auto start = [&](MPI_Request* request) {
    return MPI_Irecv(data.data, count_of(data), mpi_type(data.dtype), from,
                     static_cast<int>(call.seq % largest_tag_), all_, request);
  };
  run(data, call, {{from, data.numel}}, start, false);
}

void MpiCommunicator::run(const Buffer& data, const Collective& call,
                          const ModelledMessages& messages, const Start& start,
                          bool together) {
  throw_if_aborted();
  const int64_t began = tracer::now_ns();
  try {
    if (data.data && data.numel > 0) {
      if (together) agree(call);
      finish(start, call);
    }
  } catch (const std::exception& error) {
    abort(error.what());  // does nothing if that is what woke us
    throw;
  }
  record_modelled(messages, kGroup, rank_, data.dtype, call, began, tracer::now_ns());
}

void MpiCommunicator::agree(const Collective& call) {
  const auto kind = static_cast<uint32_t>(fnv1a64(call.name));
  const MessageTag mine{call.seq, call.bytes, 0, kind};
  std::vector<MessageTag> all(size_);
  const auto start = [&](MPI_Request* request) {
    return MPI_Iallgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine,
                          MPI_BYTE, all_, request);
  };
  finish(start, call);
  for (int other = 0; other < size_; ++other) {
    if (all[other] == mine) continue;
    throw std::runtime_error(disagreement(rank_, other, call, mine, all[other]));
  }
}

void MpiCommunicator::finish(const Start& start, const Collective& call) {
  const auto until = std::chrono::steady_clock::now() + timeout_;
  MPI_Request request = MPI_REQUEST_NULL;
  const auto check = [&](int code) {
    if (code == MPI_SUCCESS) return;
    throw std::runtime_error(fmt::format("the connection to a rank broke during {}: {}",
                                         str(call), mpi_words(code)));
  };
  check(start(&request));
  for (int done = 0; !done;) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done) return;
    throw_if_aborted();
    if (std::chrono::steady_clock::now() > until) {
      throw std::runtime_error(
          fmt::format("a rank did not reach {} of rank {} within {:g} s", str(call),
                      rank_, static_cast<double>(timeout_.count()) / 1000));
    }
    std::this_thread::yield();
  }
}

void MpiCommunicator::abort(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (is_aborted_) return;
  why_ = why;
  is_aborted_ = true;
  leave_mpi_unfinished();
}

void MpiCommunicator::throw_if_aborted() const {
  if (!is_aborted_) return;
  std::lock_guard lock(mutex_);
  throw std::runtime_error(why_);
}

}  // namespace lockstep::distributed

extern "C" lockstep::distributed::Communicator* lockstep_make_mpi_communicator(
    const lockstep::distributed::CommunicatorOptions& options) {
  return new lockstep::distributed::MpiCommunicator(options);
}
