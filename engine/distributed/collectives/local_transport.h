// Messages between ranks that are threads of one process. The receiver copies from the
// sender's memory, including from GPU to GPU; the sender leaves a copy of a small
// message behind, unless the exchange is recorded. If hardware moves the bytes, the
// ranks' threads only agree on the message here, and their queues wait for each other.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/distributed/collectives/transport.h"

namespace lockstep::distributed {

/// State shared by the ranks of one process: for each (sender, receiver) pair, an entry
/// in which the sender posts its message, and the small messages that it has left
/// behind. Thread-safe.
class LocalHub {
 public:
  explicit LocalHub(int size)
      : size_(size),
        changed_(size),
        awaited_(size, kNobody),
        posts_(size * size),
        left_(size * size) {}
  int size() const { return size_; }

 private:
  friend class LocalTransport;
  struct Post {
    const Outgoing* message = nullptr;
    enum { waiting, being_read, taken } state = waiting;
    int64_t posted_at = 0;
    int64_t taken_at = 0;         ///< between emulated devices only
    runtime::MarkPtr ready = {};  ///< mark in the sender's queue: the data is ready
    runtime::MarkPtr read = {};   ///< mark in the receiver's queue: the data was read
  };
  /// A message with its own copy of the data, for which the sender does not wait.
  struct Left {
    MessageTag tag;
    std::vector<int64_t> after;
    int64_t posted_at = 0;
    std::vector<std::byte> data;  ///< empty on devices that compute nothing
  };
  static constexpr int kNobody = -1;
  /// Returns the rank for which `rank` waits, directly or through others that wait.
  int culprit(int rank) const;
  Post& post(int from, int to) { return posts_[from * size_ + to]; }
  std::deque<Left>& left(int from, int to) { return left_[from * size_ + to]; }
  void wake_all() {
    for (std::condition_variable& rank : changed_) rank.notify_all();
  }

  const int size_;
  std::mutex mutex_;
  /// By rank: a message to it was posted, or one from it was taken. One for all ranks
  /// would wake every thread for every message.
  std::vector<std::condition_variable> changed_;
  std::vector<int> awaited_;  ///< by rank: for whom it waits
  std::vector<Post> posts_;
  std::vector<std::deque<Left>> left_;  ///< all are received before the pair's post
  std::optional<std::string> aborted_;
};

class LocalTransport : public Transport {
 public:
  LocalTransport(std::shared_ptr<LocalHub> hub, int rank, Milliseconds timeout)
      : hub_(std::move(hub)), rank_(rank), timeout_(timeout) {}

  Exchanged exchange(const Outgoing* out, const Incoming* in,
                     const Collective& call) override;
  void abort(const std::string& why) override;
  bool shares_recorder() const override { return true; }

 private:
  bool leave(const Outgoing& out, const Collective& call);
  void receive(const Incoming& in, const Collective& call, Exchanged& times,
               std::unique_lock<std::mutex>& lock);
  void require_same(const MessageTag& sent, const Incoming& in, const Collective& call);
  /// Moves the bytes, or enqueues the transfer on the receiver's queue. Between
  /// emulated devices, nothing is moved.
  static void take(LocalHub::Post& post, const Incoming& in, bool recorded,
                   Exchanged& times);
  template <typename Ready>
  void wait(std::unique_lock<std::mutex>& lock, int other, const Collective& call,
            Ready ready);

  std::shared_ptr<LocalHub> hub_;
  int rank_;
  Milliseconds timeout_;
};

}  // namespace lockstep::distributed
