// The store: keys and values that every process of a run can read and write.
//
// It is how processes find each other before they can talk: each sets its own address
// and waits for the others'. PyTorch's torch.distributed.Store.
// Source: torch/csrc/distributed/c10d/Store.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/deadline.h"

namespace lockstep::distributed {

/// As long as PyTorch's stores wait unless told otherwise.
inline constexpr Milliseconds kDefaultStoreTimeout = std::chrono::seconds(300);

/// Keys that were waited for did not come. The message names them, store and time.
class StoreTimeout : public std::runtime_error {
 public:
  StoreTimeout(std::vector<std::string> keys, const std::string& store,
               Milliseconds timeout);
  const std::vector<std::string>& keys() const { return keys_; }

 private:
  std::vector<std::string> keys_;
};

/// The store itself is lost: the process that keeps it has ended, or does not answer.
class StoreGone : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The key that a TCP store sets when the connection with a member breaks.
std::string gone_key(int rank);

/// Keys and values are any bytes. Everything may be called by several threads at a
/// time, and a thread that waits holds up no other. Besides what is named below, all
/// calls throw StoreGone, or std::runtime_error if the store is damaged or would have
/// to carry more than store::kMaxBody (1 MiB) at once.
class Store {
 public:
  explicit Store(Milliseconds timeout = kDefaultStoreTimeout) : timeout_(timeout) {}
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  virtual void set(const std::string& key, const std::string& value) = 0;

  /// Waits until the key is there, for `timeout` at most (0 or less: looks once).
  /// Throws StoreTimeout.
  virtual std::string get(const std::string& key, Milliseconds timeout) = 0;
  std::string get(const std::string& key) { return get(key, timeout_); }

  /// Does not wait.
  virtual std::optional<std::string> try_get(const std::string& key) = 0;

  /// Adds to a counter and returns the sum; nobody comes between. A key that is not
  /// there counts as 0; the value is decimal text. Throws if it is other text, or if
  /// the sum does not fit into 64 bits.
  virtual int64_t add(const std::string& key, int64_t amount) = 0;

  /// Waits until all keys are there. Throws StoreTimeout naming those that are not.
  virtual void wait(const std::vector<std::string>& keys, Milliseconds timeout) = 0;
  void wait(const std::vector<std::string>& keys) { wait(keys, timeout_); }

  /// Sets the key to `desired` if its value is `expected`, or if there is no value and
  /// `expected` is empty. Returns the value afterwards (where there is none:
  /// `expected`, as PyTorch does).
  virtual std::string compare_set(const std::string& key, const std::string& expected,
                                  const std::string& desired) = 0;

  /// True if the key was there. PyTorch's delete_key.
  virtual bool remove(const std::string& key) = 0;

  /// Says that rank `rank` of a world of `world_size` takes part from now on. Throws
  /// if the rank is out of range, if it has joined before (even if it has left), or if
  /// another member has another world size; the message names both.
  virtual void join(int rank, int world_size) = 0;

  /// Says that all ranks that joined through this object are done. Destructors do so,
  /// except when an exception unwinds the stack: then the rank has failed, and a TCP
  /// store tells the others by gone_key(rank). A rank that ends because of *another*
  /// rank's failure should call leave(), so that only the culprit is named. A store
  /// that is gone is left without complaint.
  virtual void leave() = 0;

  /// For the process that keeps the store, once it has left and before it ends: waits
  /// until every other member has left or is gone, for `timeout` at most, so that they
  /// can read what they still need. Returns at once wherever no store is kept.
  virtual void linger(Milliseconds /*timeout*/) {}

  /// "tcp://127.0.0.1:2345", for messages.
  virtual std::string describe() const = 0;

  Milliseconds timeout() const { return timeout_; }

 private:
  const Milliseconds timeout_;
};

}  // namespace lockstep::distributed
