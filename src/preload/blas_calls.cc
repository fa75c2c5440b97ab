// exec_blas: by this function OpenBLAS has the pieces of one call done.
//
// The library's own hands them to a pool of threads, or to OpenMP's, for one call at a time. Here
// they are a crew (omp/crew.h): for workers while there are cores to spare, else light threads of
// the caller. A piece finds what it would find there: its arguments, its position, and work buffers
// of its own in the same layout; so results are the same, to the last bit.
#include "preload/blas_calls.h"

#include "base/floating_point.h"
#include "base/loaded_object.h"
#include "blas/cut.h"
#include "blas/trial.h"
#include "os/sys.h"
#include "preload/blas_library.h"
#include "preload/blas_width.h"
#include "preload/blis_width.h"
#include "preload/fork_gate.h"
#include "preload/mutex.h"
#include "preload/public_api.h"
#include "preload/real.h"
#include "preload/wait.h"
#include "sched/runtime.h"

namespace roost {

ROOST_EXPORT blas::Exec exec_blas;

namespace {

ROOST_LISTED_APART constinit Real<int(void* (*)(void*), void*, std::size_t, unsigned)> crew_run{
    "roost_crew_run"};
ROOST_LISTED_APART constinit Real<void()> crew_pass{"roost_crew_pass"};
using WithLocksIn = void(const void* begin, const void* end);
ROOST_LISTED_APART constinit Real<WithLocksIn> call_locks_in{"roost_call_locks_in"};
ROOST_LISTED_APART constinit Real<WithLocksIn> give_call_lock_back{"roost_give_call_lock_back"};

constexpr long kMostPieces = 256;

// Pieces that this OS thread has begun and not ended.
constinit thread_local unsigned begun_pieces __attribute__((tls_model("initial-exec"))) = 0;

// What the pieces of one call lack of work buffers, while it lives.
class WorkBuffers {
 public:
  WorkBuffers(BlasLibrary& library, blas::Piece* pieces, unsigned n)
      : library_(library), pieces_(pieces), n_(n) {
    int core = roost_core();
    core_ = core > 0 ? static_cast<CoreIndex>(core) : 0;
  }
  WorkBuffers(const WorkBuffers&) = delete;
  WorkBuffers& operator=(const WorkBuffers&) = delete;
  ~WorkBuffers() {
    for (unsigned i = 0; i < given_; ++i) {
      if (lent_[i].a) {
        pieces_[i].a = nullptr;
        library_.buffers.give_back(lent_[i].buffer, core_);
      }
      if (lent_[i].b) pieces_[i].b = nullptr;
    }
  }
  // False if there is no more memory.
  bool give(const BlasLibrary::Layout& layout) {
    for (; given_ < n_; ++given_) {
      blas::Piece& piece = pieces_[given_];
      Lent& lent = lent_[given_];
      lent = {};
      // The first has its caller's.
      if (piece.mode & blas::Piece::kPlain || given_ == 0) continue;
      if (!piece.a) {
        lent.buffer = library_.buffers.take(core_);
        if (lent.buffer == LazyBuffers::kNone) return false;
        lent.a = true;
        piece.a = library_.buffers.memory(lent.buffer) + layout.a;
      }
      if (!piece.b) {
        lent.b = true;
        piece.b = static_cast<char*>(piece.a) + layout.b;
      }
    }
    return true;
  }

 private:
  struct Lent {
    unsigned buffer;
    bool a, b;
  };
  BlasLibrary& library_;
  blas::Piece* pieces_;
  unsigned n_;
  unsigned given_ = 0;
  CoreIndex core_;
  Lent lent_[kMostPieces];
};

// While it lives, the lock that the calling thread holds for its call lets others in. It keeps
// apart what the library's threads do and nothing else, what a routine needs being on its stack.
// Builds for pthreads let one call of a level-3 routine at a time have the pool (level3_lock, to
// 0.3.21 at least): it is the last mutex that the thread has locked, one of the library's own. In
// builds for OpenMP it is a lock of OpenMP's, which is not to be taken again (omp/call_lock.h).
class OthersMayCall {
 public:
  explicit OthersMayCall(const BlasLibrary& library) {
    pthread_mutex_t* last = self.last_locked;
    bool held = library.contains(last) &&
                __atomic_load_n(&last->__data.__owner, __ATOMIC_RELAXED) == self.tid;
    if (held) mutex_unlock(lock_ = last);
    if (give_call_lock_back.found()) give_call_lock_back.found()(library.begin(), library.end());
  }
  OthersMayCall(const OthersMayCall&) = delete;
  OthersMayCall& operator=(const OthersMayCall&) = delete;
  ~OthersMayCall() {
    if (lock_) mutex_lock(lock_);
  }

 private:
  pthread_mutex_t* lock_ = nullptr;
};

// A piece of a call, for the crew.
void* do_piece(void* argument) {
  auto& piece = *static_cast<blas::Piece*>(argument);
  ++begun_pieces;
  if (piece.mode & blas::Piece::kPlain) {
    reinterpret_cast<void (*)(void*)>(piece.routine)(piece.arguments);
  } else if (piece.mode & blas::Piece::kLegacy) {
    // The library knows how; of one piece it does nothing else.
    reinterpret_cast<const BlasLibrary*>(piece.assigned)->exec()(1, &piece);
  } else {
    reinterpret_cast<blas::Piece::Routine*>(piece.routine)(
        piece.arguments, piece.range_m, piece.range_n, piece.a, piece.b, piece.position);
  }
  --begun_pieces;
  return nullptr;
}

// Whether the pieces lie side by side, as OpenMP's threads find them, and the pool in a chain.
bool are_chained(const blas::Piece* pieces, long n) {
  for (long i = 0; i + 1 < n; ++i) {
    if (pieces[i].next != &pieces[i + 1]) return false;
  }
  return pieces[n - 1].next == nullptr;
}

constinit blas::Verdicts verdicts;
constinit blas::KnownForms forms;
constinit blas::Scratch scratch;  // of who makes a trial: one at a time
constinit blas::TrialTime trial_time;

// How pieces of a call are done.
struct Way {
  BlasLibrary& library;
  BlasLibrary::Layout layout;
};

// False, and nothing is done, if the library has to do it.
bool run_as_crew(void* context, blas::Piece* pieces, unsigned n) {
  auto& way = *static_cast<Way*>(context);
  WorkBuffers buffers(way.library, pieces, n);
  if (!buffers.give(way.layout)) return false;
  for (unsigned i = 0; i < n; ++i) {
    pieces[i].position = i;
    pieces[i].assigned = reinterpret_cast<long>(&way.library);  // for do_piece()
  }
  return crew_run.found()(do_piece, pieces, sizeof *pieces, n) != 0;
}

using Verdict = blas::Verdicts::Verdict;

// Nobody can make another meanwhile, and calls that nothing is known of have all their pieces.
blas::Outcome make_trial(const blas::Cut& cut, blas::Piece* pieces, unsigned fewer,
                         std::uint64_t seed, blas::Question question, Way& way) {
  KeepFloatingPoint flags;
  self.keeps_core = true;
  blas::Outcome outcome =
      blas::try_call(cut, pieces, fewer, seed, question, {run_as_crew, &way}, scratch);
  self.keeps_core = false;
  return outcome;
}

// Where last bits do not matter.
Verdict verdict_on_form(const blas::Cut& cut, blas::Piece* pieces, unsigned fewer, Way& way) {
  using Answer = blas::KnownForms::Answer;
  std::uint64_t form = cut.form(fewer);
  Answer answer = forms.ask(form);
  if (answer == Answer::to_be_tried && verdicts.may_try()) {
    answer = forms.ask(form);  // another may just have made it
    if (answer == Answer::to_be_tried) {
      blas::Outcome outcome = make_trial(cut, pieces, fewer, form, blas::Question::right, way);
      if (outcome != blas::Outcome::unknown) forms.note(form, outcome == blas::Outcome::same);
      answer = forms.ask(form);
    }
    verdicts.has_tried();
  }
  return answer == Answer::right ? Verdict::fewer : Verdict::stays;
}

// Whether the call may be cut into `fewer` pieces: nobody can tell from its results, or that is no
// matter.
Verdict verdict_on(const blas::Cut& cut, blas::Piece* pieces, unsigned fewer, Way& way) {
  if (!cut.can_be(fewer, way.library.bytes_of_second(way.layout))) return Verdict::stays;
  if (blas_bits_may_differ()) return verdict_on_form(cut, pieces, fewer, way);
  std::uint64_t key = cut.key(fewer);
  bool all = blas_makes_all_trials();
  blas::Verdicts::Answer answer = verdicts.ask(key, all || trial_time.is_left());
  if (answer.trial) {
    using blas::Question;
    Nanoseconds before = os::now();
    bool timed = !all && blas::Verdicts::is_timed(answer.trial);
    blas::Outcome outcome = make_trial(cut, pieces, fewer, key ^ answer.trial,
                                       timed ? Question::same_faster : Question::same, way);
    verdicts.note(key, answer.trial, outcome);
    trial_time.spend(os::now() - before);
  }
  return answer.verdict;
}

// False, and nothing is done, if the library has to do it.
bool run_call(BlasLibrary& library, const void* caller, blas::Piece* pieces, unsigned n) {
  Way way{library, {}};
  if (!are_chained(pieces, n) || !library.layout_of(pieces[0].mode, way.layout)) return false;
  OthersMayCall others_may(library);
  if (crew_pass.found()) crew_pass.found()();
  BlasCall call;
  blas::Cut cut;
  unsigned cores = call.cores(n);
  Verdict verdict = Verdict::stays;
  if (cores < n && FloatingPoint::of_caller().is_standard() &&
      cut.read(library.routine_of(pieces[0].routine, caller), pieces, n)) {
    verdict = verdict_on(cut, pieces, cores, way);
  }
  if (verdict == Verdict::fewer) {
    blas::Fewer fewer(cut, pieces, cores);
    if (run_as_crew(&way, pieces, cores)) {
      call.count_fewer();
      return true;
    }
  }
  if (verdict != Verdict::not_yet) return run_as_crew(&way, pieces, n);
  Nanoseconds before = os::now();
  bool done = run_as_crew(&way, pieces, n);
  trial_time.add_undecided(os::now() - before);
  return done;
}

}  // namespace

ROOST_EXPORT int exec_blas(long n, blas::Piece* pieces) {
  static constinit Real<blas::Exec> elsewhere{"exec_blas"};
  const void* caller = __builtin_return_address(0);
  dl_find_object object;
  if (!find_object(caller, object)) return elsewhere(n, pieces);
  resolve_functions();
  bool crews = crew_run.found() && runtime_active() && !inside_roost();
  if (crews && n > 1 && n <= kMostPieces && pieces) {
    BlasLibrary* library = BlasLibrary::find(object, exec_blas);
    if (library && run_call(*library, caller, pieces, static_cast<unsigned>(n))) return 0;
  }
  blas::Exec* original = BlasLibrary::original(object, exec_blas);
  return original ? original(n, pieces) : elsewhere(n, pieces);
}

void blas_calls_after_fork() {
  verdicts.after_fork();
  blas_width_after_fork();
  blis_width_after_fork();
}

bool in_blas_call() { return begun_pieces > 0; }

static void prepare(const dl_find_object& object) {
  if (!name_contains(object.dlfo_link_map->l_name, "openblas")) return;
  resolve_functions();
  if (!crew_run.found()) return;
  BlasLibrary::prepare(object, exec_blas);
  if (call_locks_in.found()) call_locks_in.found()(object.dlfo_map_start, object.dlfo_map_end);
}

void blas_calls_before_thread(const dl_find_object& caller) { prepare(caller); }

void blas_calls_look_at_objects(bool new_ones) {
  auto look = [](dl_phdr_info* info, std::size_t, void* data) {
    dl_find_object object;
    if (name_contains(info->dlpi_name, "openblas") && find_object(info->dlpi_phdr, object)) {
      *static_cast<bool*>(data) ? prepare(object) : BlasLibrary::leave_loops(object);
    }
    return 0;
  };
  walk_objects(look, &new_ones);
}

}  // namespace roost
