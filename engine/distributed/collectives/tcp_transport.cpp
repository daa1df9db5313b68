#include "engine/distributed/collectives/tcp_transport.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/socket.h"
#include "tracer/record/recorder.h"

namespace lockstep::distributed {
namespace {

constexpr uint32_t kMagic = 0x52534b4c;  // "LKSR"
/// Messages move in pieces, sending and receiving in turns: while one piece is summed,
/// the system transfers the next ones. Pieces of this size stay in the cache.
constexpr size_t kPieceBytes = 256 << 10;

/// The wire format of tags. All ranks must have the same byte order.
struct WireTag {
  uint32_t magic = kMagic;
  MessageTag tag;
};

std::string address_key(int rank) { return "address/" + std::to_string(rank); }

void send_without_delay(const Fd& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/// Returns the number of bytes moved, given the result of a send or receive; 0 if the
/// call would have blocked. Throws if the peer has closed the connection.
size_t move_some(ssize_t moved, int peer, const Collective& call, bool reading) {
  if (moved > 0) return static_cast<size_t>(moved);
  if (moved < 0 && would_block()) return 0;
  const std::string reason = reading && moved == 0 ? "closed" : std::strerror(errno);
  throw std::runtime_error(fmt::format("the connection to rank {} broke during {}: {}",
                                       peer, str(call), reason));
}

}  // namespace

/// A message being sent.
class TcpTransport::Sending {
 public:
  Sending(const Outgoing& out, const Fd& channel, int rank, const Collective& call)
      : out_(out), channel_(channel), rank_(rank), call_(call) {}

  bool done() const { return stage_ == Stage::done; }
  int peer() const { return out_.to; }
  pollfd poll() const {
    const bool waiting = stage_ == Stage::ready;
    return {channel_.get(), static_cast<short>(waiting ? POLLIN : POLLOUT), 0};
  }
  int64_t began() const { return began_; }

  /// Moves at most a piece without blocking. Returns whether any byte moved.
  bool go_on() {
    const size_t before = moved_;
    const Stage stage = stage_;
    if (stage_ == Stage::ready) read_ready();
    if (stage_ == Stage::tag) write(&mine_, sizeof mine_, Stage::data);
    if (stage_ == Stage::data) {
      if (theirs_.tag != out_.tag) {
        throw std::runtime_error(
            disagreement(rank_, out_.to, call_, out_.tag, theirs_.tag));
      }
      write(out_.data.data, out_.data.bytes(), Stage::done);
    }
    return moved_ != before || stage_ != stage;
  }

 private:
  enum class Stage { ready, tag, data, done };

  void read_ready() {
    const auto got = ::recv(channel_.get(), reinterpret_cast<char*>(&theirs_) + moved_,
                            sizeof theirs_ - moved_, 0);
    moved_ += move_some(got, out_.to, call_, true);
    if (moved_ < sizeof theirs_) return;
    moved_ = 0;
    began_ = tracer::now_ns();
    mine_.tag = out_.tag;
    stage_ = Stage::tag;
  }

  void write(const void* data, size_t bytes, Stage next) {
    if (data == nullptr) bytes = 0;  // devices that compute nothing move nothing
    if (moved_ < bytes) {
      const auto sent = ::send(channel_.get(), static_cast<const char*>(data) + moved_,
                               std::min(kPieceBytes, bytes - moved_), MSG_NOSIGNAL);
      moved_ += move_some(sent, out_.to, call_, false);
      if (moved_ < bytes) return;
    }
    moved_ = 0;
    stage_ = next;
  }

  const Outgoing& out_;
  const Fd& channel_;
  const int rank_;
  const Collective& call_;
  Stage stage_ = Stage::ready;
  WireTag mine_, theirs_;
  size_t moved_ = 0;  ///< bytes moved in the current stage
  int64_t began_ = 0;
};

/// A message being received.
class TcpTransport::Receiving {
 public:
  Receiving(const Incoming& in, const Fd& channel, int rank, const Collective& call,
            std::vector<char>& bounce)
      : in_(in), channel_(channel), rank_(rank), call_(call), bounce_(bounce) {
    bounce_.resize(kPieceBytes);
    ready_.tag = in.tag;
  }

  bool done() const { return stage_ == Stage::done; }
  int peer() const { return in_.from; }
  pollfd poll() const {
    const bool writing = stage_ == Stage::ready;
    return {channel_.get(), static_cast<short>(writing ? POLLOUT : POLLIN), 0};
  }
  int64_t began() const { return began_; }

  bool go_on() {
    const size_t before = moved_;
    const Stage stage = stage_;
    if (stage_ == Stage::ready) write_ready();
    if (stage_ == Stage::tag) read_tag();
    if (stage_ == Stage::data) read_data();
    return moved_ != before || stage_ != stage;
  }

 private:
  enum class Stage { ready, tag, data, done };

  void write_ready() {
    const auto sent = ::send(channel_.get(), reinterpret_cast<char*>(&ready_) + moved_,
                             sizeof ready_ - moved_, MSG_NOSIGNAL);
    moved_ += move_some(sent, in_.from, call_, false);
    if (moved_ < sizeof ready_) return;
    moved_ = 0;
    stage_ = Stage::tag;
  }

  void read_tag() {
    const auto got = ::recv(channel_.get(), reinterpret_cast<char*>(&theirs_) + moved_,
                            sizeof theirs_ - moved_, 0);
    moved_ += move_some(got, in_.from, call_, true);
    if (moved_ < sizeof theirs_) return;
    if (theirs_.tag != in_.tag) {
      throw std::runtime_error(
          disagreement(rank_, in_.from, call_, in_.tag, theirs_.tag));
    }
    began_ = tracer::now_ns();
    moved_ = 0;
    stage_ = Stage::data;
  }

  /// Receives a piece, directly into the destination or, if the bytes are to be
  /// combined with existing data, into a buffer that fits in the cache.
  void read_data() {
    const size_t bytes = in_.data.bytes();
    char* const place = static_cast<char*>(in_.data.data);
    const size_t item = item_size(in_.data.dtype);
    if (place && moved_ < bytes) {
      const bool direct = !in_.combine;
      char* into = direct ? place + moved_ : bounce_.data() + held_;
      const size_t room = std::min(kPieceBytes - (direct ? 0 : held_), bytes - moved_);
      const auto got = ::recv(channel_.get(), into, room, 0);
      const size_t now = move_some(got, in_.from, call_, true);
      moved_ += now;
      if (!direct) combine(now, item);
      if (moved_ < bytes) return;
    }
    stage_ = Stage::done;
  }

  /// Combines all complete elements in the bounce buffer after `fresh` bytes arrived.
  void combine(size_t fresh, size_t item) {
    held_ += fresh;
    const size_t whole = held_ / item;
    const auto count = static_cast<int64_t>(whole);
    apply(in_, in_.data.part(taken_, count), {bounce_.data(), count, in_.data.dtype});
    taken_ += whole;
    held_ -= whole * item;
    std::memmove(bounce_.data(), bounce_.data() + whole * item, held_);
  }

  const Incoming& in_;
  const Fd& channel_;
  const int rank_;
  const Collective& call_;
  std::vector<char>& bounce_;
  Stage stage_ = Stage::ready;
  WireTag ready_, theirs_;
  size_t moved_ = 0;
  size_t held_ = 0;    ///< bytes in the bounce buffer
  int64_t taken_ = 0;  ///< number of elements already combined
  int64_t began_ = 0;
};

TcpTransport::TcpTransport(std::shared_ptr<Store> store, std::string host, int rank,
                           int size, Milliseconds timeout)
    : store_(std::move(store)),
      rank_(rank),
      size_(size),
      timeout_(timeout),
      acceptor_(host),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  store_->set(address_key(rank_), acceptor_.address());
}

TcpTransport::~TcpTransport() = default;

Exchanged TcpTransport::exchange(const Outgoing* out, const Incoming* in,
                                 const Collective& call) {
  std::optional<Sending> sending;
  std::optional<Receiving> receiving;
  if (out) sending.emplace(*out, channel_to(out->to, call), rank_, call);
  if (in) {
    receiving.emplace(*in, channel_from(in->from, call), rank_, call, bounce_);
  }
  run(sending ? &*sending : nullptr, receiving ? &*receiving : nullptr, call);
  Exchanged times;
  if (sending) times.out_began = sending->began();
  if (receiving) times.in_began = receiving->began();
  times.in_ended = tracer::now_ns();
  return times;
}

/// Transfers both messages as their sockets become ready.
void TcpTransport::run(Sending* out, Receiving* in, const Collective& call) {
  auto deadline = deadline_after(timeout_);
  while ((out && !out->done()) || (in && !in->done())) {
    throw_if_aborted();
    std::array<pollfd, 3> waits{pollfd{wake_.get(), POLLIN, 0}};
    size_t count = 1;
    if (out && !out->done()) waits[count++] = out->poll();
    if (in && !in->done()) waits[count++] = in->poll();
    const int ready = ::poll(waits.data(), count, poll_timeout(deadline));
    bool moved = false;
    if (ready > 0) {
      if (out && !out->done()) moved |= out->go_on();
      if (in && !in->done()) moved |= in->go_on();
    }
    if (moved) {
      deadline = deadline_after(timeout_);
    } else if (Clock::now() >= deadline) {
      late(in && !in->done() ? in->peer() : out->peer(), call);
    }
  }
}

const Fd& TcpTransport::channel_to(int peer, const Collective& call) {
  if (const auto known = to_.find(peer); known != to_.end()) return known->second;
  throw_if_aborted();
  std::string address;
  try {
    address = store_->get(address_key(peer), timeout_);
  } catch (const StoreTimeout&) {
    late(peer, call);
  }
  Reached reached = reach(address, rank_, deadline_after(timeout_));
  if (!reached.socket) {
    throw std::runtime_error(fmt::format("cannot reach rank {} at {} for {}: {}", peer,
                                         shown_address(address), str(call),
                                         reached.why_not));
  }
  send_without_delay(reached.socket);
  return to_[peer] = std::move(reached.socket);
}

const Fd& TcpTransport::channel_from(int peer, const Collective& call) {
  const auto deadline = deadline_after(timeout_);
  while (!from_.contains(peer)) {
    throw_if_aborted();
    for (auto& [rank, socket] : acceptor_.poll(wake_, deadline)) {
      if (rank < 0 || rank >= size_ || from_.contains(rank)) continue;
      send_without_delay(socket);
      from_[rank] = std::move(socket);
    }
    if (!from_.contains(peer) && Clock::now() >= deadline) late(peer, call);
  }
  return from_[peer];
}

void TcpTransport::late(int peer, const Collective& call) const {
  throw std::runtime_error(
      fmt::format("rank {} did not reach {} of rank {} within {:g} s", peer, str(call),
                  rank_, static_cast<double>(timeout_.count()) / 1000));
}

void TcpTransport::abort(const std::string& why) {
  {
    std::lock_guard lock(mutex_);
    if (!aborted_) aborted_ = why;
  }
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

void TcpTransport::throw_if_aborted() const {
  std::lock_guard lock(mutex_);
  if (aborted_) throw std::runtime_error(*aborted_);
}

}  // namespace lockstep::distributed
