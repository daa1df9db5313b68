#include "engine/distributed/rendezvous/init_method.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "base/fd.h"
#include "base/socket.h"
#include "engine/distributed/rendezvous/file_store.h"
#include "engine/distributed/rendezvous/table.h"
#include "engine/distributed/rendezvous/tcp_store.h"

namespace lockstep::distributed {
namespace {

[[noreturn]] void refuse(const std::string& url, const std::string& reason) {
  throw std::runtime_error(
      fmt::format("init method \"{}\": {}; fix: use env://, tcp://HOST:PORT, "
                  "tcp://[IPv6]:PORT or file:///PATH",
                  store::shown(url), reason));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value && *value) return value;
  throw std::runtime_error(fmt::format(
      "init method \"env://\": the environment variable {} is not set; fix: set "
      "MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, or use tcp://HOST:PORT",
      name));
}

int number_variable(const char* name) {
  const std::string text = variable(name);
  const auto value = store::parse_number(text);
  if (value && *value >= 0 && *value <= 1'000'000) return static_cast<int>(*value);
  throw std::runtime_error(
      fmt::format("init method \"env://\": the environment variable {} is \"{}\"; fix: "
                  "set it to a non-negative number",
                  name, store::shown(text)));
}

int parse_port(const std::string& url, const std::string& text) {
  const auto port = store::parse_number(text);
  if (port && *port >= 0 && *port <= 65535) return static_cast<int>(*port);
  refuse(url, fmt::format("\"{}\" is not a port number from 0 to 65535",
                          store::shown(text)));
}

/// Early versions of PyTorch used multicast addresses, and its ImageNet example still
/// has one as the default (tcp://224.66.41.62:23456). No process can listen on one.
void refuse_multicast(const std::string& url, const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  const bool is_v4 = ::inet_pton(AF_INET, host.c_str(), &v4) == 1;
  const bool is_v6 = ::inet_pton(AF_INET6, host.c_str(), &v6) == 1;
  if (!(is_v4 && IN_MULTICAST(ntohl(v4.s_addr))) &&
      !(is_v6 && IN6_IS_ADDR_MULTICAST(&v6))) {
    return;
  }
  refuse(url, fmt::format("{} is a multicast address, on which no process can listen; "
                          "use the address of the node with rank 0 instead",
                          host));
}

void parse_tcp(InitMethod& init, const std::string& url, const std::string& place) {
  const size_t colon = place.rfind(':');
  if (colon == std::string::npos) refuse(url, "the port is missing");
  init.host = place.substr(0, colon);
  init.port = parse_port(url, place.substr(colon + 1));
  const bool in_brackets = init.host.starts_with('[') && init.host.ends_with(']');
  if (in_brackets) {
    init.host = init.host.substr(1, init.host.size() - 2);
  } else if (init.host.find(':') != std::string::npos) {
    refuse(url, "an IPv6 address must be in brackets");
  }
  if (init.host.empty()) refuse(url, "the host is missing");
  refuse_multicast(url, init.host);
}

}  // namespace

InitMethod parse_init_method(const std::string& url, int rank, int world_size) {
  InitMethod init;
  init.rank = rank;
  init.world_size = world_size;
  if (url == "env://") {
    init.host = variable("MASTER_ADDR");
    init.port = parse_port("env:// with MASTER_PORT", variable("MASTER_PORT"));
    if (rank < 0) init.rank = number_variable("RANK");
    if (world_size < 0) init.world_size = number_variable("WORLD_SIZE");
    refuse_multicast("env:// with MASTER_ADDR", init.host);
  } else if (url.starts_with("tcp://")) {
    init.kind = InitMethod::Kind::tcp;
    parse_tcp(init, url, url.substr(6));
  } else if (url.starts_with("file://")) {
    init.kind = InitMethod::Kind::file;
    init.path = url.substr(7);
    if (!init.path.starts_with('/')) refuse(url, "the path must begin with a slash");
    if (init.path.ends_with('/')) refuse(url, "the path does not name a file");
  } else if (url.starts_with("local://")) {
    init.kind = InitMethod::Kind::local;
    init.path = url.substr(8);
    if (!init.path.starts_with('/')) refuse(url, "the path must begin with a slash");
  } else {
    refuse(url, "unknown");
  }
  return init;
}

namespace {

/// What rank 0 writes for the other ranks of its machine.
struct LocalPlace {
  int port = 0;
  std::string secret;
};

/// Waits for rank 0 to write its place. Another user's file is not read.
LocalPlace place_in(const std::string& path, Milliseconds timeout) {
  const auto deadline = deadline_after(timeout);
  for (;;) {
    struct stat status{};
    if (::lstat(path.c_str(), &status) == 0 && status.st_uid == ::geteuid() &&
        S_ISREG(status.st_mode)) {
      LocalPlace place;
      if (std::ifstream(path) >> place.port >> place.secret) return place;
    }
    if (Clock::now() >= deadline) {
      throw StoreGone(fmt::format(
          "{}: rank 0 has not written its port there after {}; is it running on this "
          "machine?",
          path, store::seconds(timeout)));
    }
    std::this_thread::sleep_for(Milliseconds(20));
  }
}

/// In place of a secret: rank 0 has one from its environment, as the others must.
constexpr const char* kNotDrawn = "-";

/// Writes a file that only this user can read, in whole or not at all.
void write_private(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  ::unlink(temporary.c_str());
  const Fd file(::open(temporary.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const auto size = file ? ::write(file.get(), text.data(), text.size()) : -1;
  if (size >= 0 && size < std::ssize(text)) errno = ENOSPC;
  const bool written = size == std::ssize(text);
  if (written && ::rename(temporary.c_str(), path.c_str()) == 0) return;
  throw std::runtime_error(
      fmt::format("{}: cannot be written: {}; fix: use --dist-url tcp://127.0.0.1:PORT",
                  path, std::strerror(errno)));
}

std::shared_ptr<Store> make_local_store(const InitMethod& init, int rank,
                                        Milliseconds timeout) {
  const std::string& here = loopback_address();
  Credentials credentials = init.credentials;
  if (rank != 0) {
    const LocalPlace place = place_in(init.path, timeout);
    if (credentials.secret.empty() && place.secret != kNotDrawn) {
      credentials.secret = place.secret;
    }
    return std::make_shared<TcpStore>(here, place.port, timeout, nullptr, credentials);
  }
  const bool draws = credentials.secret.empty();
  if (draws) credentials.secret = draw_secret();
  auto server =
      std::make_unique<TcpStoreServer>(here, 0, TcpStoreServer::Limits{}, credentials);
  const int port = server->port();
  write_private(init.path,
                fmt::format("{} {}\n", port, draws ? credentials.secret : kNotDrawn));
  return std::make_shared<TcpStore>(here, port, timeout, std::move(server),
                                    credentials);
}

}  // namespace

/// How long rank 0, which cannot join, hosts the store for the others to read why.
constexpr Milliseconds kTimeToRead{1000};

void forget_place(const InitMethod& init) {
  if (init.kind == InitMethod::Kind::local) ::unlink(init.path.c_str());
}

std::shared_ptr<Store> make_store(const InitMethod& init, int rank, int world_size,
                                  Milliseconds timeout) {
  store::check_rank(rank, world_size);
  std::shared_ptr<Store> made;
  if (init.kind == InitMethod::Kind::file) {
    made = std::make_shared<FileStore>(init.path, timeout);
  } else if (init.kind == InitMethod::Kind::local) {
    made = make_local_store(init, rank, timeout);
  } else if (rank == 0) {
    auto server =
        std::make_unique<TcpStoreServer>(listen_for(init.host, init.port), init.host,
                                         TcpStoreServer::Limits{}, init.credentials);
    const int port = server->port();
    made = std::make_shared<TcpStore>(init.host, port, timeout, std::move(server),
                                      init.credentials);
  } else if (init.port == 0) {
    throw std::runtime_error(
        fmt::format("{}: rank {} cannot know which port rank 0 chooses for port 0; "
                    "fix: specify a port",
                    tcp_url(init.host, 0), rank));
  } else {
    made = std::make_shared<TcpStore>(init.host, init.port, timeout, nullptr,
                                      init.credentials);
  }
  try {
    made->join(rank, world_size);
  } catch (const std::exception&) {
    made->linger(kTimeToRead);
    throw;
  }
  return made;
}

}  // namespace lockstep::distributed
