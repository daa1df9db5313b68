// The store: keys and values that every process of a run can read and write.
//
// Processes use it to find each other before they can communicate: each sets its own
// address and waits for the others'. Equivalent to PyTorch's torch.distributed.Store.
// This file has the interface, the in-memory store and the prefix store; file_store.h
// and tcp_store.h have the others. Source: torch/csrc/distributed/c10d/Store.hpp.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "engine/distributed/rendezvous/heartbeats.h"
#include "engine/distributed/rendezvous/table.h"

namespace lockstep::distributed {

/// PyTorch's default store timeout.
inline constexpr Milliseconds kDefaultStoreTimeout = std::chrono::seconds(300);

/// Thrown if keys were not set in time. Names the keys, the store and the timeout.
class StoreTimeout : public std::runtime_error {
 public:
  StoreTimeout(std::vector<std::string> keys, const std::string& store,
               Milliseconds timeout);
  const std::vector<std::string>& keys() const { return keys_; }
  Milliseconds timeout() const { return timeout_; }

 private:
  std::vector<std::string> keys_;
  Milliseconds timeout_;
};

/// Thrown if the process that hosts the store has ended or does not respond.
class StoreGone : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Returns the key that a TCP store sets if it loses the connection to a member.
std::string gone_key(int rank);

/// Returns the key in which a rank tells the others why it failed.
std::string failed_key(int rank);

/// Keys and values may contain any bytes. Thread-safe: a waiting thread does not block
/// others. Besides the errors documented below, all calls throw StoreGone, and
/// std::runtime_error if the store is damaged or if a single call would transfer more
/// than store::kMaxBody (1 MiB).
class Store {
 public:
  explicit Store(Milliseconds timeout = kDefaultStoreTimeout) : timeout_(timeout) {}
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  virtual void set(const std::string& key, const std::string& value) = 0;

  /// Returns the value of the key, waiting for it for at most `timeout` (if 0 or less,
  /// checks once). Throws StoreTimeout.
  virtual std::string get(const std::string& key, Milliseconds timeout) = 0;
  std::string get(const std::string& key) { return get(key, timeout_); }

  /// Returns the value of the key, or nullopt if it is not set. Does not wait.
  virtual std::optional<std::string> try_get(const std::string& key) = 0;

  /// Atomically adds `amount` to a counter and returns the sum. A key that is not set
  /// counts as 0; the value is decimal text. Throws std::runtime_error if the value is
  /// not a number, or if the sum does not fit into 64 bits.
  virtual int64_t add(const std::string& key, int64_t amount) = 0;

  /// Waits until all keys are set. Throws StoreTimeout naming the keys that are not.
  virtual void wait(const std::vector<std::string>& keys, Milliseconds timeout) = 0;
  void wait(const std::vector<std::string>& keys) { wait(keys, timeout_); }

  /// Atomically sets the key to `desired` if its value is `expected`, or if the key is
  /// not set and `expected` is empty. Returns the resulting value, or `expected` if
  /// there is none (as in PyTorch).
  virtual std::string compare_set(const std::string& key, const std::string& expected,
                                  const std::string& desired) = 0;

  /// Removes the key and returns whether it was set. PyTorch's delete_key.
  virtual bool remove(const std::string& key) = 0;

  /// Tells that a rank lives, and returns what the store knows of all ranks: one
  /// request, whatever their number. Uses gone_key() and failed_key(). By default, a
  /// store knows nothing.
  virtual Health beat(const Beat& /*mine*/) { return {}; }

  /// Adds rank `rank` of a world of `world_size` as a member. Throws std::runtime_error
  /// if the rank is out of range or has joined before (even if it has left), or if
  /// another member's world size differs; the message names both processes.
  virtual void join(int rank, int world_size) = 0;

  /// Ends the membership of all ranks that joined through this object. Called by
  /// destructors, except during stack unwinding: in that case the rank has failed, and
  /// a TCP store notifies the others through gone_key(rank). A rank that exits because
  /// *another* rank failed should call leave() so that only the culprit is named. Does
  /// not throw if the store is gone.
  virtual void leave() = 0;

  /// In the process that hosts the store, waits for at most `timeout` until every other
  /// member has left or is gone, so that they can still read what they need. Should be
  /// called after leave(), before the process exits. Elsewhere, returns immediately.
  virtual void linger(Milliseconds /*timeout*/) {}

  /// Returns this machine's address as it is seen through the store: the one by which
  /// this process reaches the store's host or, in the host itself, the one by which
  /// another machine has reached it. "" if unknown, as in a file store.
  virtual std::string own_address() const { return ""; }

  /// In the process that hosts the store, returns a sentence on the last process that
  /// it did not let in, for a message about one that is missing; "" if there is none.
  virtual std::string refusal() const { return ""; }

  /// Returns the store's name for messages, for example "tcp://127.0.0.1:2345".
  virtual std::string describe() const = 0;

  Milliseconds timeout() const { return timeout_; }
  /// Changes it, for example when all have met. Call it before other threads use the
  /// store.
  void set_timeout(Milliseconds timeout) { timeout_ = timeout; }

 private:
  Milliseconds timeout_;
};

/// An in-memory store, for ranks that are threads of one process. All ranks share one
/// object, so leave() is a no-op: no member outlives the store.
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
  Health beat(const Beat& mine) override;
  void join(int rank, int world_size) override;
  void leave() override {}
  std::string describe() const override { return "hash store"; }

 private:
  /// Waits for `keys`; `lock` must be held and is held again on return.
  void wait_for(std::unique_lock<std::mutex>& lock,
                const std::vector<std::string>& keys, Milliseconds timeout);

  std::mutex mutex_;  ///< guards values_, members_ and heartbeats_
  std::condition_variable changed_;
  store::KeyValues values_;
  store::Members members_;
  store::Heartbeats heartbeats_;
};

/// A namespace within a store: adds a prefix to every key so that users of one store
/// (e.g. process groups) do not share keys. Membership is that of the whole store:
/// join, leave, linger and beat are forwarded; gone_key(rank) and failed_key(rank) are
/// keys of underlying().
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
  Health beat(const Beat& mine) override { return store_->beat(mine); }
  void join(int rank, int world_size) override { store_->join(rank, world_size); }
  void leave() override { store_->leave(); }
  void linger(Milliseconds timeout) override { store_->linger(timeout); }
  std::string own_address() const override { return store_->own_address(); }
  std::string refusal() const override { return store_->refusal(); }
  std::string describe() const override;

  const std::shared_ptr<Store>& underlying() const { return store_; }

 private:
  std::string joined(const std::string& key) const { return prefix_ + "/" + key; }

  const std::string prefix_;
  const std::shared_ptr<Store> store_;
};

}  // namespace lockstep::distributed
