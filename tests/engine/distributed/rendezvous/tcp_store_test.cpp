// The TCP store from its clients' side: connecting, losing the server, failing peers.
// sanitize: address thread
#include "engine/distributed/rendezvous/tcp_store.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "base/socket.h"
#include "tests/base/test_files.h"
#include "tests/engine/distributed/rendezvous/processes.h"
#include "tests/engine/distributed/rendezvous/raw_client.h"

namespace lockstep::distributed {
namespace {

using std::chrono::milliseconds;

constexpr auto kForPeers = std::chrono::seconds(60);
const std::string kLocal = "127.0.0.1";

int unused_port() { return TcpStoreServer().port(); }

std::string url(int port) { return "tcp://127.0.0.1:" + std::to_string(port); }

TEST(TcpStore, IsReachedByNameAndOverIPv6) {
  TcpStoreServer named("localhost", 0);
  try {
    connect_to("localhost", named.port(), deadline_after(kForPeers));
  } catch (const CannotResolve& error) {  // a store would wait until it can be
    GTEST_SKIP() << error.what();
  }
  TcpStore("localhost", named.port()).set("key", "x");
  std::unique_ptr<TcpStoreServer> server;
  try {
    server = std::make_unique<TcpStoreServer>("::1", 0);
  } catch (const std::runtime_error& error) {
    GTEST_SKIP() << error.what();
  }
  TcpStore store("::1", server->port());
  store.set("key", "x");
  EXPECT_EQ(store.describe(), "tcp://[::1]:" + std::to_string(server->port()));
}

TEST(TcpStore, WaitsForTheServer) {
  for (int round = 0; round < 8; ++round) {  // either side may be first
    const int port = unused_port();
    Pipe begins;
    Child child([&] {
      begins.send(1);
      EXPECT_EQ(TcpStore(kLocal, port).get("key", kForPeers), "value");
    });
    begins.receive();
    TcpStoreServer server(kLocal, port);
    TcpStore(kLocal, port).set("key", "value");
    EXPECT_EQ(child.wait(), 0);
  }
}

TEST(TcpStore, SaysWhereNobodyListens) {
  const int port = unused_port();
  expect_error([&] { TcpStore(kLocal, port, milliseconds(120)); }, url(port),
               "no store after 0.12 s", "Connection refused", "fix: start rank 0");
}

TEST(TcpStore, SaysWhichHostItCannotFind) {
  expect_error([] { TcpStore("no such host", 1234); }, "tcp://no such host:1234",
               "cannot be resolved");
  expect_error([] { TcpStoreServer("no such host", 1234); }, "cannot be resolved");
}

TEST(TcpStoreServer, SaysThatThePortIsTaken) {
  TcpStoreServer first;
  expect_error([&] { TcpStoreServer(kLocal, first.port()); }, url(first.port()),
               "Address already in use",
               "fix: stop the program that is listening there, or use another port");
}

TEST(TcpStoreServer, SaysThatTheAddressIsAnothersMachine) {
  expect_error([] { TcpStoreServer("192.0.2.1", 0); }, "tcp://192.0.2.1:0",
               "fix: use an address of this machine");
}

TEST(TcpStoreServer, ListensAtThePortOfTheLastRunAtOnce) {
  auto server = std::make_unique<TcpStoreServer>();
  const int port = server->port();
  const TcpStore client(kLocal, port);
  server.reset();  // closed first, so its connection is in TIME_WAIT for a minute
  TcpStoreServer(kLocal, port);
}

// A listener that is not a store. It accepts a connection only in `answer`.
class OtherProgram {
 public:
  int port() const { return port_of(listener_); }

  /// Answers the first request of the first client with `text`, then stops reading.
  void answer(std::string_view text) {
    accept();
    wait_until_ready(connection_, POLLIN, deadline_after(kForPeers));
    send(text);
  }

  /// Answers the first handshake as a store without a secret does, then stops reading.
  void handshake() {
    accept();
    store::Nonces nonces{next_fields().at(0), std::string(store::kNonceBytes, 's')};
    send(store::encode({store::Op::done, {nonces.server}}));
    const std::string run_id = next_fields().at(0);
    send(store::encode({store::Op::done, {store::server_proof(nonces, {}, run_id)}}));
  }

 private:
  void accept() {
    wait_until_ready(listener_, POLLIN, deadline_after(kForPeers));
    connection_ = accept_from(listener_);
  }
  store::Fields next_fields() {
    wait_until_ready(connection_, POLLIN, deadline_after(kForPeers));
    char piece[512];
    const ssize_t got = ::recv(connection_.get(), piece, sizeof piece, 0);
    return store::parse_frame({piece, static_cast<size_t>(std::max<ssize_t>(got, 0))})
        .frame.fields;
  }
  void send(std::string_view text) {
    EXPECT_EQ(::send(connection_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  const Fd listener_ = listen_at(kLocal, 0);
  Fd connection_;
};

TEST(TcpStore, RefusesWhatIsNoStore) {
  OtherProgram program;
  std::thread thread([&] { program.answer("SSH-2.0-OpenSSH\r\n"); });
  expect_error([&] { TcpStore(kLocal, program.port()); }, url(program.port()),
               "the program listening there is not a store");
  thread.join();
}

TEST(TcpStore, DoesNotWaitForeverForASilentServer) {
  OtherProgram program;
  const auto expect_unanswered = [](auto&& ask) {
    try {
      ask();
      FAIL() << "an answer was received";
    } catch (const StoreGone& gone) {
      EXPECT_NE(std::string(gone.what()).find("does not answer"), std::string::npos);
    }
  };
  expect_unanswered([&] { TcpStore(kLocal, program.port(), milliseconds(50)); });

  // The same for a store that has stopped reading and whose buffers are full.
  OtherProgram stopped;
  std::thread thread([&] { stopped.handshake(); });
  TcpStore store(kLocal, stopped.port(), kForPeers);
  thread.join();
  store.set_timeout(milliseconds(50));
  const std::string large(1'000'000, 'x');
  for (int i = 0; i < 5; ++i) expect_unanswered([&] { store.set("key", large); });
}

TEST(TcpStore, SaysThatTheServerIsGone) {
  auto server = std::make_unique<TcpStoreServer>();
  TcpStore store(kLocal, server->port()), other(kLocal, server->port());
  store.join(1, 2);
  const std::string place =
      "the store at " + url(server->port()) + " (hosted by rank 0)";
  std::thread waiting([&] {
    expect_error([&] { store.get("never", kForPeers); }, place, "was lost: Connection");
  });
  server.reset();
  waiting.join();
  // Sent in parts; the first one already finds the connection closed.
  EXPECT_THROW(other.set("key", std::string(1'000'000, 'x')), StoreGone);
  expect_error([&] { store.try_get("key"); }, place, "was lost: Connection");
  store.leave();  // does not throw
}

TEST(TcpStore, HoldsAMebibyteAtOnceAndNoMore) {
  TcpStoreServer server;
  TcpStore store(kLocal, server.port());
  expect_error([&] { store.set("key", std::string(1 << 20, 'x')); }, "1048576");
  store.set("key", "short");
}

TEST(TcpStore, NoticesADeath) {
  Pipe port;
  Child child([&] {
    TcpStore store(kLocal, port.receive());
    store.join(1, 2);
    store.set("joined", "");
    store.get("never", kForPeers);
  });
  TcpStoreServer server;
  port.send(server.port());
  TcpStore store(kLocal, server.port());
  store.join(0, 2);
  store.wait({"joined"}, kForPeers);
  EXPECT_EQ(store.try_get(gone_key(1)), std::nullopt);
  child.kill();
  EXPECT_EQ(store.get("gone/1", kForPeers), "connection lost");
  EXPECT_EQ(store.try_get("gone/0"), std::nullopt);
}

TEST(TcpStore, NoticesFailuresButNotThoseWhoLeave) {
  TcpStoreServer server;
  {
    TcpStore leaves(kLocal, server.port()), is_destroyed(kLocal, server.port());
    leaves.join(1, 4);
    leaves.leave();
    is_destroyed.join(2, 4);
  }
  try {
    TcpStore fails(kLocal, server.port());
    fails.join(3, 4);
    throw std::logic_error("the rank failed");
  } catch (const std::logic_error&) {
  }
  // The server processes disconnections in order.
  TcpStore store(kLocal, server.port());
  EXPECT_EQ(store.get(gone_key(3), kForPeers), "connection lost");
  EXPECT_EQ(store.try_get(gone_key(1)), std::nullopt);
  EXPECT_EQ(store.try_get(gone_key(2)), std::nullopt);
  expect_error([&] { store.join(3, 4); }, url(server.port()), "rank 3 joined twice");
}

TEST(TcpStore, DestroyedWhileAnotherExceptionIsHandledItLeaves) {
  TcpStoreServer server;
  TcpStore store(kLocal, server.port());
  struct AtTheEnd {
    int port;
    ~AtTheEnd() { TcpStore(kLocal, port).join(0, 2); }  // during stack unwinding
  };
  try {
    AtTheEnd at_the_end{server.port()};
    throw std::logic_error("something else");
  } catch (const std::logic_error&) {
  }
  EXPECT_TRUE(server.wait_until_left(kForPeers));
  EXPECT_EQ(store.try_get(gone_key(0)), std::nullopt);
}

TEST(TcpStore, LingersUntilTheOthersHaveLeft) {
  auto server = std::make_unique<TcpStoreServer>();
  TcpStoreServer& at = *server;
  TcpStore rank_0(kLocal, at.port(), kForPeers, std::move(server));
  EXPECT_TRUE(at.wait_until_left(milliseconds(0)));
  rank_0.join(0, 3);
  rank_0.set("last words", "bye");
  EXPECT_FALSE(at.wait_until_left(milliseconds(1)));
  auto rank_1 = std::make_unique<TcpStore>(kLocal, at.port());
  auto rank_2 = std::make_unique<TcpStore>(kLocal, at.port());
  rank_1->join(1, 3);
  rank_2->join(2, 3);
  rank_0.leave();
  EXPECT_FALSE(at.wait_until_left(milliseconds(1)));
  std::thread others([&] {
    EXPECT_EQ(rank_1->get("last words"), "bye");
    rank_1.reset();
    EXPECT_EQ(rank_2->get("last words"), "bye");
    rank_2.reset();
  });
  rank_0.linger(Milliseconds::max());
  EXPECT_TRUE(at.wait_until_left(milliseconds(0)));
  others.join();
}

}  // namespace
}  // namespace lockstep::distributed
