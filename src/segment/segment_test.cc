// The shared segment: made once, seen alike by all, refused when it is not what it should be, and
// gone with its last process.
#include "segment/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "os/child_test.h"
#include "segment/instance_test.h"
#include "segment/thread_state.h"

namespace roost {
namespace {

TEST(Segment, the_creator_fixes_cores_policy_and_parameters) {
  TestInstance instance(3);
  instance.config().cores[1].os_cpu = 77;
  instance.config().parameters[0] = 123;
  Member member(instance);
  ASSERT_EQ(member.error, 0) << segment_error(member.error);
  const SegmentHeader& header = *member.segment.header;
  EXPECT_STREQ(header.instance, instance.config().instance);
  EXPECT_STREQ(header.policy, "coop");
  EXPECT_EQ(header.n_cores, 3);
  EXPECT_EQ(header.parameters[0], 123u);
  EXPECT_EQ(member.segment.core_info[1].os_cpu, 77);
  EXPECT_EQ(header.idle[0].bits.load(), 7u);  // all cores are free
  struct stat status;
  ASSERT_EQ(stat(instance.path(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST(Segment, the_mode_does_not_depend_on_the_umask) {
  TestInstance instance;
  mode_t before = umask(0777);
  Member member(instance);
  umask(before);
  EXPECT_EQ(member.error, 0);
}

TEST(Segment, later_members_see_what_earlier_ones_write_and_keep_their_settings) {
  TestInstance instance(3);
  Member first(instance);
  instance.config().n_cores = 1;
  instance.config().parameters[0] = 5;
  Member second(instance);
  ASSERT_EQ(second.error, 0);
  EXPECT_NE(first.index, second.index);
  EXPECT_NE(first.segment.header, second.segment.header);
  EXPECT_EQ(second.segment.header->n_cores, 3);
  EXPECT_NE(second.segment.header->parameters[0], 5u);
  first.segment.cores[2].owner.store(41);
  EXPECT_EQ(second.segment.cores[2].owner.load(), 41u);
}

TEST(Segment, cores_are_chosen_by_the_creator_only) {
  TestInstance instance;
  instance.config().choose_cores = [](SegmentConfig& config) {
    config.n_cores = 1;
    config.cores[0] = {9, 0, 0, 0, 0, 1};
    config.choose_cores = [](SegmentConfig&) { ADD_FAILURE() << "asked twice"; };
  };
  Member first(instance), second(instance);
  EXPECT_EQ(second.segment.header->n_cores, 1);
  EXPECT_EQ(second.segment.core_info[0].os_cpu, 9);
}

TEST(Segment, a_reader_needs_no_slot_and_cannot_write) {
  TestInstance instance;
  Segment view;
  EXPECT_EQ(segment_open(view, instance.path(), false), -ENOENT);
  Member member(instance);
  ASSERT_EQ(segment_open(view, instance.path(), false), 0);
  EXPECT_EQ(view.header->n_cores, 2);
  segment_unmap(view);
}

// Names.

int path_error(const std::string& name) {
  char path[kSegmentPathBytes];
  return segment_path(path, 1000, name.c_str(), os::kFirstPidNamespace);
}

TEST(Segment, what_is_abandoned_is_zero_where_it_was_and_untouched_for_others) {
  TestInstance instance(3);
  Member member(instance);
  Segment view;
  ASSERT_EQ(segment_open(view, instance.path(), true), 0);
  view.cores[2].owner.store(41);
  const std::atomic<ThreadIndex>& owner = view.cores[2].owner;
  segment_abandon(view);
  EXPECT_EQ(view.header, nullptr);
  EXPECT_EQ(owner.load(), 0u);  // whoever is in the middle of using it reads on
  EXPECT_EQ(member.segment.cores[2].owner.load(), 41u);
}

TEST(Segment, names_are_short_and_plain) {
  char path[kSegmentPathBytes];
  ASSERT_EQ(segment_path(path, 1000, "A.b_c-9", os::kFirstPidNamespace), 0);
  EXPECT_STREQ(path, "/dev/shm/roost-1000-A.b_c-9");
  ASSERT_EQ(segment_path(path, 1000, "A.b_c-9", 4026532201), 0);
  EXPECT_STREQ(path, "/dev/shm/roost-1000-A.b_c-9@4026532201");
  EXPECT_EQ(path_error(std::string(kInstanceNameBytes - 1, 'x')), 0);
  EXPECT_EQ(path_error(std::string(kInstanceNameBytes, 'x')), kSegmentBadName);
  for (const char* bad : {"", "a/b", "a b", "../x", "\xc3\xa4"}) {
    EXPECT_EQ(path_error(bad), kSegmentBadName) << bad;
  }
}

// What is refused.

class Refused : public testing::Test {
 protected:
  TestInstance instance;
  Member member{instance};  // keeps the instance in use

  SegmentHeader& header() { return *member.segment.header; }
  int attach_error() { return Member(instance).error; }
  void expect(int error) {
    EXPECT_EQ(attach_error(), error);
    Segment view;
    EXPECT_EQ(segment_open(view, instance.path(), false), error);
    EXPECT_EQ(view.header, nullptr);
  }
};

TEST_F(Refused, another_users_file) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(instance.path(), 12345, 12345), 0);
  expect(kSegmentWrongOwner);
}

TEST_F(Refused, what_is_no_file) {
  unlink(instance.path());
  ASSERT_EQ(mkfifo(instance.path(), 0600), 0);
  EXPECT_EQ(attach_error(), kSegmentWrongOwner);
}

TEST_F(Refused, a_link) {
  unlink(instance.path());
  ASSERT_EQ(symlink("/dev/null", instance.path()), 0);
  expect(-ELOOP);
}

TEST_F(Refused, a_file_others_may_write) {
  for (mode_t mode : {0644, 0660, 0602, 0700, 04600}) {
    ASSERT_EQ(chmod(instance.path(), mode), 0);
    expect(kSegmentWrongMode);
  }
}

TEST_F(Refused, another_kind_of_file) {
  header().magic ^= 1;
  expect(kSegmentBadMagic);
}

TEST_F(Refused, another_version_or_layout) {
  ++header().abi_version;
  expect(kSegmentOtherVersion);
  --header().abi_version;
  ++header().layout_hash;
  expect(kSegmentOtherVersion);
}

TEST_F(Refused, another_container) {
  ++header().pid_namespace;
  expect(kSegmentOtherNamespace);
}

TEST_F(Refused, damage_to_any_size_or_offset) {
  SegmentHeader good;
  std::memcpy(static_cast<void*>(&good), &header(), sizeof good);
  using Damage = std::function<void(SegmentHeader&)>;
  const Damage kinds[] = {
      [](SegmentHeader& h) { h.n_cores = 0; },
      [](SegmentHeader& h) { h.n_cores = 1; },
      [](SegmentHeader& h) { h.n_cores = 0xffff; },
      [](SegmentHeader& h) { h.n_processes = 1; },
      [](SegmentHeader& h) { h.n_threads = 0; },
      [](SegmentHeader& h) { h.n_threads *= 2; },
      [](SegmentHeader& h) { h.n_threads = 0xffffffff; },
      [](SegmentHeader& h) { h.header_bytes = 0; },
      [](SegmentHeader& h) { h.total_bytes -= 4096; },
      [](SegmentHeader& h) { h.total_bytes += 4096; },
      [](SegmentHeader& h) { h.cores_offset += 8; },
      [](SegmentHeader& h) { h.core_info_offset = ~0ull; },
      [](SegmentHeader& h) { h.threads_offset += 4096; },
      [](SegmentHeader& h) { h.processes_offset = 0; },
      [](SegmentHeader& h) { h.fifos_offset -= 128; },
      [](SegmentHeader& h) { h.thread_bits_offset = h.total_bytes; },
      [](SegmentHeader& h) { std::memset(h.instance, 'x', sizeof h.instance); },
      [](SegmentHeader& h) { std::memset(h.policy, 'x', sizeof h.policy); },
  };
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    SCOPED_TRACE("damage " + std::to_string(i));
    kinds[i](header());
    expect(kSegmentDamaged);
    std::memcpy(static_cast<void*>(&header()), &good, sizeof good);
  }
  EXPECT_EQ(attach_error(), 0);
}

TEST_F(Refused, a_file_cut_short) {
  std::uint64_t whole = header().total_bytes;
  ASSERT_EQ(truncate(instance.path(), static_cast<off_t>(whole - 4096)), 0);
  expect(kSegmentDamaged);
  ASSERT_EQ(truncate(instance.path(), 100), 0);
  expect(kSegmentDamaged);
  segment_unmap(member.segment);  // its pages are gone
}

TEST_F(Refused, one_process_too_many) {
  for (ProcessIndex i = 0; i < kMaxProcesses; ++i) {
    ProcessSlot<RealWorld>& slot = member.segment.processes[i];
    slot.pid = getpid();
    slot.start_time = member.segment.processes[member.index].start_time;
    slot.state.store(static_cast<std::uint32_t>(ProcessState::live));
  }
  EXPECT_EQ(attach_error(), kSegmentNoProcessSlot);
}

TEST(Segment, every_error_is_a_sentence_of_its_own) {
  std::set<std::string> sentences;
  for (int error = kSegmentBadName; error <= kSegmentWrongOwner; ++error) {
    sentences.insert(segment_error(error));
  }
  EXPECT_EQ(sentences.size(), 10u);
  EXPECT_STREQ(segment_error(-ENOSPC), strerror(ENOSPC));
}

// Life and death.

TEST(Segment, the_last_process_out_removes_it) {
  TestInstance instance;
  Child other([&](auto ready) {
    Member member(instance);
    ready();
    sleep_for_ever();
  });
  Member member(instance);
  member.leave();
  EXPECT_TRUE(instance.exists());
  other.kill_and_reap();
  Member again(instance);
  again.leave();
  EXPECT_FALSE(instance.exists());
}

// Stopped processes.

// Holds the lock of an instance's file, as a process that was stopped while it made or removed it.
class HeldLock {
 public:
  explicit HeldLock(const TestInstance& instance)
      : fd_(open(instance.path(), O_CREAT | O_RDWR, 0600)) {
    EXPECT_EQ(flock(fd_, LOCK_EX), 0);
  }
  ~HeldLock() { close(fd_); }

 private:
  int fd_;
};

// The start time in the slot that the calling process takes, if it believes to know it.
std::uint64_t noted_start(TestInstance& instance, std::uint64_t known) {
  Segment segment;
  ProcessIndex index = kNoProcess;
  if (segment_attach(segment, instance.config(), index, {false, 0, known}) != 0) return 0;
  std::uint64_t noted = segment.processes[index].start_time;
  EXPECT_NE(segment.processes[index].command[0], 0);
  segment_detach(segment, index, ProcessState::free);
  segment_unmap(segment);
  return noted;
}

TEST(Segment, what_processes_know_of_their_start_counts_if_it_has_agreed_with_proc) {
  std::uint64_t start = os::process_start_time(getpid());
  ASSERT_NE(start, 0u);
  {
    TestInstance instance;
    Member creator(instance);
    EXPECT_EQ(noted_start(instance, 0), start);
    EXPECT_EQ(noted_start(instance, start), start);
    EXPECT_EQ(noted_start(instance, 42), 42u);
    EXPECT_EQ(noted_start(instance, 0), start);
  }
  TestInstance instance;
  Member creator(instance);
  for (std::uint64_t known : {std::uint64_t{42}, start, std::uint64_t{42}})
    EXPECT_EQ(noted_start(instance, known), start);
}

TEST(Segment, one_in_use_is_joined_and_left_while_its_file_is_locked) {
  TestInstance instance;
  Member first(instance);
  HeldLock lock(instance);
  Member second(instance);
  EXPECT_EQ(second.error, 0);
  second.leave();
  EXPECT_TRUE(instance.exists());
}

TEST(Segment, nobody_waits_for_ever_for_one_that_is_not_finished) {
  TestInstance instance;
  HeldLock lock(instance);
  EXPECT_EQ(Member(instance).error, kSegmentLocked);
  EXPECT_EQ(segment_remove_if_stale(instance.path()), kSegmentLocked);
}

TEST(Segment, what_the_last_one_out_could_not_remove_is_made_anew) {
  TestInstance instance;
  {
    Member first(instance);
    HeldLock lock(instance);
    first.segment.header->retired[0].store(17);
    first.leave();
    EXPECT_TRUE(instance.exists());
  }
  Member second(instance);
  ASSERT_EQ(second.error, 0);
  EXPECT_EQ(second.segment.header->retired[0].load(), 0u);
}

TEST(Segment, one_about_to_be_removed_is_not_joined) {
  TestInstance instance;
  Member first(instance);
  first.segment.header->sealed.store(1);
  {
    HeldLock lock(instance);
    EXPECT_EQ(Member(instance).error, kSegmentLocked);
  }
  // Who sealed it has died.
  EXPECT_EQ(Member(instance).error, 0);
  EXPECT_EQ(first.segment.header->sealed.load(), 0u);
}

TEST(Segment, threads_that_outlive_their_process_do_not_hold_it) {
  TestInstance instance;
  Member member(instance);
  member.leave(ProcessState::exiting);
  EXPECT_FALSE(instance.exists());
}

TEST(Segment, a_dead_instance_is_taken_over_as_new) {
  TestInstance instance(3);
  Child other([&](auto ready) {
    Member member(instance);
    member.segment.cores[0].owner.store(1);
    segment_take_thread(member.segment, member.index);
    ready();
    sleep_for_ever();
  });
  other.kill_now();
  instance.config().n_cores = 2;
  Member member(instance);
  ASSERT_EQ(member.error, 0);
  EXPECT_EQ(member.segment.header->n_cores, 2);
  EXPECT_EQ(member.segment.cores[0].owner.load(), 0u);
  EXPECT_EQ(member.segment.thread_bits[0].load(), 0u);
}

TEST(Segment, an_instance_whose_creator_died_at_once_is_made_again) {
  TestInstance instance;
  close(open(instance.path(), O_CREAT | O_RDWR, 0600));
  EXPECT_EQ(Member(instance).error, 0);
}

TEST(Segment, what_a_creator_left_unfinished_is_made_again_or_removed) {
  TestInstance instance;
  auto leave_zeroes = [&] {
    int fd = open(instance.path(), O_CREAT | O_RDWR, 0600);
    ASSERT_EQ(ftruncate(fd, 3 << 20), 0);
    close(fd);
  };
  leave_zeroes();
  {
    Member member(instance);
    EXPECT_EQ(member.error, 0) << segment_error(member.error);
  }
  EXPECT_FALSE(instance.exists());
  leave_zeroes();
  EXPECT_EQ(segment_remove_if_stale(instance.path()), 1);
  EXPECT_FALSE(instance.exists());
}

// Limits of the process under which there can be no segment.
TEST(Segment, a_creator_that_fails_leaves_nothing) {
  TestInstance instance;
  auto error_with = [&](auto resource) {
    std::string complaint = in_child([&]() -> std::string {
      rlimit limit = {1 << 16, RLIM_INFINITY};
      setrlimit(resource, &limit);
      int error = Member(instance).error;
      limit.rlim_cur = RLIM_INFINITY;
      setrlimit(resource, &limit);
      return std::to_string(error);
    });
    EXPECT_FALSE(instance.exists());
    return complaint;
  };
  EXPECT_EQ(error_with(RLIMIT_AS), std::to_string(-ENOMEM));
  EXPECT_EQ(error_with(RLIMIT_FSIZE), std::to_string(-EFBIG));
  EXPECT_EQ(Member(instance).error, 0);
}

TEST(Segment, clean_removes_what_nobody_uses_and_nothing_else) {
  TestInstance instance;
  EXPECT_EQ(segment_remove_if_stale(instance.path()), -ENOENT);
  Child other([&](auto ready) {
    Member member(instance);
    ready();
    sleep_for_ever();
  });
  EXPECT_EQ(segment_remove_if_stale(instance.path()), 0);
  EXPECT_TRUE(instance.exists());
  other.kill_now();
  EXPECT_EQ(segment_remove_if_stale(instance.path()), 1);
  EXPECT_FALSE(instance.exists());
}

TEST(Segment, clean_leaves_what_it_cannot_read) {
  TestInstance instance;
  Member member(instance);
  ++member.segment.header->abi_version;
  EXPECT_EQ(segment_remove_if_stale(instance.path()), kSegmentOtherVersion);
  EXPECT_TRUE(instance.exists());
  --member.segment.header->abi_version;
}

TEST(Segment, nobody_attaches_to_a_segment_that_is_being_removed) {
  TestInstance instance;
  auto come_and_go = [&]() -> std::string {
    for (int i = 0; i < 300; ++i) {
      Member member(instance);
      if (member.error) return segment_error(member.error);
      struct stat status;
      if (stat(instance.path(), &status) != 0) return "attached to a removed file";
      Segment view;
      if (segment_open(view, instance.path(), false) != 0) return "cannot see it";
      bool same = view.header->created_ns == member.segment.header->created_ns;
      segment_unmap(view);
      if (!same) return "attached to another file than the one with the name";
    }
    return "";
  };
  std::string complaints[2];
  Child other([&](auto ready) {
    ready();
    for (;;) {
      if (!come_and_go().empty()) _exit(1);
    }
  });
  EXPECT_EQ(come_and_go(), "");
  EXPECT_EQ(waitpid(other.pid(), nullptr, WNOHANG), 0) << "the other process complained";
}

// Thread records.

TEST(ThreadRecords, each_is_given_out_once_and_they_end) {
  TestInstance instance;
  Member member(instance);
  std::set<ThreadIndex> taken;
  for (unsigned i = 0; i < 130; ++i) {
    ThreadIndex thread = segment_take_thread(member.segment, member.index);
    ASSERT_LT(thread, 130u);
    EXPECT_TRUE(taken.insert(thread).second);
    EXPECT_EQ(member.segment.threads[thread].generation.load() & 1, 1u);
    EXPECT_EQ(state_of(member.segment.threads[thread].state.load()), State::external);
  }
  EXPECT_EQ(segment_take_thread(member.segment, member.index), kNoThread);
  segment_free_thread(member.segment, 64);
  EXPECT_EQ(state_of(member.segment.threads[64].state.load()), State::free);
  EXPECT_EQ(member.segment.threads[64].generation.load() & 1, 0u);
  EXPECT_EQ(segment_take_thread(member.segment, member.index), 64u);
  EXPECT_EQ(member.segment.processes[member.index].threads.load(), 130u);
}

TEST(ThreadRecords, a_new_owner_finds_nothing_of_the_last_one) {
  TestInstance instance;
  Member member(instance);
  ThreadIndex thread = segment_take_thread(member.segment, member.index);
  ThreadRecord<RealWorld>& record = member.segment.threads[thread];
  record.state.store(running_on(1) | kPermit);
  record.tid.store(7);
  record.pinned_to = 1;
  record.counters.grants = 5;
  record.counters.rescues = 2;
  record.policy_words[3] = 9;
  segment_free_thread(member.segment, thread);
  ASSERT_EQ(segment_take_thread(member.segment, member.index), thread);
  EXPECT_EQ(record.state.load(), static_cast<std::uint32_t>(State::external));
  EXPECT_EQ(record.tid.load(), 0);
  EXPECT_EQ(record.pinned_to, kNoCore);
  EXPECT_EQ(record.counters.grants, 0u);
  EXPECT_EQ(record.policy_words[3], 0u);
  // What the thread did is not lost: the process keeps it, and the instance when that ends.
  EXPECT_EQ(member.segment.processes[member.index].retired[0].load(), 5u);
  EXPECT_EQ(member.segment.processes[member.index].retired[4].load(), 2u);
  Segment view;
  ASSERT_EQ(segment_open(view, instance.path(), false), 0);
  member.leave();
  EXPECT_EQ(view.header->retired[0].load(), 5u);
  segment_unmap(view);
}

TEST(ThreadRecords, threads_that_take_and_free_at_once_never_share_one) {
  TestInstance instance;
  Member member(instance);
  std::atomic<int> users[130] = {};
  std::atomic<int> shared{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        ThreadIndex mine[40];
        for (ThreadIndex& thread : mine) {
          thread = segment_take_thread(member.segment, member.index);
          if (thread != kNoThread && users[thread].fetch_add(1) != 0) ++shared;
        }
        for (ThreadIndex thread : mine) {
          if (thread == kNoThread) continue;
          users[thread].fetch_sub(1);
          segment_free_thread(member.segment, thread);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.load(), 0);
  EXPECT_EQ(member.segment.processes[member.index].threads.load(), 0u);
}

}  // namespace
}  // namespace roost
