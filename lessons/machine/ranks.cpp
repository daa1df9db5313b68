#include "lessons/machine/ranks.h"

#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/distributed/collectives/local_transport.h"
#include "engine/distributed/collectives/ring.h"
#include "engine/ops/copy.h"
#include "engine/runtime/device_context.h"
#include "engine/tensor/tensor.h"
#include "lessons/plugin.h"
#include "tracer/record/recorder.h"

namespace lockstep::lessons {
namespace {

using distributed::ProcessGroup;
using Groups = std::vector<std::shared_ptr<ProcessGroup>>;

constexpr Milliseconds kTimeout{15'000};

Groups make_groups(int size) {
  const auto hub = std::make_shared<distributed::LocalHub>(size);
  Groups groups;
  for (int r = 0; r < size; ++r) {
    groups.push_back(std::make_shared<ProcessGroup>(std::make_unique<distributed::Ring>(
        std::make_unique<distributed::LocalTransport>(hub, r, kTimeout), r, size,
        "default")));
  }
  return groups;
}

void meet_at_the_end(const Rank& rank) {
  const Tensor end = ops::copy_to(counting({1009}), rank.device, {"h2d", "the end"});
  distributed::CollectiveLabel label;
  label.tensor = "the end of this test";
  rank.group->all_reduce(end, distributed::ReduceOp::sum, label);
  runtime::context(rank.device).synchronize();
}

/// Ensures that no work is pending when the groups are destroyed.
void wait_for_devices(int count) {
  for (int r = 0; r < count; ++r) {
    try {
      runtime::context({DeviceType::reference, r}).synchronize();
    } catch (const std::exception&) {  // already reported by a rank
    }
  }
}

/// Returns the first exception of a rank, or null.
std::exception_ptr run(int size, const std::function<void(Rank&)>& work) {
  const Groups groups = make_groups(size);
  std::mutex mutex;
  std::exception_ptr first;
  const auto one = [&](int r) {
    tracer::set_rank(r);
    tracer::claim_device(r, r);
    Rank rank{r, size, {DeviceType::reference, r}, groups[r]};
    try {
      work(rank);
      meet_at_the_end(rank);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      for (const auto& group : groups) {
        group->communicator().abort("another rank failed");
      }
    }
  };
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) threads.emplace_back(one, r);
  for (std::thread& thread : threads) thread.join();
  wait_for_devices(size);
  return first;
}

}  // namespace

void on_ranks(int size, const std::string& expected, const Because& because,
              const std::function<void(Rank&)>& work) {
  const std::exception_ptr failure = run(size, work);
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const NotWritten&) {
    throw;
  } catch (const UndefinedTensor&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw Wrong{fmt::format("{} ranks", size), expected, error.what(), because};
  }
}

void HeadStart::rank_0_is_ahead() {
  const std::lock_guard lock(mutex_);
  ++steps_;
  changed_.notify_all();
}

void HeadStart::wait_for_rank_0(int step) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, Milliseconds(300), [&] { return steps_ > step; });
  }
  std::this_thread::sleep_for(Milliseconds(30));  // its device runs what it can
}

}  // namespace lockstep::lessons
