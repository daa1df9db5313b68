// Processes that do not take part in a job, but can connect to its ports: they do not
// end it, change it, stall it, or learn its secret. A ring test would fail by its
// timeout if a untrusted could make ranks wait.
// sanitize: address thread
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <random>
#include <sstream>
#include <thread>

#include "base/socket.h"
#include "engine/distributed/collectives/acceptor.h"
#include "engine/distributed/rendezvous/init_method.h"
#include "engine/distributed/rendezvous/tcp_store.h"
#include "tests/base/test_files.h"
#include "tests/engine/distributed/ranks.h"
#include "tests/engine/distributed/rendezvous/raw_client.h"

namespace lockstep::distributed {
namespace {

using std::chrono::milliseconds;
using store::encode;
using store::Frame;
using store::Op;

const std::string kHere = "127.0.0.1";
const Credentials kJob{"job 7", "correct horse battery staple"};

/// The error of connecting with these credentials.
std::string connect_error(int port, const Credentials& credentials) {
  return test::message_of(
      [&] { TcpStore(kHere, port, milliseconds(5000), nullptr, credentials); });
}

class StoreOfAJob : public testing::Test {
 protected:
  void expect_unharmed() {
    EXPECT_EQ(store_.try_get("failed/1"), std::nullopt);
    const std::string value = std::to_string(++asked_);
    store_.set("served", value);
    EXPECT_EQ(
        TcpStore(kHere, port(), milliseconds(20'000), nullptr, kJob).get("served"),
        value);
  }
  int port() const { return server_.port(); }

  TcpStoreServer server_{kHere, 0, {}, kJob};
  TcpStore store_{kHere, server_.port(), milliseconds(20'000), nullptr, kJob};
  int asked_ = 0;
};

TEST_F(StoreOfAJob, IsNotChangedBeforeTheHandshake) {
  for (const Frame& request :
       {Frame{Op::set, {"failed/1", "out of memory"}}, Frame{Op::ping, {}},
        Frame{Op::join, {"1", "2", "me"}}, Frame{Op::beat, {"1", "2", "9", "x"}},
        Frame{Op::prove, {"job 7", "1", std::string(32, 'x')}}}) {
    RawClient untrusted(port());
    untrusted.send(encode(request));
    EXPECT_EQ(untrusted.receive_all(), "");
  }
  expect_unharmed();
}

TEST_F(StoreOfAJob, IsNotFilledBeforeTheHandshake) {
  const std::string large = encode({Op::set, {"key", std::string(1'000'000, 'x')}});
  for (int i = 0; i < 20; ++i) {
    RawClient untrusted(port());
    untrusted.send(large);
    EXPECT_EQ(untrusted.receive_all(), "");
  }
  expect_unharmed();
}

/// More than the limit: the oldest make room.
TEST_F(StoreOfAJob, HasSlotsForMembersBesideUnauthenticatedConnections) {
  TcpStoreServer server(kHere, 0, {.unauthenticated = 100, .crowded = milliseconds(50)},
                        kJob);
  std::vector<std::unique_ptr<RawClient>> many;
  for (int i = 0; i < 500; ++i) {
    many.push_back(std::make_unique<RawClient>(server.port()));
    many.back()->send(encode({Op::hello, {std::string(store::kNonceBytes, 'x')}}));
  }
  TcpStore member(kHere, server.port(), milliseconds(20'000), nullptr, kJob);
  member.set("served", "yes");
  EXPECT_EQ(member.get("served"), "yes");
}

TEST_F(StoreOfAJob, RejectsAReplayedHandshake) {
  store::Nonces nonces{std::string(store::kNonceBytes, 'c'), ""};
  const std::string hello = encode({Op::hello, {nonces.client}});
  RawClient member(port());
  member.send(hello);
  nonces.server = member.receive_frame().fields.at(0);
  const std::string proof =
      encode({Op::prove, {kJob.run_id, "1", store::client_proof(nonces, kJob)}});
  member.send(proof);
  EXPECT_EQ(member.receive_frame().op, Op::done);

  RawClient thief(port());
  thief.send(hello);
  EXPECT_NE(thief.receive_frame().fields.at(0), nonces.server);
  thief.send(proof);
  EXPECT_EQ(thief.receive_frame().op, Op::refused);
  EXPECT_EQ(thief.receive_all(), "");
  expect_unharmed();
}

TEST_F(StoreOfAJob, DoesNotBelieveItsOwnProof) {
  RawClient member(port());
  store::Nonces nonces{std::string(store::kNonceBytes, 'c'), ""};
  member.send(encode({Op::hello, {nonces.client}}));
  nonces.server = member.receive_frame().fields.at(0);
  const std::string reflected = store::server_proof(nonces, kJob, kJob.run_id);
  member.send(encode({Op::prove, {kJob.run_id, "1", reflected}}));
  EXPECT_EQ(member.receive_frame().op, Op::refused);
  expect_unharmed();
}

TEST_F(StoreOfAJob, SaysWhatDiffersOnBothSides) {
  const std::string fix =
      "fix: set LOCKSTEP_SECRET or LOCKSTEP_SECRET_FILE to the same secret";
  const auto expect = [&](const Credentials& theirs, const std::string& why) {
    const std::string client = connect_error(port(), theirs), here = server_.refusal();
    EXPECT_NE(client.find("this rank " + why), std::string::npos) << client;
    EXPECT_NE(here.find("a process at 127.0.0.1 was refused: it " + why),
              std::string::npos)
        << here;
    for (const std::string& text : {client, here}) {
      EXPECT_EQ(text.find(kJob.secret), std::string::npos) << text;
      EXPECT_EQ(text.find("battery"), std::string::npos) << text;
    }
  };
  expect({"job 7", ""}, "has no secret, but rank 0 has one; " + fix);
  expect({"job 7", "battery"}, "has another secret than rank 0; " + fix +
                                   " for all ranks, or another port for each job");
  expect(
      {"job 8", kJob.secret},
      "belongs to run \"job 8\", but rank 0 to run \"job 7\"; fix: use another port");
  expect_unharmed();
}

TEST(StoreOfAnotherJob, WithoutASecretSaysSo) {
  TcpStoreServer server;
  EXPECT_NE(
      connect_error(server.port(), kJob).find("has a secret, but rank 0 has none"),
      std::string::npos);
  TcpStore(kHere, server.port(), milliseconds(5000), nullptr, {"job 7", ""})
      .set("a run id that one side does not know", "is not compared");
}

TEST(StoreOfAnotherJob, IsNotBelievedIfItDoesNotKnowTheSecret) {
  const Fd listener = listen_at(kHere, 0);
  std::thread impostor([&] {
    ASSERT_TRUE(
        wait_until_ready(listener, POLLIN, deadline_after(milliseconds(20'000))));
    const Fd socket = accept_from(listener);
    const auto say = [&](const Frame& frame) {
      const std::string bytes = encode(frame);
      char piece[512];
      wait_until_ready(socket, POLLIN, deadline_after(milliseconds(20'000)));
      (void)!::recv(socket.get(), piece, sizeof piece, 0);
      (void)!::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    };
    say({Op::done, {std::string(store::kNonceBytes, 's')}});
    say({Op::done, {std::string(32, 'p')}});
  });
  EXPECT_NE(
      connect_error(port_of(listener), kJob).find("does not know this job's secret"),
      std::string::npos);
  impostor.join();
}

TEST(StoreOfAJobThatIsFull, RefusesMore) {
  TcpStoreServer server(kHere, 0, {.bytes = 1000});
  TcpStore store(kHere, server.port());
  store.set("key", std::string(900, 'x'));
  expect_error([&] { store.set("more", std::string(200, 'x')); },
               "the store is full: its keys and values are limited to 1000 bytes");
  store.set("key", std::string(990, 'x'));  // replaces the first
  store.remove("key");
  store.set("more", std::string(900, 'x'));
}

/// Three ranks whose ports are known to others.
class RingOfAJob : public testing::Test {
 protected:
  static constexpr int kRanks = 3;

  RingOfAJob() {
    for (int rank = 0; rank < kRanks; ++rank) {
      transports_.push_back(std::make_unique<TcpTransport>(store_, kHere, rank, kRanks,
                                                           milliseconds(15'000)));
    }
  }

  int port(int rank) {
    std::string host;
    int port = 0;
    std::istringstream(store_->get("address/" + std::to_string(rank))) >> host >> port;
    return port;
  }
  std::string token(int rank) {
    const std::string address = store_->get("address/" + std::to_string(rank));
    return address.substr(address.rfind(' ') + 1);
  }

  RawClient& untrusted(int rank) {
    unauthenticated_.push_back(std::make_unique<RawClient>(port(rank)));
    return *unauthenticated_.back();
  }

  /// Every rank sends its number around the ring and receives the one before it.
  void expect_unharmed() {
    std::vector<std::thread> threads;
    std::vector<std::string> errors(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([this, rank, &errors] {
        errors[rank] = test::message_of([&] { pass_on(rank); });
      });
    }
    for (auto& thread : threads) thread.join();
    for (const std::string& error : errors) EXPECT_EQ(error, "");
  }

  std::shared_ptr<HashStore> store_ = std::make_shared<HashStore>();
  std::vector<std::unique_ptr<TcpTransport>> transports_;
  std::vector<std::unique_ptr<RawClient>> unauthenticated_;

 private:
  void pass_on(int rank) {
    double mine = rank, theirs = -1;
    const int previous = (rank + kRanks - 1) % kRanks;
    const MessageTag tag{1, sizeof mine, 0, 0};
    const Outgoing out{(rank + 1) % kRanks, {&mine, 1, DType::f64}, tag};
    const Incoming in{previous, {&theirs, 1, DType::f64}, tag};
    transports_[rank]->exchange(&out, &in, Collective{});
    EXPECT_EQ(theirs, previous);
  }
};

TEST_F(RingOfAJob, IsNotDelayedByTheSilent) {
  for (int i = 0; i < 100; ++i) untrusted(i % kRanks);  // 2 s each would be too much
  expect_unharmed();
}

TEST_F(RingOfAJob, IgnoresGarbage) {
  std::mt19937 random(20261126);
  for (int i = 0; i < 60; ++i) {
    untrusted(i % kRanks).send(store::random_bytes(random));
    untrusted(i % kRanks).send(std::string(200'000, '\xff'));
  }
  expect_unharmed();
}

TEST_F(RingOfAJob, DoesNotAcceptAnUnauthenticatedRank) {
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string previous =
        "0000000" + std::to_string((rank + kRanks - 1) % kRanks);
    RawClient& eight = untrusted(rank);  // what used to be enough
    eight.send(std::string("LKSR\0\0\0\0", 8));
    untrusted(rank).send("LKSR" + previous + std::string(32, '0'));
    std::string almost = token(rank);
    almost.back() = almost.back() == '0' ? '1' : '0';
    untrusted(rank).send("LKSR" + previous + almost);
  }
  expect_unharmed();
}

TEST_F(RingOfAJob, IgnoresClosedAndSlowConnections) {
  for (int rank = 0; rank < kRanks; ++rank) {
    RawClient(port(rank)).send("LKSR0");
    RawClient& slow = untrusted(rank);
    for (const char byte : std::string("LKSR000")) slow.send({&byte, 1});
    untrusted(rank).end_sending();
  }
  expect_unharmed();
}

TEST_F(RingOfAJob, IgnoresARankThatIsNone) {
  for (const char* rank : {"00000099", "-0000001", "rank one"}) {
    untrusted(0).send(std::string("LKSR") + rank + token(0));
  }
  expect_unharmed();
}

}  // namespace
}  // namespace lockstep::distributed
