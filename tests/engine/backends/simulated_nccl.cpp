#include "tests/engine/backends/simulated_nccl.h"

#include <unistd.h>

#include <cstring>
#include <list>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/backends/cuda/plans/table.h"
#include "engine/distributed/collectives/modelled_messages.h"
#include "engine/runtime/device_context.h"
#include "tests/engine/backends/host_machine.h"
#include "tests/engine/backends/simulated_gpu.h"
#include "tests/engine/backends/simulated_queue.h"

namespace lockstep::test {

using distributed::Buffer;
using distributed::Collective;
using distributed::RingWay;

void Meeting::join(size_t i, Part part, Act act) {
  FakeQueue::current().launch([this, i, part, act = std::move(act)] {
    std::unique_lock lock(mutex_);
    if (aborted_[i]) return;
    parts_[i] = part;
    if (++there_ == parts_.size()) {
      act(parts_);
      there_ = 0;
      ++calls_;
      changed_.notify_all();
    } else {
      changed_.wait(lock,
                    [this, i, now = calls_] { return calls_ != now || aborted_[i]; });
    }
  });
}

void Meeting::abort(size_t i) {
  const std::lock_guard lock(mutex_);
  aborted_[i] = true;
  changed_.notify_all();
}

namespace {

using Parts = std::vector<Meeting::Part>;

Meeting::Part in_place(void* data) {
  return {static_cast<char*>(data), static_cast<char*>(data)};
}

Meeting::Act send_from(size_t root, size_t bytes) {
  return [root, bytes](const Parts& parts) {
    for (size_t to = 0; to < parts.size(); ++to) {
      if (to != root) std::memcpy(parts[to].out, parts[root].in, bytes);
    }
  };
}

/// In the root's memory, `from` bytes after its start.
void sum_up(const Parts& parts, size_t root, size_t from, int64_t numel, DType dtype,
            ReduceOp op) {
  for (size_t r = 0; r < parts.size(); ++r) {
    if (r == root) continue;
    cuda::reduce_elements<HostMachine>(parts[root].in + from, parts[r].in + from, numel,
                                       dtype, op);
  }
}

class FakeGroup : public parallel::DeviceGroup {
 public:
  void broadcast(size_t i, void* data, int64_t numel, DType dtype) override {
    meeting_.join(i, in_place(data), send_from(0, numel * item_size(dtype)));
  }
  void reduce(size_t i, void* data, int64_t numel, DType dtype) override {
    meeting_.join(i, in_place(data), [numel, dtype](const Parts& parts) {
      sum_up(parts, 0, 0, numel, dtype, ReduceOp::sum);
    });
  }

 private:
  Meeting meeting_{kGpus};
};

class FakeCommunicator : public distributed::Communicator {
 public:
  FakeCommunicator(std::shared_ptr<Meeting> meeting, int rank, int size)
      : meeting_(std::move(meeting)), rank_(rank), size_(size) {}
  const char* algorithm() const override { return "nccl"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void all_reduce(Buffer data, ReduceOp op, const Collective& call) override {
    run(call, data.dtype, modelled_all_reduce(rank_, size_, data.numel, RingWay::next),
        in_place(data.data), [data, op](const Parts& parts) {
          sum_up(parts, 0, 0, data.numel, data.dtype, op);
          send_from(0, data.bytes())(parts);
        });
  }
  void broadcast(Buffer data, int root, const Collective& call) override {
    distributed::ModelledMessages messages;
    if (rank_ != root) messages.push_back({(rank_ + size_ - 1) % size_, data.numel});
    run(call, data.dtype, messages, in_place(data.data), send_from(root, data.bytes()));
  }
  void reduce(Buffer data, int root, ReduceOp op, const Collective& call) override {
    distributed::ModelledMessages messages;
    const int before = (rank_ + size_ - 1) % size_;
    if (before != root) messages.push_back({before, data.numel});
    run(call, data.dtype, messages, in_place(data.data),
        [data, root, op](const Parts& parts) {
          sum_up(parts, root, 0, data.numel, data.dtype, op);
        });
  }
  void all_gather(Buffer in, Buffer out, const Collective& call) override {
    run(call, in.dtype, modelled_all_gather(rank_, size_, in.numel, RingWay::next),
        {static_cast<char*>(in.data), static_cast<char*>(out.data)},
        [bytes = in.bytes()](const Parts& parts) {
          for (const Meeting::Part& to : parts) {
            for (size_t r = 0; r < parts.size(); ++r) {
              std::memcpy(to.out + r * bytes, parts[r].in, bytes);
            }
          }
        });
  }
  void reduce_scatter(Buffer, Buffer, ReduceOp, const Collective& call) override {
    refuse(call);
  }
  void send(Buffer, int, const Collective& call) override { refuse(call); }
  void recv(Buffer, int, const Collective& call) override { refuse(call); }
  void abort(const std::string& why) override {
    runtime::context({DeviceType::cuda, rank_}).poison("collective", why);
    meeting_->abort(rank_);
  }

 private:
  void run(const Collective& call, DType dtype,
           const distributed::ModelledMessages& messages, Meeting::Part part,
           Meeting::Act act) {
    FakeQueue& queue = FakeQueue::current();
    const runtime::MarkPtr began = call.recorded() ? queue.mark(true) : nullptr;
    meeting_->join(rank_, part, std::move(act));
    if (!began) return;
    const runtime::MarkPtr ended = queue.mark(true);
    ended->wait();
    record_modelled(messages, "default", rank_, dtype, call, began->time(),
                    ended->time());
  }
  [[noreturn]] static void refuse(const Collective& call) {
    throw std::runtime_error(std::string(call.name) + " is not simulated");
  }

  const std::shared_ptr<Meeting> meeting_;
  const int rank_, size_;
};

}  // namespace

std::unique_ptr<parallel::DeviceGroup> simulated_device_group(
    const std::vector<Device>& devices) {
  if (devices.size() != kGpus) return nullptr;
  return std::make_unique<FakeGroup>();
}

std::unique_ptr<distributed::Communicator> simulated_communicator(
    const distributed::CommunicatorOptions& options) {
  if (options.size != static_cast<int>(kGpus)) return nullptr;
  distributed::PrefixStore store("simulated nccl", options.store);
  std::vector<std::string> keys;
  for (int r = 0; r < options.size; ++r) keys.push_back(std::to_string(r));
  const std::string process = std::to_string(::getpid());
  store.set(keys[options.rank], process);
  store.wait(keys, options.timeout);
  for (const std::string& key : keys) {
    if (store.get(key) != process) return nullptr;
  }
  if (options.rank == 0) {
    static std::mutex mutex;
    static auto* const meetings = new std::list<std::shared_ptr<Meeting>>;
    std::lock_guard lock(mutex);
    const auto* meeting = &meetings->emplace_back(std::make_shared<Meeting>(kGpus));
    store.set("meeting", std::to_string(reinterpret_cast<uintptr_t>(meeting)));
  }
  store.wait({"meeting"}, options.timeout);
  const auto* const meeting = reinterpret_cast<const std::shared_ptr<Meeting>*>(
      std::stoull(store.get("meeting")));
  return std::make_unique<FakeCommunicator>(*meeting, options.rank, options.size);
}

}  // namespace lockstep::test
