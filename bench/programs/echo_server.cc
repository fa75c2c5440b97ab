// A TCP echo server with a thread a connection, as many servers have: prints its port, and serves
// until its standard input ends.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace {

void serve(int connection) {
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  char buffer[4096];
  for (ssize_t got; (got = read(connection, buffer, sizeof buffer)) > 0;) {
    if (write(connection, buffer, static_cast<std::size_t>(got)) != got) break;
  }
  close(connection);
}

void accept_all(int listener) {
  for (;;) {
    int connection = accept(listener, nullptr, nullptr);
    if (connection < 0) return;
    std::thread(serve, connection).detach();
  }
}

}  // namespace

int main() {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener, 128) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    perror("echo_server");
    return 1;
  }
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  std::thread(accept_all, listener).detach();
  char byte;
  while (read(0, &byte, 1) > 0) continue;
  _exit(0);
}
