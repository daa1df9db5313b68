// Ranks as threads of the test, each with a separate device and process group.
#pragma once

#include <exception>
#include <mutex>
#include <thread>

#include "engine/distributed/collectives/local_transport.h"
#include "engine/distributed/collectives/process_group.h"
#include "engine/distributed/collectives/ring.h"
#include "engine/distributed/collectives/staged_communicator.h"
#include "engine/distributed/collectives/tcp_transport.h"
#include "engine/distributed/rendezvous/store.h"
#include "engine/nn/init.h"
#include "tests/engine/values.h"

namespace lockstep::test {

using distributed::ProcessGroup;
using distributed::ReduceOp;
using GroupPtr = std::shared_ptr<ProcessGroup>;

/// The transport of messages: memory to memory, or sockets on 127.0.0.1.
enum class Wire { local, tcp };

inline const char* name(Wire wire) { return wire == Wire::local ? "local" : "tcp"; }

struct World {
  int size = 1;
  Wire wire = Wire::local;
  DeviceType type = DeviceType::reference;
  Milliseconds timeout{20'000};  ///< so that a deadlock fails the test
};

/// The argument of a rank's function.
struct Rank {
  int rank = 0, size = 1;
  Device device;
  GroupPtr group;
  std::vector<GroupPtr> everyone;  ///< all ranks' groups, for aborting them
};

inline std::vector<GroupPtr> make_groups(const World& world) {
  const auto hub = std::make_shared<distributed::LocalHub>(world.size);
  const auto store = std::make_shared<distributed::HashStore>(world.timeout);
  std::vector<GroupPtr> groups;
  for (int r = 0; r < world.size; ++r) {
    const auto ring = [&](std::unique_ptr<distributed::Transport> transport) {
      return std::make_unique<distributed::Ring>(std::move(transport), r, world.size,
                                                 "default");
    };
    std::unique_ptr<distributed::Communicator> communicator;
    if (world.wire == Wire::local) {
      communicator =
          ring(std::make_unique<distributed::LocalTransport>(hub, r, world.timeout));
    } else {
      communicator = distributed::reach_device(
          ring(std::make_unique<distributed::TcpTransport>(store, "127.0.0.1", r,
                                                           world.size, world.timeout)),
          {world.type, r});
    }
    groups.push_back(std::make_shared<ProcessGroup>(std::move(communicator)));
  }
  return groups;
}

/// Each rank's exception; null if there is none.
struct Failures {
  std::vector<std::exception_ptr> by_rank;
  std::exception_ptr first;
};

/// Runs `function(Rank&)` on all ranks. With `aborts`, a failing rank wakes the ranks
/// that wait for it. Afterwards all devices are idle and without errors.
template <typename Function>
Failures try_ranks(const World& world, Function function, bool aborts) {
  const std::vector<GroupPtr> groups = make_groups(world);
  const nn::Construction construction = nn::construction();
  Failures failures{std::vector<std::exception_ptr>(world.size), nullptr};
  std::mutex mutex;
  const auto fail = [&](int rank, const std::string& why) {
    {
      std::lock_guard lock(mutex);
      failures.by_rank[rank] = std::current_exception();
      if (!failures.first) failures.first = failures.by_rank[rank];
    }
    if (!aborts) return;
    for (const GroupPtr& group : groups) {
      group->communicator().abort("rank " + std::to_string(rank) + " failed: " + why);
    }
  };
  const auto run = [&](int r) {
    tracer::set_rank(r);
    tracer::claim_device(r, r);
    nn::construction() = construction;
    Rank rank{r, world.size, {world.type, r}, groups[r], groups};
    try {
      function(rank);
      runtime::context(rank.device).synchronize();
    } catch (const std::exception& error) {
      fail(r, error.what());
    }
  };
  std::vector<std::thread> threads;
  for (int r = 0; r < world.size; ++r) threads.emplace_back(run, r);
  for (std::thread& thread : threads) thread.join();
  for (int r = 0; r < world.size; ++r) {  // clears the errors of poisoned devices
    message_of([&] { runtime::context({world.type, r}).synchronize(); });
  }
  return failures;
}

/// Like `try_ranks` with `aborts`; throws the first failure.
template <typename Function>
void on_ranks(const World& world, Function function) {
  const Failures failures = try_ranks(world, function, true);
  if (failures.first) std::rethrow_exception(failures.first);
}

/// Returns each rank's error message, "" if none, when ranks do not abort each other.
template <typename Function>
std::vector<std::string> messages_of_ranks(const World& world, Function function) {
  std::vector<std::string> messages;
  for (const std::exception_ptr& failure : try_ranks(world, function, false).by_rank) {
    messages.push_back(message_of([&] {
      if (failure) std::rethrow_exception(failure);
    }));
  }
  return messages;
}

}  // namespace lockstep::test
