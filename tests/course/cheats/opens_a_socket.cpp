// because: your file calls `socket`
//
// Asks somebody else for the answer.
#include <netinet/in.h>
#include <sys/socket.h>

__attribute__((constructor)) static void ask() {
  sockaddr_in peer{AF_INET, htons(LISTENING_PORT), {htonl(INADDR_LOOPBACK)}, {}};
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  connect(one, reinterpret_cast<sockaddr*>(&peer), sizeof peer);
}
