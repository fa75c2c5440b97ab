// Threads that wait by spinning in three loops, or rest, as they are told, and look at their own
// code.
//
//   spin_phases THREADS
// reads commands from standard input, a character each:
//   s  spin: the threads meet at barriers, until told otherwise
//   r  rest: they block
//   c  print "code FAR NEAR HEAD ELSE": bytes of each loop and of the rest of the text that differ
//      from the file (behind NEAR lies padding, which is not counted)
//   e  end: print how often the threads met
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Waits while *word is `value`: by a branch with 4 bytes of distance, and with one; and while
// `sense` is, with no padding in reach.
void wait_far(atomic_int* word, int value);
void wait_near(atomic_int* word, int value);
void wait_head(int value);
atomic_int sense;
#if defined(__x86_64__)
extern const char far_end[], near_end[], padding_end[], head_end[];
__asm__(
    ".text\n.p2align 4\n.type wait_far,@function\nwait_far:\n.cfi_startproc\n"
    "xchg %ax, %ax\n1: mov (%rdi), %eax\ncmp %esi, %eax\n{disp32} je 1b\nret\n"
    "far_end:\n.cfi_endproc\n.size wait_far, .-wait_far\n"
    ".p2align 4\n.type wait_near,@function\nwait_near:\n.cfi_startproc\n"
    "1: mov (%rdi), %eax\ncmp %esi, %eax\nje 1b\nret\n"
    "near_end:\n.cfi_endproc\n.size wait_near, .-wait_near\n.p2align 4\npadding_end:\n"
    ".type wait_head,@function\nwait_head:\n.cfi_startproc\n"
    ".rept 160\nclc\n.endr\n.p2align 3\n"
    "1: mov sense(%rip), %eax\ncmp %edi, %eax\nje 1b\n.rept 160\nclc\n.endr\nret\n"
    "head_end:\n.cfi_endproc\n.size wait_head, .-wait_head\n");
#else
static const char far_end[1], near_end[1], padding_end[1], head_end[1];
void wait_far(atomic_int* word, int value) {
  while (atomic_load(word) == value) {
  }
}
void wait_near(atomic_int* word, int value) { wait_far(word, value); }
void wait_head(int value) { wait_far(&sense, value); }
#endif

static int threads;
static atomic_int arrived, meetings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static _Atomic char command = 'r';

static void meet(void) {
  int before = atomic_load(&sense);
  if (atomic_fetch_add(&arrived, 1) == threads - 1) {
    atomic_store(&arrived, 0);
    atomic_fetch_add(&meetings, 1);
    atomic_fetch_add(&sense, 1);
  } else if (before % 3 == 0) {
    wait_far(&sense, before);
  } else if (before % 3 == 1) {
    wait_near(&sense, before);
  } else {
    wait_head(before);
  }
}

static void* member(void* unused) {
  for (;;) {
    // All decide alike: by what the last to arrive saw.
    static _Atomic char decided;
    meet();
    atomic_store(&decided, atomic_load(&command));
    meet();
    char now = atomic_load(&decided);
    meet();
    if (now == 'e') return unused;
    pthread_mutex_lock(&lock);
    while (now == 'r' && atomic_load(&command) == 'r') pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
  }
}

struct text {
  const unsigned char *now, *file;
  size_t size;
};

static int find_text(struct dl_phdr_info* object, size_t size, void* data) {
  struct text* text = data;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* p = &object->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
    text->now = (const unsigned char*)(object->dlpi_addr + p->p_vaddr);
    text->file += p->p_offset;
    text->size = p->p_filesz;
  }
  return 1;  // the program is the first
}

static int differing(const struct text* text, const char* from, const char* to) {
  int count = 0;
  for (const char* at = from; at < to; ++at) {
    size_t offset = (size_t)((const unsigned char*)at - text->now);
    count += text->now[offset] != text->file[offset];
  }
  return count;
}

static void print_code(void) {
  struct text text = {0};
  struct stat status;
  int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &status) != 0) exit(3);
  void* file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (file == MAP_FAILED) exit(3);
  close(fd);
  text.file = file;
  dl_iterate_phdr(find_text, &text);
  const char *far_start = (const char*)wait_far, *near_start = (const char*)wait_near;
  const char* head_start = (const char*)wait_head;
  const char *start = (const char*)text.now, *end = start + text.size;
  printf("code %d %d %d %d\n", differing(&text, far_start, far_end),
         differing(&text, near_start, near_end), differing(&text, head_start, head_end),
         differing(&text, start, far_start) + differing(&text, far_end, near_start) +
             differing(&text, padding_end, head_start) + differing(&text, head_end, end));
  munmap(file, (size_t)status.st_size);
}

int main(int argc, char** argv) {
  if (argc != 2 || (threads = atoi(argv[1])) < 1 || threads > 64) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  pthread_t members[64];
  for (int i = 0; i < threads; ++i) {
    if (pthread_create(&members[i], NULL, member, NULL) != 0) return 1;
  }
  for (char next = 0; next != 'e';) {
    if (read(STDIN_FILENO, &next, 1) != 1) next = 'e';
    if (next == 'c') {
      print_code();
      continue;
    }
    pthread_mutex_lock(&lock);
    atomic_store(&command, next);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
  }
  for (int i = 0; i < threads; ++i) pthread_join(members[i], NULL);
  printf("%d meetings\n", atomic_load(&meetings));
  return 0;
}
