// The simplest store: a table in memory, for ranks that are threads of one process.
#pragma once

#include <condition_variable>
#include <mutex>

#include "engine/distributed/rendezvous/key_values.h"
#include "engine/distributed/rendezvous/members.h"
#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

/// All ranks share one object, so leave() is all ranks' leave.
/// Source: torch/csrc/distributed/c10d/HashStore.cpp.
class HashStore : public Store {
 public:
  using Store::get;
  using Store::Store;
  using Store::wait;

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key, Milliseconds timeout) override;
  std::optional<std::string> try_get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t amount) override;
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override;
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override;
  bool remove(const std::string& key) override;
  void join(int rank, int world_size) override;
  void leave() override {}  // nobody outlives this object, or would learn of it
  std::string describe() const override { return "hash store"; }

 private:
  /// Waits for `keys` with `lock` held whenever it looks.
  void wait_for(std::unique_lock<std::mutex>& lock,
                const std::vector<std::string>& keys, Milliseconds timeout);

  std::mutex mutex_;  // guards the three below
  std::condition_variable changed_;
  store::KeyValues values_;
  store::Members members_;
};

}  // namespace lockstep::distributed
