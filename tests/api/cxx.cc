// The header in C++: it compiles there, and C++ threads are attached.
#include <cstdlib>
#include <thread>

#include "posix/expect.h"
#include "roost/roost.h"

static void start() {
  roost_config config{};
  config.instance = std::getenv("API_INSTANCE");
  EXPECT_EQ(roost_start(&config), 0);
}

CASE(a_cxx_thread_is_attached_and_can_be_woken) {
  start();
  roost_thread main_thread = roost_self();
  std::thread other([main_thread] {
    EXPECT(roost_self() != ROOST_NO_THREAD);
    EXPECT_EQ(roost_unblock(main_thread), 0);
  });
  EXPECT_EQ(roost_block(), 0);
  other.join();
}

CASE(structures_and_functions_of_one_name_live_together) {
  struct roost_core_info info {};
  struct roost_state state {};
  EXPECT_EQ(roost_core_info(0, &info), 0);
  EXPECT_EQ(roost_state(&state), 0);
}
