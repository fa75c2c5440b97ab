// Plug-ins are loaded by name and by path, and each that is faulty is refused with a sentence that
// says why (tests/policies/faulty.c). Faults that only show when it runs are caught by the adapter,
// and the ledger stays whole.
#include "sched/policy_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "sched/local_instance_test.h"
#include "sched/policy_object.h"

namespace roost {
namespace {

namespace fs = std::filesystem;

const std::string kExamples = ROOST_BUILD_FOLDER "/examples/policies";
const std::string kFaulty = ROOST_BUILD_FOLDER "/tests/policies";

std::string file(const std::string& name) { return kFaulty + "/" + name + ".so"; }

// The sentence with which it is refused.
std::string refusal(const std::string& given, const PolicyFolders& folders = {}) {
  PolicyFileError error;
  const PolicyFile* loaded = load_policy_file(given.c_str(), folders, error);
  EXPECT_EQ(loaded, nullptr) << given << " was loaded";
  EXPECT_FALSE(error.cut());
  return error.c_str();
}

const PolicyFile& load(const std::string& given, const PolicyFolders& folders = {}) {
  PolicyFileError error;
  const PolicyFile* loaded = load_policy_file(given.c_str(), folders, error);
  if (!loaded) throw std::runtime_error(error.c_str());
  return *loaded;
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(PolicyFile, is_found_by_path_and_by_name_and_loaded_once) {
  std::string path = kExamples + "/shortest_queue.so";
  const PolicyFile& by_path = load(path);
  EXPECT_EQ(by_path.path, fs::canonical(path).string());
  EXPECT_EQ(by_path.plug_in.policy().name, std::string("shortest_queue"));
  std::string listed = "/nonexistent::" + kExamples;
  EXPECT_EQ(&load("shortest_queue", {listed.c_str(), nullptr}), &by_path);
  EXPECT_EQ(&load("shortest_queue", {nullptr, kExamples.c_str()}), &by_path);
  EXPECT_EQ(loaded_policy_file(by_path.hash), &by_path);
  EXPECT_EQ(file_of(by_path.plug_in.policy()), &by_path);
  EXPECT_EQ(file_of(*kPolicies[0]), nullptr);
  fs::path old = fs::current_path();
  fs::current_path(kExamples);
  EXPECT_EQ(&load("./shortest_queue.so"), &by_path);
  std::string forgotten = refusal("shortest_queue.so");
  fs::current_path(old);
  EXPECT_NE(forgotten.find("write ./shortest_queue.so"), std::string::npos) << forgotten;
}

TEST(PolicyFile, has_the_parameters_that_the_mechanism_reads) {
  const Policy& policy = load(kExamples + "/shortest_queue.so").plug_in.policy();
  EXPECT_EQ(policy.n_parameters, 3u);
  EXPECT_EQ(find_parameter(policy, "gain"), 0);
  EXPECT_GE(find_parameter(policy, "idle_spin"), 0);
  EXPECT_GE(find_parameter(policy, "patience"), 0);
  EXPECT_EQ(policy.place, nullptr) << "what it leaves out costs nothing";
}

TEST(PolicyFile, that_is_missing_or_no_policy_is_refused) {
  EXPECT_EQ(refusal("nosuch", {"/a:/b", "/c"}),
            "there is no policy 'nosuch'; known: coop and nest, and what lies as NAME.so in /a:/b "
            "or /c");
  EXPECT_EQ(refusal("./nosuch.so"),
            "the policy ./nosuch.so cannot be opened: No such file or directory");
  EXPECT_EQ(refusal("/tmp"), "the policy /tmp is no file");
  EXPECT_EQ(refusal("/dev/null"), "the policy /dev/null is no file");
  std::string text = testing::TempDir() + "roost-text.so";
  std::ofstream(text) << "no ELF";
  EXPECT_EQ(refusal(text), "the policy " + text + " is no ELF file; build it as a shared object");
  std::ofstream{text};
  EXPECT_EQ(refusal(text), "the policy " + text + " is empty");
  fs::remove(text);
}

TEST(PolicyFile, named_without_a_path_must_have_that_name) {
  std::string sentence = refusal("none", {kFaulty.c_str(), nullptr});
  EXPECT_NE(sentence.find("calls itself tested"), std::string::npos) << sentence;
}

struct Mistake {
  const char* name;
  const char* words;
};
class Refused : public testing::TestWithParam<Mistake> {};
TEST_P(Refused, with_a_sentence) {
  std::string sentence = refusal(file(GetParam().name));
  EXPECT_NE(sentence.find(GetParam().words), std::string::npos) << sentence;
  EXPECT_EQ(sentence.find('\n'), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(
    Mistakes, Refused,
    testing::Values(
        Mistake{"no_symbol", "exports no object roost_policy"},
        Mistake{"a_function", "exports no object roost_policy"},
        Mistake{"wrong_version", "version 2"}, Mistake{"wrong_size", "must have 96"},
        Mistake{"short_table", "and has 8"}, Mistake{"no_name", "its name is not"},
        Mistake{"bad_name", "its name is not"},
        Mistake{"taken_name", "its name, coop, is that of a policy of Roost's"},
        Mistake{"no_summary", "no summary"}, Mistake{"no_layout", "layout is 0"},
        Mistake{"no_thread_ready", "no thread_ready"}, Mistake{"no_core_free", "no core_free"},
        Mistake{"many_parameters", "15 parameters, more than 14"},
        Mistake{"no_parameters", "no table"},
        Mistake{"bad_parameter", "number, 0, is not from 1 to 9"},
        Mistake{"same_parameter", "two parameters number"}, Mistake{"unit_missing", "no unit"},
        Mistake{"calls_libc", "uses malloc"}, Mistake{"calls_unknown", "uses nobody_has_this"},
        Mistake{"needs_library", "needs libm.so.6"}, Mistake{"exports_more", "exports helper"},
        Mistake{"thread_local", "uses __tls_get_addr"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(PolicyObject, of_another_machine_or_kind_is_refused) {
  std::string good = contents(kExamples + "/shortest_queue.so");
  auto refused = [](std::string bytes) {
    ErrorText error;
    EXPECT_EQ(check_policy_object(reinterpret_cast<const unsigned char*>(bytes.data()),
                                  bytes.size(), error),
              0u);
    return std::string(error.c_str());
  };
  std::string other = good;
  other[18] = 40;  // e_machine: 32-bit ARM
  EXPECT_EQ(refused(other), "is built for another machine");
  std::string object = good;
  object[16] = 1;  // e_type: relocatable
  EXPECT_EQ(refused(object), "is no shared object; build it with -shared -fPIC");
  EXPECT_NE(refused(good.substr(0, good.size() / 2)), "");
}

// Whatever the file holds: an answer and no crash. Under ASan the copies are of exact length.
TEST(PolicyObject, may_be_damaged_anyhow) {
  std::string good = contents(kExamples + "/shortest_queue.so");
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good.substr(0, round % 3 ? good.size() : random() % good.size());
    for (int changes = static_cast<int>(random() % 8); changes >= 0 && !bytes.empty(); --changes) {
      // The head, the tables of sections at the end, or anywhere.
      std::size_t at = random() % bytes.size();
      if (random() % 3 == 0) at %= 64;
      if (random() % 3 == 0) at = bytes.size() - 1 - at % std::min<std::size_t>(bytes.size(), 2048);
      bytes[at] = static_cast<char>(random());
    }
    std::vector<unsigned char> exact(bytes.begin(), bytes.end());
    ErrorText error;
    std::size_t found = check_policy_object(exact.data(), exact.size(), error);
    EXPECT_EQ(found == 0, error.length() != 0);
    hash_of_file(exact.data(), exact.size());
  }
}

TEST(PolicyFile, another_build_has_another_hash) {
  std::string bytes = contents(file("none"));
  auto hash = [&] {
    return hash_of_file(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  };
  std::uint64_t before = hash();
  bytes.back() = static_cast<char>(bytes.back() + 1);
  EXPECT_NE(hash(), before);
}

// An instance runs the policy that its segment names, or the process does not join.
TEST(PolicyOfInstance, is_known_by_its_contents) {
  const PolicyFile& loaded = load(kExamples + "/shortest_queue.so");
  const Policy& policy = loaded.plug_in.policy();
  auto header = std::make_unique<SegmentHeader>();
  std::strcpy(header->policy, policy.name);
  std::strcpy(header->policy_path, loaded.path);
  header->policy_layout = policy.layout;
  header->policy_hash = loaded.hash;
  for (unsigned i = 0; i < policy.n_parameters; ++i)
    header->parameters[i] = policy.parameters[i].standard;
  auto refused = [&](bool may_load = true) {
    PolicyFileError error;
    const Policy* found = policy_of_instance(*header, may_load, error);
    EXPECT_TRUE(!found || found == &policy);
    return std::string(error.c_str());
  };
  EXPECT_EQ(refused(), "");
  EXPECT_EQ(refused(false), "");  // it is loaded
  header->parameters[0] = 5000;
  EXPECT_NE(refused().find("gain, 5000, is out of range"), std::string::npos) << refused();
  header->parameters[0] = 2;
  header->policy_hash ^= 1;  // the file was built anew meanwhile
  EXPECT_NE(refused().find("has changed since the instance began"), std::string::npos);
  EXPECT_NE(refused(false).find("before the fork"), std::string::npos);
  std::strcpy(header->policy_path, "/nonexistent.so");
  EXPECT_NE(refused().find("cannot be opened"), std::string::npos);
  std::strcpy(header->policy_path, "nopath");
  header->policy_hash = loaded.hash;
  header->policy_layout ^= 1;
  EXPECT_NE(refused().find("has changed"), std::string::npos);
  header->policy_hash = 0;
  EXPECT_NE(refused().find("does not have"), std::string::npos);
}

// What a faulty policy does is caught: the fault, as the sentence names it, and nothing breaks.
class Caught : public testing::TestWithParam<Mistake> {};
TEST_P(Caught, and_the_default_is_done) {
  const Policy& policy = load(file(GetParam().name)).plug_in.policy();
  const PlugIn& plug_in = *plug_in_of(policy);
  plug_in.forget_fault();
  LocalInstance instance({2, 2}, 12, policy, 3);
  std::mt19937 random(1);
  for (ThreadIndex i = 0; i < 12; ++i)
    instance.place(i, static_cast<ProcessIndex>(i % 3), static_cast<CoreIndex>(i % 4));
  for (int step = 0; step < 2000; ++step) {
    ThreadIndex thread = random() % (step / 200 % 2 ? 12 : 4);  // with cores to spare, and without
    instance.os.clock += random() % 1'000'000;
    if (instance.core(thread) == kNoCore) {
      instance.wake(thread);
    } else if (random() % 2) {
      instance.block(thread);
    } else {
      instance.yield(thread);
    }
    ASSERT_EQ(instance.broken(), "") << "after step " << step;
  }
  std::string fault = plug_in.fault() ? plug_in.fault() : "";
  EXPECT_EQ(fault.find(GetParam().words), 0u) << fault;
  EXPECT_EQ(fault.empty(), *GetParam().words == 0);
}
INSTANTIATE_TEST_SUITE_P(
    Mistakes, Caught,
    testing::Values(Mistake{"none", ""}, Mistake{"ready_nowhere", "thread_ready chose core 4 of 4"},
                    Mistake{"free_nobody", "core_free chose no process for core "},
                    Mistake{"free_wrong", "core_free chose process "},
                    Mistake{"place_unclaimed", "place returned core "},
                    Mistake{"place_keeps", "place returned no core and had claimed core "},
                    Mistake{"place_twice", "place claimed core "},
                    Mistake{"idle_claims", "core_idle claimed core "},
                    Mistake{"asks_nowhere", "thread_ready asked about core 1000 of 4"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace roost
