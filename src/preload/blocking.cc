// What is learned when a call waited with the core in hand.
#include "preload/blocking.h"

namespace roost {

void waited_with_core(int fd, bool sending) {
  if (!in_managed_process()) return;
  if (sending && is_socket(kind_of(fd))) {
    remember(fd, Kind::full_socket);
  } else {
    forget(fd);
  }
  int saved = errno;
  regain_core();
  errno = saved;
}

}  // namespace roost
