#include "run/shared_mapping.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "base/shared_memory.h"

namespace lockstep::run {
namespace {

using Memory = std::shared_ptr<SharedMemory>;

class Mapping {
 public:
  Mapping(std::shared_ptr<distributed::Store> store, const RankPlace& place,
          Milliseconds timeout)
      : store_(std::move(store)),
        rank_(place.rank),
        world_(place.world),
        timeout_(timeout) {}

  std::shared_ptr<char[]> share(size_t bytes, const std::function<void(char*)>& fill) {
    const std::string key = fmt::format("memory/{}", next_++);
    const Memory memory = rank_ == 0 ? create(key, bytes, fill) : open(key, bytes);
    return {memory, memory->data()};
  }

 private:
  /// The memory has no name, so nothing is left of it when the last rank has ended.
  Memory create(const std::string& key, size_t bytes,
                const std::function<void(char*)>& fill) {
    auto memory = std::make_shared<SharedMemory>(SharedMemory::create(bytes));
    fill(memory->data());
    store_->set(key, memory->address());
    for (int rank = 1; rank < world_; ++rank) {
      try {
        store_->get(mapped(key, rank), timeout_);
      } catch (const distributed::StoreTimeout&) {
        throw late(rank);
      }
    }
    memory->seal();
    return memory;
  }

  Memory open(const std::string& key, size_t bytes) {
    std::string address;
    try {
      address = store_->get(key, timeout_);
    } catch (const distributed::StoreTimeout&) {
      throw late(0);
    }
    auto memory = std::make_shared<SharedMemory>(SharedMemory::open(address, bytes));
    store_->set(mapped(key, rank_), "mapped");
    return memory;
  }

  static std::string mapped(const std::string& key, int rank) {
    return fmt::format("{}/{}", key, rank);
  }

  std::runtime_error late(int rank) const {
    return std::runtime_error(
        fmt::format("rank {} did not reach the mapping of shared memory within {:g} s",
                    rank, static_cast<double>(timeout_.count()) / 1000));
  }

  const std::shared_ptr<distributed::Store> store_;
  const int rank_, world_;
  const Milliseconds timeout_;
  int next_ = 0;
};

}  // namespace

sharing::ShareMemory among_processes(std::shared_ptr<distributed::Store> store,
                                     const RankPlace& place, Milliseconds timeout) {
  const auto mapping = std::make_shared<Mapping>(std::move(store), place, timeout);
  return [mapping](size_t bytes, const std::function<void(char*)>& fill) {
    return mapping->share(bytes, fill);
  };
}

}  // namespace lockstep::run
