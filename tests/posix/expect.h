// Named cases and checks for the programs of tests/posix, in C and in C++.
//
//   CASE(lock_is_exclusive) { EXPECT_EQ(pthread_mutex_lock(&m), 0); ... }
//
// main() runs every case in the order of the file, or those named on the command line, and prints
// each name as it starts: a program that hangs has said where. A check may fail in any thread and
// in a forked child: it prints file:line and ends that process with status 1.
//
// ROLE(name) { ... } is what this program does when it is started as `PROGRAM @name`: for cases
// that need a fresh process (see child.h).
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct expect_entry {
  const char* name;
  void (*run)(void);
  struct expect_entry* next;
};

static struct expect_entry* expect_first;
static struct expect_entry** expect_end = &expect_first;
static const char* expect_running = "(outside of a case)";

#define EXPECT_ENTRY(name, text)                                   \
  static void name(void);                                          \
  static struct expect_entry name##_entry = {text, name, 0};       \
  __attribute__((constructor)) static void name##_register(void) { \
    *expect_end = &name##_entry;                                   \
    expect_end = &name##_entry.next;                               \
  }                                                                \
  static void name(void)

#define CASE(name) EXPECT_ENTRY(case_##name, #name)
#define ROLE(name) EXPECT_ENTRY(role_##name, "@" #name)

// The condition holds.
#define EXPECT(condition)                                          \
  do {                                                             \
    if (!(condition)) expect_fail(__FILE__, __LINE__, #condition); \
  } while (0)

// Two integers are the same.
#define EXPECT_EQ(actual, wanted)                                                        \
  do {                                                                                   \
    long long expect_actual = (long long)(actual), expect_wanted = (long long)(wanted);  \
    if (expect_actual != expect_wanted)                                                  \
      expect_differ(__FILE__, __LINE__, #actual, expect_actual, #wanted, expect_wanted); \
  } while (0)

// The call returns -1 and sets errno.
#define EXPECT_ERRNO(call, wanted) \
  do {                             \
    errno = 0;                     \
    EXPECT_EQ(call, -1);           \
    EXPECT_EQ(errno, wanted);      \
  } while (0)

// Leaves the case: this system or this user does not permit it.
#define SKIP(why)                                     \
  do {                                                \
    dprintf(1, "skip %s: %s\n", expect_running, why); \
    return;                                           \
  } while (0)

// Says it without memory of the heap's, whose lock may be what the case is about, and ends.
#define EXPECT_SAY_AND_END(...)                                   \
  do {                                                            \
    char text_of_all[1024];                                       \
    snprintf(text_of_all, sizeof text_of_all, __VA_ARGS__);       \
    if (write(2, text_of_all, strlen(text_of_all)) < 0) _exit(2); \
    _exit(1);                                                     \
  } while (0)

__attribute__((noreturn, cold, unused)) static void expect_fail(const char* file, int line,
                                                                const char* text) {
  EXPECT_SAY_AND_END("%s:%d: in %s: %s\n", file, line, expect_running, text);
}

__attribute__((noreturn, cold, unused)) static void expect_differ(const char* file, int line,
                                                                  const char* actual_text,
                                                                  long long actual,
                                                                  const char* wanted_text,
                                                                  long long wanted) {
  EXPECT_SAY_AND_END("%s:%d: in %s: %s is %lld, not %s (%lld)\n", file, line, expect_running,
                     actual_text, actual, wanted_text, wanted);
}

static void expect_run(const struct expect_entry* entry) {
  expect_running = entry->name;
  if (entry->name[0] != '@') dprintf(1, "%s\n", entry->name);
  entry->run();
}

int main(int argc, char** argv) {
  for (const struct expect_entry* entry = expect_first; argc == 1 && entry; entry = entry->next) {
    if (entry->name[0] != '@') expect_run(entry);
  }
  for (int i = 1; i < argc; ++i) {
    const struct expect_entry* entry = expect_first;
    while (entry && strcmp(entry->name, argv[i]) != 0) entry = entry->next;
    if (!entry) {
      dprintf(2, "%s: there is no case %s\n", argv[0], argv[i]);
      return 2;
    }
    expect_run(entry);
  }
  return 0;
}
