// A store within a store: every key gets a prefix, so that several users of one store
// (process groups, say) do not meet.
#pragma once

#include <memory>

#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

/// Membership is the whole store's, not the prefix's: join, leave and linger go through
/// as they are, and gone_key(rank) is found in underlying(), not here.
/// Source: torch/csrc/distributed/c10d/PrefixStore.cpp.
class PrefixStore : public Store {
 public:
  PrefixStore(std::string prefix, std::shared_ptr<Store> store);

  using Store::get;
  using Store::wait;

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key, Milliseconds timeout) override;
  std::optional<std::string> try_get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t amount) override;
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override;
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override;
  bool remove(const std::string& key) override;
  void join(int rank, int world_size) override { store_->join(rank, world_size); }
  void leave() override { store_->leave(); }
  void linger(Milliseconds timeout) override { store_->linger(timeout); }
  std::string describe() const override;

  const std::shared_ptr<Store>& underlying() const { return store_; }

 private:
  std::string joined(const std::string& key) const { return prefix_ + "/" + key; }

  const std::string prefix_;
  const std::shared_ptr<Store> store_;
};

}  // namespace lockstep::distributed
