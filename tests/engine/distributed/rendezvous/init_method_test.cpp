// env://, tcp://… and file:///…: accepted and rejected values, and the resulting store.
// sanitize: address thread
#include "engine/distributed/rendezvous/init_method.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "base/socket.h"
#include "engine/distributed/rendezvous/tcp_store.h"
#include "tests/base/test_files.h"

namespace lockstep::distributed {
namespace {

using Kind = InitMethod::Kind;
constexpr auto kLong = std::chrono::seconds(60);

/// Sets or unsets an environment variable for the enclosing scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    change(value);
  }
  ~Variable() { change(old_ ? old_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void change(const char* value) {
    value ? ::setenv(name_, value, 1) : ::unsetenv(name_);
  }

  const char* const name_;
  std::optional<std::string> old_;
};

TEST(InitMethod, ReadsTcp) {
  const InitMethod init = parse_init_method("tcp://node0:2345", 1, 2);
  EXPECT_EQ(init.kind, Kind::tcp);
  EXPECT_EQ(init.host, "node0");
  EXPECT_EQ(init.port, 2345);
  EXPECT_EQ(init.rank, 1);
  EXPECT_EQ(init.world_size, 2);
  EXPECT_EQ(parse_init_method("tcp://[fe80::1]:80").host, "fe80::1");
  EXPECT_EQ(parse_init_method("tcp://127.0.0.1:0").port, 0);
}

TEST(InitMethod, ReadsAFile) {
  const InitMethod init = parse_init_method("file:///tmp/a store");
  EXPECT_EQ(init.kind, Kind::file);
  EXPECT_EQ(init.path, "/tmp/a store");
}

TEST(InitMethod, ReadsTheEnvironment) {
  Variable address("MASTER_ADDR", "::1"), port("MASTER_PORT", "29500"),
      rank("RANK", "3"), size("WORLD_SIZE", "4");
  const InitMethod init = parse_init_method("env://");
  EXPECT_EQ(init.kind, Kind::env);
  EXPECT_EQ(init.host, "::1");
  EXPECT_EQ(init.port, 29500);
  EXPECT_EQ(init.rank, 3);
  EXPECT_EQ(init.world_size, 4);
  EXPECT_EQ(parse_init_method("env://", 0).rank, 0);  // overrides the variable
}

TEST(InitMethod, NamesTheVariableThatIsMissingOrWrong) {
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"}) {
    Variable address("MASTER_ADDR", "node0"), port("MASTER_PORT", "29500"),
        rank("RANK", "0"), size("WORLD_SIZE", "1");
    {
      Variable missing(name, nullptr);
      expect_error([] { parse_init_method("env://"); },
                   std::string("variable ") + name + " is not set");
    }
    if (name == std::string("MASTER_ADDR")) continue;
    Variable wrong(name, "-1");
    expect_error([] { parse_init_method("env://"); }, name, "\"-1\"");
  }
  Variable address("MASTER_ADDR", "node0"), port("MASTER_PORT", "29500"),
      rank("RANK", nullptr), size("WORLD_SIZE", nullptr);
  EXPECT_EQ(parse_init_method("env://", 0, 1).rank, 0);  // neither variable is read
}

bool has_ipv6() {
  try {
    listen_at("::1", 0);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

void expect_refused(const std::string& url, const std::string& reason) {
  expect_error([&] { parse_init_method(url); }, "init method \"" + url + "\"", reason,
               "env://, tcp://HOST:PORT, tcp://[IPv6]:PORT or file:///PATH");
}

TEST(InitMethod, RefusesOtherForms) {
  expect_refused("", "unknown");
  expect_refused("127.0.0.1:2345", "unknown");
  expect_refused("mpi://", "unknown");
  expect_refused("env://?rank=0", "unknown");
  expect_refused("tcp://node0", "the port is missing");
  expect_refused("tcp://:2345", "the host is missing");
  expect_refused("tcp://[]:2345", "the host is missing");
  expect_refused("tcp://node0:65536", "\"65536\" is not a port");
  expect_refused("tcp://node0:-1", "\"-1\" is not a port");
  expect_refused("tcp://node0:2345/", "\"2345/\" is not a port");
  expect_refused("tcp://node0:", "\"\" is not a port");
  expect_refused("tcp://::1:2345", "must be in brackets");
  expect_refused("file://tmp/store", "the path must begin with a slash");
  expect_refused("file:///tmp/", "the path does not name a file");
}

TEST(InitMethod, RefusesMulticast) {
  const std::string fix = "use the address of the node with rank 0 instead";
  expect_refused("tcp://224.66.41.62:23456", "224.66.41.62 is a multicast address");
  expect_refused("tcp://224.66.41.62:23456", fix);
  expect_refused("tcp://[ff02::1]:23456", "ff02::1 is a multicast address");
  Variable address("MASTER_ADDR", "239.1.1.1"), port("MASTER_PORT", "29500");
  expect_error([] { parse_init_method("env://", 0, 1); }, "MASTER_ADDR", "multicast",
               fix);
}

TEST(MakeStore, RankZeroKeepsTheServer) {
  const int port = TcpStoreServer().port();
  const auto init = parse_init_method("tcp://127.0.0.1:" + std::to_string(port));
  const auto zero = make_store(init, 0, 2, kLong);
  const auto one = make_store(init, 1, 2, kLong);
  EXPECT_EQ(one->describe(), "tcp://127.0.0.1:" + std::to_string(port));
  EXPECT_EQ(one->timeout(), kLong);
  one->set("key", "value");
  EXPECT_EQ(zero->get("key"), "value");
  expect_error([&] { make_store(init, 1, 2, kLong); }, "rank 1 joined twice");
  expect_error([&] { make_store(init, 0, 2, kLong); }, "Address already in use");
}

TEST(MakeStore, PortZeroIsForOne) {
  const auto init = parse_init_method("tcp://127.0.0.1:0");
  const auto store = make_store(init, 0, 1, kLong);
  EXPECT_EQ(store->add("key", 1), 1);
  EXPECT_FALSE(store->describe().ends_with(":0"));
  expect_error([&] { make_store(init, 1, 2, kLong); }, "tcp://127.0.0.1:0",
               "specify a port");
}

class MakeFileStore : public ScratchTest {};

TEST_F(MakeFileStore, JoinsToo) {
  const auto init = parse_init_method("file://" + (scratch_ / "store").string());
  const auto zero = make_store(init, 0, 2, kLong);
  expect_error([&] { make_store(init, 0, 2, kLong); }, "rank 0 joined twice");
  make_store(init, 1, 2, kLong)->set("key", "value");
  EXPECT_EQ(zero->get("key"), "value");
}

TEST_F(MakeFileStore, ALocalPlaceHoldsThePortThatRankZeroChose) {
  const std::string path = scratch_ / "port";
  const auto init = parse_init_method("local://" + path);
  expect_error([&] { make_store(init, 1, 2, std::chrono::milliseconds(30)); }, path,
               "rank 0 has not written its port");
  const auto zero = make_store(init, 0, 2, kLong);
  const auto one = make_store(init, 1, 2, kLong);
  one->set("key", "value");
  EXPECT_EQ(zero->get("key"), "value");
  forget_place(init);
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// A name may mean different addresses on different machines, and an address may be
/// that of a service in front of this machine.
TEST(MakeStore, RankZeroCanBeReachedWhateverItsNameMeans) {
  for (const char* name :
       {"localhost", "no-such-name.invalid", "0.0.0.0", "[::]", "192.0.2.1"}) {
    const int port = TcpStoreServer().port();
    const auto init =
        parse_init_method("tcp://" + std::string(name) + ":" + std::to_string(port));
    const auto zero = make_store(init, 0, 2, kLong);
    zero->set("key", name);
    EXPECT_EQ(TcpStore("127.0.0.1", port, kLong).get("key"), name);
    if (!has_ipv6()) continue;
    EXPECT_EQ(TcpStore("::1", port, kLong).get("key"), name);
  }
}

TEST(MakeStore, ChecksTheRankFirst) {
  const auto init = parse_init_method("tcp://127.0.0.1:1");
  expect_error([&] { make_store(init, 4, 4, kLong); }, "rank 4", "size 4");
}

}  // namespace
}  // namespace lockstep::distributed
