// The store: keys and values that every process of a run can read and write.
//
// It is how processes find each other before they can talk: each sets its own address
// and waits for the others'. PyTorch's torch.distributed.Store. Here are its contract,
// the store in memory and the prefix store; file_store.h and tcp_store.h have the rest.
// Source: torch/csrc/distributed/c10d/Store.hpp.
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
#include "engine/distributed/rendezvous/table.h"

namespace lockstep::distributed {

/// PyTorch's default timeout of a store.
inline constexpr Milliseconds kDefaultStoreTimeout = std::chrono::seconds(300);

/// Keys did not appear in time. The message names them, the store and the timeout.
class StoreTimeout : public std::runtime_error {
 public:
  StoreTimeout(std::vector<std::string> keys, const std::string& store,
               Milliseconds timeout);
  const std::vector<std::string>& keys() const { return keys_; }

 private:
  std::vector<std::string> keys_;
};

/// The store is lost: the process that keeps it has ended or does not answer.
class StoreGone : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Returns the key that a TCP store sets when it loses the connection to a member.
std::string gone_key(int rank);

/// Keys and values are any bytes. Thread-safe: a thread that waits does not block the
/// others. Besides the errors named below, all calls throw StoreGone, and
/// std::runtime_error if the store is damaged or if one call would carry more than
/// store::kMaxBody (1 MiB).
class Store {
 public:
  explicit Store(Milliseconds timeout = kDefaultStoreTimeout) : timeout_(timeout) {}
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  virtual void set(const std::string& key, const std::string& value) = 0;

  /// Returns the key's value; waits until it is set, for at most `timeout` (0 or less:
  /// looks once). Throws StoreTimeout.
  virtual std::string get(const std::string& key, Milliseconds timeout) = 0;
  std::string get(const std::string& key) { return get(key, timeout_); }

  /// Returns the key's value, or nullopt if it has none. Does not wait.
  virtual std::optional<std::string> try_get(const std::string& key) = 0;

  /// Adds to a counter and returns the sum, atomically. A key without a value counts as
  /// 0; the value is decimal text. Throws std::runtime_error if it is other text, or if
  /// the sum does not fit into 64 bits.
  virtual int64_t add(const std::string& key, int64_t amount) = 0;

  /// Waits until all keys have values. Throws StoreTimeout naming those that do not.
  virtual void wait(const std::vector<std::string>& keys, Milliseconds timeout) = 0;
  void wait(const std::vector<std::string>& keys) { wait(keys, timeout_); }

  /// Atomically sets the key to `desired` if its value is `expected`, or if it has none
  /// and `expected` is empty. Returns the value afterwards (if there is none:
  /// `expected`, as PyTorch does).
  virtual std::string compare_set(const std::string& key, const std::string& expected,
                                  const std::string& desired) = 0;

  /// Removes the key; returns whether it had a value. PyTorch's delete_key.
  virtual bool remove(const std::string& key) = 0;

  /// Makes rank `rank` of a world of `world_size` a member. Throws std::runtime_error
  /// if the rank is out of range, if it has joined before (even if it has left), or if
  /// another member has another world size; the message names both processes.
  virtual void join(int rank, int world_size) = 0;

  /// Ends the membership of all ranks that joined through this object. Destructors call
  /// it, except while an exception unwinds the stack: then the rank has failed, and a
  /// TCP store tells the others by gone_key(rank). A rank that ends because of
  /// *another* rank's failure should call leave(), so that only the culprit is named.
  /// Does not throw if the store is gone.
  virtual void leave() = 0;

  /// In the process that keeps the store: waits until every other member has left or is
  /// gone, for at most `timeout`, so that they can read what they still need. Call it
  /// after leave(), before the process ends. Elsewhere it returns at once.
  virtual void linger(Milliseconds /*timeout*/) {}

  /// Returns the store's name for messages, for example "tcp://127.0.0.1:2345".
  virtual std::string describe() const = 0;

  Milliseconds timeout() const { return timeout_; }

 private:
  const Milliseconds timeout_;
};

/// A store in memory, for ranks that are threads of one process. All ranks share one
/// object, so leave() has nothing to do: no member outlives it.
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
  void leave() override {}
  std::string describe() const override { return "hash store"; }

 private:
  /// Waits for `keys`; `lock` is held on entry and on return.
  void wait_for(std::unique_lock<std::mutex>& lock,
                const std::vector<std::string>& keys, Milliseconds timeout);

  std::mutex mutex_;  ///< guards values_ and members_
  std::condition_variable changed_;
  store::KeyValues values_;
  store::Members members_;
};

/// A store within a store: every key gets a prefix, so that several users of one store
/// (process groups, for example) do not share keys. Membership is the whole store's:
/// join, leave and linger are passed on, and gone_key(rank) is a key of underlying().
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
