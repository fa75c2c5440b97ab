// Looks at every loop of installed objects: which could be taken for waits
// (spin/static_loop_host.h), and whether Roost's decoder agrees with Zydis on all code there is.
//
//     spin_corpus OBJECT...
//
// For each ELF object a line `object NAME BUILD-ID instructions N loops N`, then a line for each
// loop that matches: class, offset, the loop itself. Then, where the decoder differs from Zydis,
// lines `differs`, at most 20 an object; any makes the status 1.
#include <Zydis/Zydis.h>
#include <elf.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "spin/static_loop_host.h"

namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr unsigned kLongestLoop = 24;  // instructions

struct Decoded {
  std::uint64_t offset;  // in the file
  unsigned length;
};

class Object {
 public:
  explicit Object(Bytes bytes) : file_(std::move(bytes)) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&formatter_, ZYDIS_FORMATTER_STYLE_ATT);
  }

  bool is_elf() const {
    return file_.size() > sizeof(Elf64_Ehdr) && std::memcmp(file_.data(), ELFMAG, SELFMAG) == 0 &&
           file_[EI_CLASS] == ELFCLASS64 && head().e_machine == EM_X86_64;
  }

  void scan() {
    for (const Elf64_Shdr& section : sections()) {
      if (section.sh_type == SHT_NOTE) read_build_id(section);
      bool code = section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_EXECINSTR);
      if (code && section.sh_offset + section.sh_size <= file_.size()) scan_code(section);
    }
  }

  void print(const std::string& name) const {
    std::printf("object %s %s instructions %zu loops %zu\n", name.c_str(), build_id_.c_str(),
                instructions_, loops_);
    for (const std::string& line : matches_) std::printf("%s\n", line.c_str());
    for (const std::string& line : differences_) std::printf("%s\n", line.c_str());
  }
  bool differs() const { return !differences_.empty(); }

 private:
  const Elf64_Ehdr& head() const { return *reinterpret_cast<const Elf64_Ehdr*>(file_.data()); }

  std::vector<Elf64_Shdr> sections() const {
    std::vector<Elf64_Shdr> found(head().e_shnum);
    std::size_t size = found.size() * sizeof(Elf64_Shdr);
    if (head().e_shoff + size > file_.size()) return {};
    std::memcpy(found.data(), file_.data() + head().e_shoff, size);
    return found;
  }

  void read_build_id(const Elf64_Shdr& section) {
    if (section.sh_offset + sizeof(Elf64_Nhdr) > file_.size()) return;
    auto* note = reinterpret_cast<const Elf64_Nhdr*>(file_.data() + section.sh_offset);
    if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 ||
        std::memcmp(note + 1, "GNU", 4) != 0) {
      return;
    }
    const std::uint8_t* id = reinterpret_cast<const std::uint8_t*>(note + 1) + 4;
    char text[3];
    build_id_.clear();
    for (unsigned i = 0; i < note->n_descsz; ++i) {
      std::snprintf(text, sizeof text, "%02x", id[i]);
      build_id_ += text;
    }
  }

  void scan_code(const Elf64_Shdr& section) {
    std::vector<Decoded> seen;
    std::uint64_t end = section.sh_offset + section.sh_size;
    for (std::uint64_t at = section.sh_offset; at < end;) {
      ZydisDecodedInstruction instruction;
      if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder_, nullptr, file_.data() + at,
                                                      end - at, &instruction))) {
        ++at;
        continue;
      }
      ++instructions_;
      compare(at, end, instruction);
      seen.push_back({at, instruction.length});
      bool direct = instruction.meta.category == ZYDIS_CATEGORY_COND_BR ||
                    instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
      if (direct && instruction.raw.imm[0].is_relative && instruction.raw.imm[0].value.s < 0)
        judge(seen,
              at + instruction.length + static_cast<std::uint64_t>(instruction.raw.imm[0].value.s));
      at += instruction.length;
    }
  }

  // The same length; where Roost gives a meaning, a branch goes to the same place.
  void compare(std::uint64_t at, std::uint64_t end, const ZydisDecodedInstruction& theirs) {
    roost::spin::Form form;
    bool parsed = roost::spin::parse(file_.data() + at, end - at, form);
    roost::spin::Instruction ours;
    bool decoded = roost::spin::decode(file_.data() + at, end - at, ours);
    bool same = parsed ? form.length == theirs.length : unusual(theirs);
    if (decoded && ours.jumps()) same &= ours.target == theirs.raw.imm[0].value.s;
    if (same || differences_.size() >= 20) return;
    differences_.push_back("differs at " + hexadecimal(at) + ": " + text(at) + ", length " +
                           std::to_string(theirs.length) + ", ours " +
                           (parsed ? std::to_string(form.length) : "none"));
  }

  // 16-bit jumps and AMD's extensions: refused on purpose.
  static bool unusual(const ZydisDecodedInstruction& theirs) {
    return theirs.encoding == ZYDIS_INSTRUCTION_ENCODING_XOP ||
           theirs.encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW || theirs.operand_width == 16 ||
           theirs.meta.category == ZYDIS_CATEGORY_CALL ||
           theirs.meta.category == ZYDIS_CATEGORY_COND_BR;
  }

  void judge(const std::vector<Decoded>& seen, std::uint64_t head) {
    std::size_t first = seen.size();
    while (first > 0 && seen.size() - first < kLongestLoop && seen[first - 1].offset >= head)
      --first;
    if (first == seen.size() || seen[first].offset != head) return;
    ++loops_;
    const Decoded& last = seen.back();
    roost::spin::StaticLoop loop =
        roost::spin::classify_loop(file_.data() + head, last.offset + last.length - head);
    if (loop.kind == roost::spin::LoopClass::none) return;
    std::string line = loop.kind == roost::spin::LoopClass::wait ? "  wait " : "  lock ";
    line += hexadecimal(head);
    for (std::size_t i = first; i < seen.size(); ++i) line += " | " + text(seen[i].offset);
    matches_.push_back(line);
  }

  std::string text(std::uint64_t at) const {
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    char buffer[128];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, file_.data() + at, file_.size() - at,
                                             &instruction, operands)) ||
        !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter_, &instruction, operands,
                                                      instruction.operand_count_visible, buffer,
                                                      sizeof buffer, at, nullptr))) {
      return "?";
    }
    return buffer;
  }

  static std::string hexadecimal(std::uint64_t number) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%#llx", static_cast<unsigned long long>(number));
    return buffer;
  }

  Bytes file_;
  ZydisDecoder decoder_;
  ZydisFormatter formatter_;
  std::string build_id_ = "none";
  std::size_t instructions_ = 0;
  std::size_t loops_ = 0;
  std::vector<std::string> matches_;
  std::vector<std::string> differences_;
};

}  // namespace

int main(int argc, char** argv) {
  bool differs = false;
  for (int i = 1; i < argc; ++i) {
    std::ifstream stream(argv[i], std::ios::binary);
    Object object(Bytes(std::istreambuf_iterator<char>(stream), {}));
    if (!object.is_elf()) continue;
    object.scan();
    object.print(std::filesystem::path(argv[i]).filename().string());
    differs |= object.differs();
  }
  return differs ? 1 : 0;
}
