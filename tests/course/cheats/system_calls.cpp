// because: of the system, nothing worked
//
// Calls the system by address, so that only the sandbox is in its way.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include "by_address.h"

struct Intruder {
  Intruder() {
    const auto call = [](const char* name, auto... words) {
      return by_address<long(decltype(words)...)>(name)(words...);
    };
    std::string worked;
    for (const char* file : {"@KEY@", "@ROOT@/lessons/05-scatter/exercise.cpp",
                             "@WORKSPACE@/05-scatter/scatter.cpp", "/etc/passwd"}) {
      if (static_cast<int>(call("open", file, O_RDONLY)) >= 0) worked += " reading";
    }
    if (static_cast<int>(call("open", "/new", O_WRONLY | O_CREAT, 0600)) >= 0) {
      worked += " writing";
    }
    sockaddr_in peer{AF_INET, htons(LISTENING_PORT), {htonl(INADDR_LOOPBACK)}, {}};
    const int one = static_cast<int>(call("socket", AF_INET, SOCK_STREAM, 0));
    if (static_cast<int>(call("connect", one, &peer, socklen_t{sizeof peer})) == 0) {
      worked += " connecting";
    }
    if (static_cast<int>(call("kill", FOREIGN_PROCESS, 0)) == 0) worked += " signals";
    if (call("ptrace", 16, FOREIGN_PROCESS, nullptr, nullptr) == 0) worked += " ptrace";
    if (static_cast<int>(call("mount", "/", "/tmp", nullptr, 4096L, nullptr)) == 0) {
      worked += " mounting";
    }
    if (static_cast<int>(call("fork")) == 0) {
      for (;;) call("sleep", 100'000U);
    }
    throw std::runtime_error("of the system," +
                             (worked.empty() ? " nothing worked" : worked));
  }
};
static const Intruder intruder;
