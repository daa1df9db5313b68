// Sockets on loopback: listening, connecting, and errors of both.
// sanitize: address
#include "base/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "tests/base/test_files.h"

namespace lockstep {
namespace {

const std::string kLocal = "127.0.0.1";

TimePoint soon() { return deadline_after(std::chrono::seconds(60)); }
TimePoint now() { return deadline_after(Milliseconds(0)); }

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(Socket, ListensForANameOnAllAddressesAndForItsOwnAddressOnlyThere) {
  EXPECT_TRUE(listens_everywhere(listen_for("localhost", 0)));
  EXPECT_TRUE(listens_everywhere(listen_for("no-such-name.invalid", 0)));
  EXPECT_TRUE(listens_everywhere(listen_for("192.0.2.1", 0)));  // not this machine's
  const Fd here = listen_for(kLocal, 0);
  EXPECT_FALSE(listens_everywhere(here));
  EXPECT_EQ(own_end(here), kLocal);
}

TEST(Socket, AnIpv4AddressIsShownAsSuch) {
  const Fd listener = listen_for("localhost", 0);
  const auto connected = connect_to(kLocal, port_of(listener), soon());
  ASSERT_TRUE(connected.socket) << connected.why_not;
  ASSERT_TRUE(wait_until_ready(listener, POLLIN, soon()));
  const Fd accepted = accept_from(listener);
  EXPECT_EQ(own_end(accepted), kLocal);
  EXPECT_EQ(other_end(accepted), kLocal);
  EXPECT_TRUE(is_loopback("127.0.1.1") && is_loopback("::1"));
  EXPECT_FALSE(is_loopback("10.0.0.1") || is_loopback(""));
}

TEST(Socket, UrlsHaveBracketsAroundIpv6) {
  EXPECT_EQ(tcp_url("localhost", 80), "tcp://localhost:80");
  EXPECT_EQ(tcp_url("::1", 80), "tcp://[::1]:80");
}

TEST(Socket, CarriesBytesBothWays) {
  const Fd listener = listen_at(kLocal, 0);
  EXPECT_NE(port_of(listener), 0);
  const Connected client = connect_to(kLocal, port_of(listener), soon());
  ASSERT_TRUE(client.socket) << client.why_not;
  ASSERT_TRUE(wait_until_ready(listener, POLLIN, soon()));
  const Fd server = accept_from(listener);
  ASSERT_TRUE(server);
  for (const auto& [from, to] :
       {std::pair{&client.socket, &server}, std::pair{&server, &client.socket}}) {
    char byte = 0;
    EXPECT_EQ(::send(from->get(), "x", 1, MSG_NOSIGNAL), 1);
    ASSERT_TRUE(wait_until_ready(*to, POLLIN, soon()));
    EXPECT_EQ(::recv(to->get(), &byte, 1, 0), 1);
    EXPECT_EQ(byte, 'x');
  }
}

TEST(Socket, NeverBlocksAndClosesOnExec) {
  const Fd listener = listen_at(kLocal, 0);
  const Connected client = connect_to(kLocal, port_of(listener), soon());
  ASSERT_TRUE(wait_until_ready(listener, POLLIN, soon()));
  const Fd server = accept_from(listener);
  for (const Fd* socket : {&listener, &client.socket, &server}) {
    EXPECT_TRUE(::fcntl(socket->get(), F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(::fcntl(socket->get(), F_GETFD) & FD_CLOEXEC);
  }
  EXPECT_FALSE(accept_from(listener));
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(wait_until_ready(server, POLLIN, now()));
  EXPECT_FALSE(wait_until_ready(listener, POLLIN, deadline_after(Milliseconds(20))));
}

TEST(Socket, SaysWhyItCannotConnect) {
  const int port = port_of(listen_at(kLocal, 0));  // closed at once
  const Connected refused = connect_to(kLocal, port, soon());
  EXPECT_FALSE(refused.socket);
  EXPECT_EQ(refused.why_not, "Connection refused");
}

// Without a guard, the kernel would pick `port` as the local port of one of the
// attempts, and the socket would connect to itself.
TEST(Socket, DoesNotConnectToItself) {
  const int port = port_of(listen_at(kLocal, 0));
  for (int i = 0; i < 2000; ++i) {
    ASSERT_FALSE(connect_to(kLocal, port, soon()).socket) << "attempt " << i;
  }
}

TEST(Socket, SaysWhyItCannotListen) {
  const Fd first = listen_at(kLocal, 0);
  expect_error([&] { listen_at(kLocal, port_of(first)); },
               tcp_url(kLocal, port_of(first)), "Address already in use",
               "fix: stop the program that is listening there, or use another port");
  expect_error([] { listen_at("192.0.2.1", 0); }, "tcp://192.0.2.1:0",
               "fix: use an address of this machine");
}

TEST(Socket, NamesAHostThatCannotBeResolved) {
  expect_error([] { listen_at("no such host", 1); }, "tcp://no such host:1",
               "cannot be resolved", "fix:");
  expect_error([] { connect_to("no such host", 1, now()); }, "cannot be resolved");
}

TEST(Fd, ClosesWhatItHolds) {
  const int plain = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  {
    const Fd fd(plain);
    EXPECT_TRUE(is_open(plain));
  }
  EXPECT_FALSE(is_open(plain));
}

TEST(Fd, MovesAndClosesAtAssignment) {
  const int first = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int second = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  Fd a(first), b(second);
  a = std::move(b);
  EXPECT_FALSE(is_open(first));
  EXPECT_EQ(a.get(), second);
  EXPECT_FALSE(b);  // NOLINT: moved from, empty
  Fd& same = a;
  a = std::move(same);
  EXPECT_TRUE(is_open(second));
  const Fd released(a.release());
  EXPECT_FALSE(a);
  EXPECT_TRUE(is_open(second));
}

}  // namespace
}  // namespace lockstep
