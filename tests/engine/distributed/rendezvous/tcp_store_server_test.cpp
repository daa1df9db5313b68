// The server with unknown clients: whatever a client sends or omits, the server keeps
// serving the others.
// sanitize: address thread
#include "engine/distributed/rendezvous/tcp_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>
#include <random>
#include <thread>

#include "tests/base/test_files.h"
#include "tests/engine/distributed/rendezvous/processes.h"
#include "tests/engine/distributed/rendezvous/raw_client.h"

namespace lockstep::distributed {
namespace {

using std::chrono::milliseconds;
using store::encode;
using store::Frame;
using store::Op;

constexpr auto kForClients = std::chrono::seconds(60);

class StoreClients : public testing::Test {
 protected:
  /// Checks that the store still works for existing and new clients.
  void expect_served() {
    const std::string value = std::to_string(++asked_);
    store_.set("served", value);
    EXPECT_EQ(TcpStore("127.0.0.1", server_.port()).get("served"), value);
  }

  /// Expects the server to close a connection that sends these bytes, without a reply.
  void expect_hung_up(const std::string& bytes) {
    RawClient untrusted(server_.port());
    untrusted.send(bytes);
    EXPECT_EQ(untrusted.receive_all(), "");
    expect_served();
  }

  /// Expects that the server does not read from this client; the system's buffers fill
  /// up.
  void expect_not_heard(RawClient& client) {
    const std::string more(1 << 20, 'x');
    size_t taken = 0;
    for (int i = 0; i < 150; ++i) {
      taken += client.send_at_once(more);
      expect_served();
    }
    EXPECT_LT(taken, more.size() * 40);
  }

  TcpStoreServer server_;
  TcpStore store_{"127.0.0.1", server_.port()};
  int asked_ = 0;
};

TEST_F(StoreClients, WithGarbageLoseTheirConnection) {
  expect_hung_up("GET / HTTP/1.1\r\n\r\n");
  expect_hung_up("x");
  expect_hung_up(std::string(3'000'000, '\0'));
  expect_hung_up(std::string("LKS3\1\0\0\0\5\0\0\0\377\0\0\0x", 17));
}

TEST_F(StoreClients, WithOversizedFramesLoseTheirConnection) {
  expect_hung_up(std::string("LKS3\1\0\0\0\1\0\20\0", 12));
  expect_hung_up(std::string("LKS3\1\0\0\0\377\377\377\377", 12));
}

TEST_F(StoreClients, MayCloseInTheMiddle) {
  for (const size_t size : {0, 1, 11, 12, 20}) {
    RawClient untrusted(server_.port());
    if (size % 2 == 1) untrusted.handshake();
    untrusted.send(encode({Op::set, {"half", "value"}}).substr(0, size));
    untrusted.end_sending();
    EXPECT_EQ(untrusted.receive_all(), "");
  }
  expect_served();
  EXPECT_EQ(store_.try_get("half"), std::nullopt);
}

TEST_F(StoreClients, MaySaySlowlyWhatTheyWant) {
  RawClient slow(server_.port());
  slow.handshake();
  for (const char byte : encode({Op::set, {"slow", "value"}})) {
    slow.send({&byte, 1});
    store_.set("meanwhile", "");
  }
  EXPECT_EQ(slow.receive_frame().op, Op::done);
  EXPECT_EQ(store_.get("slow"), "value");
}

TEST_F(StoreClients, MayBeSilent) {
  RawClient silent(server_.port()), half(server_.port());
  half.send("LKS3");
  expect_served();
}

TEST_F(StoreClients, GetAnswersInOrderIfTheyAskAheadOfThem) {
  RawClient eager(server_.port());
  eager.handshake();
  eager.send(encode({Op::set, {"a", "1"}}) + encode({Op::get, {"60000", "late"}}) +
             encode({Op::add, {"a", "1"}}));
  EXPECT_EQ(eager.receive_frame().op, Op::done);
  store_.set("late", "value");
  EXPECT_EQ(eager.receive_frame().fields, store::Fields{"value"});
  EXPECT_EQ(eager.receive_frame().fields, store::Fields{"2"});
}

TEST_F(StoreClients, AreRefusedWhatIsNoRequest) {
  RawClient untrusted(server_.port());
  untrusted.handshake();
  const auto expect_refused = [&](Op op, store::Fields fields, const char* why) {
    untrusted.send(encode({op, std::move(fields)}));
    const Frame answer = untrusted.receive_frame();
    EXPECT_EQ(answer.op, Op::refused);
    EXPECT_NE(answer.fields.at(0).find(why), std::string::npos) << answer.fields[0];
  };
  expect_refused(Op::done, {"an answer"}, "not a request");
  expect_refused(Op::set, {"key"}, "not a request");
  expect_refused(Op::wait, {}, "not a request");
  expect_refused(Op::get, {"soon", "key"}, "\"soon\" is not a number");
  expect_refused(Op::add, {"key", ""}, "not a number");
  expect_refused(Op::join, {"0", "4294967297", "me"}, "too large");
  expect_refused(Op::join, {"2", "2", "me"}, "rank 2 is out of range");
  expect_refused(Op::add, {std::string(1'000'000, 'x'), "x"}, "not a number");
  expect_served();
}

TEST_F(StoreClients, WhoTakeNoAnswersFillNoMemory) {
  store_.set("large", std::string(1'000'000, 'x'));
  RawClient deaf(server_.port());
  deaf.handshake();
  for (int i = 0; i < 200; ++i) {
    deaf.send(encode({Op::add, {"asked", "1"}}) + encode({Op::try_get, {"large"}}));
  }
  store_.wait({"asked"}, kForClients);
  expect_not_heard(deaf);
  EXPECT_LT(store_.add("asked", 0), 200);  // the rest is in the system's buffers
}

TEST_F(StoreClients, WhoTalkWhileTheyWaitFillNoMemory) {
  RawClient loud(server_.port());
  loud.handshake();
  loud.send(encode({Op::get, {"60000", "never"}}));
  expect_not_heard(loud);
}

TEST_F(StoreClients, WhoLeaveWhileTheyWaitAreForgotten) {
  RawClient leaves(server_.port());
  leaves.handshake();
  leaves.send(encode({Op::get, {"60000", "key"}}));
  leaves.end_sending();
  EXPECT_EQ(leaves.receive_all(), "");
  store_.set("key", "");
  expect_served();
}

TEST_F(StoreClients, TwoHundredAreServed) {
  std::vector<std::unique_ptr<RawClient>> many;
  for (int i = 0; i < 200; ++i) {
    many.push_back(std::make_unique<RawClient>(server_.port()));
    many.back()->handshake().send(encode({Op::get, {"60000", "go"}}));
  }
  expect_served();
  store_.set("go", "!");
  for (auto& each : many) EXPECT_EQ(each->receive_frame().fields, store::Fields{"!"});
}

/// A thousand ranks' connections and heartbeats: the answer names the one that is
/// silent.
TEST(StoreOfManyRanks, AThousandTellTheirHeartbeats) {
  constexpr int kRanks = 1024;
  TcpStoreServer server;  // raises the limit of open files if it may
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < 2 * kRanks + 100) GTEST_SKIP() << "too few files may be open";
  const std::string world = std::to_string(kRanks);
  std::vector<std::unique_ptr<RawClient>> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(std::make_unique<RawClient>(server.port()));
    ranks.back()->handshake().send(
        encode({Op::join, {std::to_string(rank), world, "simulated"}}));
  }
  for (auto& rank : ranks) EXPECT_EQ(rank->receive_frame().op, Op::done);
  for (int seq = 0; seq < 3; ++seq) {
    for (int rank = 0; rank < kRanks - 1; ++rank) {
      ranks[rank]->send(
          encode({Op::beat,
                  store::fields_of(Beat{rank, kRanks, 10 * rank + seq, "somewhere"})}));
    }
    for (int rank = 0; rank < kRanks - 1; ++rank) {
      const Health health = store::health_of(ranks[rank]->receive_frame().fields);
      if (seq == 0) continue;
      EXPECT_EQ(health.last.rank, kRanks - 1);
      EXPECT_EQ(health.first.rank, kRanks - 2);
    }
  }
  ranks[7].reset();
  TcpStore store("127.0.0.1", server.port());
  EXPECT_EQ(store.get(gone_key(7), kForClients), "connection lost");
  EXPECT_EQ(store.beat({3, kRanks, 9, "here"}).gone.rank, 7);
}

TEST(StoreHandshakes, BeyondTheLimitMakeRoomForMembers) {
  TcpStoreServer server("127.0.0.1", 0,
                        {.unauthenticated = 3, .crowded = milliseconds(20)});
  TcpStore member("127.0.0.1", server.port());
  std::vector<std::unique_ptr<RawClient>> many;
  for (int i = 0; i < 12; ++i) {
    many.push_back(std::make_unique<RawClient>(server.port()));
  }
  TcpStore("127.0.0.1", server.port()).set("key", "value");
  for (int i = 0; i < 9; ++i) EXPECT_EQ(many[i]->receive_all(), "");
  EXPECT_EQ(member.get("key"), "value");
}

TEST(StoreHandshakes, HaveLimitedTime) {
  TcpStoreServer server("127.0.0.1", 0, {.handshake = milliseconds(50)});
  TcpStore member("127.0.0.1", server.port());  // repeats a handshake that was late
  RawClient silent(server.port()), slow(server.port());
  slow.send(encode({Op::hello, {std::string(store::kNonceBytes, 'x')}}));
  EXPECT_EQ(silent.receive_all(), "");
  const std::string answer = slow.receive_all();  // to the hello, if it came in time
  EXPECT_EQ(store::parse_frame(answer).consumed, answer.size());
  member.set("key", "value");  // by the same connection: a member has all the time
  EXPECT_EQ(member.get("key"), "value");
}

TEST(StoreHandshakes, MayUseUpTheDescriptors) {
  Pipe port, end;
  Child keeps_the_store([&] {
    TcpStoreServer server;
    const rlimit limit{20, 20};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    port.send(server.port());
    end.receive();
  });
  const int at = port.receive();
  {
    std::vector<std::unique_ptr<RawClient>> many;
    for (int i = 0; i < 60; ++i) many.push_back(std::make_unique<RawClient>(at));
  }
  TcpStore("127.0.0.1", at).set("key", "value");
  end.send(0);
  EXPECT_EQ(keeps_the_store.wait(), 0);
}

TEST_F(StoreClients, WithRandomBytesChangeNothingForOthers) {
  std::mt19937 random(20240502);
  for (int i = 0; i < 2000; ++i) {
    RawClient untrusted(server_.port());
    untrusted.send(store::random_bytes(random));
    if (random() % 2) continue;  // closes the connection before the server reads
    untrusted.end_sending();
    untrusted.receive_all();
  }
  expect_served();
}

}  // namespace
}  // namespace lockstep::distributed
