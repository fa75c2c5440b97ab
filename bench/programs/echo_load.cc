// The load of a TCP echo server: each connection sends 64 bytes, waits for them, and sends again.
//
//   echo_load CONNECTIONS SECONDS PORT
//
// One thread with epoll. Prints messages a second and the latency's percentiles as one JSON line.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMessage = 64;

struct Connection {
  int fd;
  Clock::time_point sent;
  std::size_t got;
  char buffer[kMessage];
};

[[noreturn]] void fail(const char* what) {
  perror(what);
  exit(1);
}

void send_message(Connection& c, unsigned number) {
  char message[kMessage];
  memset(message, static_cast<int>('a' + number % 26), sizeof message);
  c.got = 0;
  c.sent = Clock::now();
  if (write(c.fd, message, sizeof message) != static_cast<ssize_t>(sizeof message)) fail("write");
}

double percentile(const std::vector<double>& ordered, unsigned percent) {
  std::size_t rank = (ordered.size() * percent + 99) / 100;
  return ordered[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "echo_load: usage: echo_load CONNECTIONS SECONDS PORT\n");
    return 2;
  }
  std::vector<Connection> connections(static_cast<std::size_t>(atoi(argv[1])));
  double seconds = atof(argv[2]);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(atoi(argv[3])));

  int poller = epoll_create1(EPOLL_CLOEXEC);
  const int on = 1;
  for (Connection& c : connections) {
    c.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(c.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("connect");
    setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{EPOLLIN, {&c}};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, c.fd, &event) != 0) fail("epoll_ctl");
  }

  std::vector<double> latencies;
  latencies.reserve(1 << 20);
  Clock::time_point start = Clock::now(), now = start;
  auto end = start + std::chrono::duration<double>(seconds);
  unsigned number = 0;
  for (Connection& c : connections) send_message(c, number);
  while (now < end) {
    epoll_event events[64];
    int n = epoll_wait(poller, events, 64, 1000);
    if (n <= 0) fail("epoll_wait");
    for (int i = 0; i < n; ++i) {
      Connection& c = *static_cast<Connection*>(events[i].data.ptr);
      ssize_t got = read(c.fd, c.buffer + c.got, kMessage - c.got);
      if (got <= 0) fail("read");
      c.got += static_cast<std::size_t>(got);
      if (c.got < kMessage) continue;
      if (c.buffer[0] != c.buffer[kMessage - 1]) {
        fprintf(stderr, "echo_load: a wrong answer\n");
        return 1;
      }
      now = Clock::now();
      latencies.push_back(std::chrono::duration<double, std::micro>(now - c.sent).count());
      send_message(c, ++number);
    }
  }
  double took = std::chrono::duration<double>(now - start).count();
  std::sort(latencies.begin(), latencies.end());
  printf(
      "{\"program\": \"echo_load\", \"value\": %.1f, \"unit\": \"messages/s\", \"p50_us\": %.2f, "
      "\"p99_us\": %.2f}\n",
      static_cast<double>(latencies.size()) / took, percentile(latencies, 50),
      percentile(latencies, 99));
}
