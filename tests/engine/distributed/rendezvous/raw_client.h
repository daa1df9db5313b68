// A client that sends arbitrary bytes to a store's server, and a source of such bytes.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <random>
#include <string>
#include <string_view>

#include "base/crypto.h"
#include "base/fd.h"
#include "engine/distributed/rendezvous/credentials.h"
#include "engine/distributed/rendezvous/frame.h"

namespace lockstep::distributed {

namespace store {

/// Returns random bytes or damaged frames.
inline std::string random_bytes(std::mt19937& random) {
  const auto below = [&](size_t end) { return random() % end; };
  const auto noise = [&](size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(below(256));
    return bytes;
  };
  if (below(4) == 0) return noise(below(100));

  std::string bytes;
  for (size_t frames = 1 + below(3); frames > 0; --frames) {
    Frame frame{static_cast<Op>(below(static_cast<size_t>(kLastOp) + 1)), {}};
    for (size_t fields = below(4); fields > 0; --fields) {
      frame.fields.push_back(below(2) ? std::to_string(below(9)) : noise(below(20)));
    }
    bytes += encode(frame);
  }
  if (below(2)) bytes[below(bytes.size())] = static_cast<char>(below(256));
  if (below(3) == 0) bytes.resize(below(bytes.size()));
  return bytes;
}

}  // namespace store

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{60, 0};  // fails the test if the server never answers
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const sockaddr_in address = loopback(port);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                        sizeof address),
              0);
  }

  /// Says what a member says first (credentials.h).
  RawClient& handshake(const Credentials& credentials = {}) {
    store::Nonces nonces{lockstep::random_bytes(store::kNonceBytes), ""};
    send(store::encode({store::Op::hello, {nonces.client}}));
    nonces.server = receive_frame().fields.at(0);
    const std::string proof = store::client_proof(nonces, credentials);
    send(store::encode(
        {store::Op::prove,
         {credentials.run_id, credentials.secret.empty() ? "0" : "1", proof}}));
    EXPECT_EQ(receive_frame().op, store::Op::done);
    return *this;
  }

  /// The server may close the connection meanwhile; that is not a failure.
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent =
          ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) return;
      bytes.remove_prefix(sent);
    }
  }

  /// Sends without blocking. Returns how many bytes the system accepted.
  size_t send_at_once(std::string_view bytes) {
    const ssize_t sent =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? 0 : sent;
  }

  void end_sending() { ::shutdown(socket_.get(), SHUT_WR); }

  /// Returns all bytes received until the server closes the connection.
  std::string receive_all() {
    std::string all;
    char piece[4096];
    ssize_t got = 0;
    while ((got = ::recv(socket_.get(), piece, sizeof piece, 0)) > 0) {
      all.append(piece, got);
    }
    EXPECT_TRUE(got == 0 || errno == ECONNRESET) << "connection not closed";
    return all;
  }

  /// Returns the next reply.
  store::Frame receive_frame() {
    for (;;) {
      const auto parsed = store::parse_frame(received_);
      if (parsed.state == store::Parsed::State::whole) {
        received_.erase(0, parsed.consumed);
        return parsed.frame;
      }
      char piece[4096];
      const ssize_t got = ::recv(socket_.get(), piece, sizeof piece, 0);
      if (got <= 0 || parsed.state == store::Parsed::State::garbage) {
        ADD_FAILURE() << "no answer was received";
        return {};
      }
      received_.append(piece, got);
    }
  }

 private:
  Fd socket_;
  std::string received_;
};

}  // namespace lockstep::distributed
