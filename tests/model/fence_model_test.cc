// Explores a fence that competes with the return of the handler (semantics 5.11). An actor is killed while its handler
// runs. Its life is ended by its own worker when the handler has returned, or by the watchdog under a seizure. Exactly
// one of the two ends the life, every message sent to the actor is counted once in the ledger, and the current call is
// answered once.
//
// The model repeats the steps of actors/internal/scheduling/worker.h (RunTurn, WhileInUserCode, UserCode, KernelCode)
// and of an actor's Fence and End, over the real BiasedLock and Inbound.
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/memory/biased_lock.h"
#include "understudy/actors/internal/send/inbound.h"
#include "understudy/tests/model/expect_holds.h"
#include "understudy/tests/model/model_atomics.h"
#include "understudy/tests/model/schedules.h"
#include "understudy/tests/model/weakened.h"

namespace understudy::model {
namespace {

using internal::BiasedLock;
using internal::Inbound;
using internal::Pushed;
using ::testing::HasSubstr;

struct alignas(64) Node {
  ModelPlain<Node*> next{nullptr};
  ModelPlain<int> payload{0};
};

// The bug that the model contains.
enum class Bug {
  kNone,
  kOwnerDoesNotLook,    // the owner does not check for the fence's mark when its handler has returned
  kCallDoesNotLook,     // a call from the handler into the kernel does not check for the mark
  kFenceDoesNotLook,    // the watchdog, with the lock seized, does not check which actor runs
  kFenceDoesNotSeize,   // the watchdog does not seize the lock
  kFenceLeavesTheWord,  // the fence tells the watchers, but leaves the actor's inbound list open
  kAnswersOutside,      // the handler notes that it answers before it is in the kernel
  kMarksShareAByte,     // two marks of the current call: the handler's code writes one, a fence the other
};

template <Bug kBug, class Atomics>
struct Stage {
  // An actor. If it was killed, its turn ends its life when the handler returns.
  struct Actor {
    Actor() { inbound.Open(); }
    Inbound<Node, Atomics> inbound;
    // Guarded by the lock of the worker that runs it.
    ModelPlain<int> watchers_told{0};
    ModelPlain<int> dead_letters{0};
    ModelPlain<int> taken{0};
    // The current call:
    ModelPlain<bool> is_answered{false};
    ModelPlain<int> answers{0};
    ModelPlain<int> kernels_marks{0};
    ModelPlain<int> handlers_marks{0};  // not guarded: written by the handler's code
  };
  static constexpr int kIsInHand = 1, kIsComplete = 2;

  // SetInHand and SetComplete each write a whole byte.
  void SetInHand(Actor& actor, bool is_in_hand) {
    actor.kernels_marks = is_in_hand ? actor.kernels_marks | kIsInHand : actor.kernels_marks & ~kIsInHand;
  }
  void SetComplete(Actor& actor) {
    ModelPlain<int>& marks = kBug == Bug::kMarksShareAByte ? actor.kernels_marks : actor.handlers_marks;
    marks = marks | kIsComplete;
  }

  // Ends the actor's life. Called in the owner's kernel code, or under a seizure.
  void End(Actor& actor) {
    if (kBug != Bug::kFenceLeavesTheWord || owner_ends) {
      for (Node* node = actor.inbound.Close(); node != nullptr; node = node->next) {
        Expect(node->payload == 1, "what was sent arrives");
        actor.dead_letters = actor.dead_letters + 1;
      }
    }
    if (!actor.is_answered) Answer(actor);
    SetInHand(actor, false);
    actor.watchers_told = actor.watchers_told + 1;
  }
  void Answer(Actor& actor) {
    actor.is_answered = true;
    actor.answers = actor.answers + 1;
  }

  // The worker. Its first turn is `killed`'s and its next turn is `other`'s, which the fence must not harm.
  void Work() {
    Turn(killed, 1);
    Turn(other, 0);
  }
  void Turn(Actor& actor, int calls) {
    current.store(&actor, std::memory_order_relaxed);
    is_fenced = false;
    for (Node* node = actor.inbound.TakeAll(); node != nullptr; node = node->next) {
      Expect(node->payload == 1, "what was sent arrives");
      actor.taken = actor.taken + 1;
    }
    SetInHand(actor, true);
    lock.Release();
    for (int i = 0; i < calls; ++i) Call(actor);
    SetComplete(actor);
    lock.Acquire();
    if (is_fenced && kBug != Bug::kOwnerDoesNotLook) return;  // the object is destroyed here; the fence did the rest
    if (&actor != &killed) return;
    owner_ends = true;
    End(actor);
  }
  // The handler calls the kernel to answer the current call.
  void Call(Actor& actor) {
    if (kBug == Bug::kAnswersOutside) actor.is_answered = true;
    lock.Acquire();
    if (!is_fenced || kBug == Bug::kCallDoesNotLook) {
      Expect(actor.watchers_told == 0, "an actor that was declared dead does nothing more");
      Answer(actor);
    }
    lock.Release();
  }

  // The watchdog, 100 ms after the kill.
  void Fence() {
    if (kBug == Bug::kFenceDoesNotSeize) {
      if (current.load(std::memory_order_relaxed) == &killed) Fenced();
      return;
    }
    if (current.load(std::memory_order_relaxed) != &killed || !lock.TrySeize()) return;
    if (kBug == Bug::kFenceDoesNotLook || current.load(std::memory_order_relaxed) == &killed) Fenced();
    lock.EndSeizure();
  }
  void Fenced() {
    End(killed);
    is_fenced = true;
    ++fences;
  }

  // A sender.
  void Send(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      nodes[i].payload = 1;
      const Pushed pushed = killed.inbound.Push(&nodes[i], true);
      ++(pushed == Pushed::kClosed ? refused : accepted);
    }
  }

  void Check() {
    Expect(killed.watchers_told == 1, "exactly one ends the life");
    Expect(killed.taken + killed.dead_letters == accepted, "each accepted message is accounted once");
    Expect(killed.answers == 1, "the call in hand is answered once");
    Expect(killed.handlers_marks == kIsComplete && killed.kernels_marks == 0, "no mark of the call undoes another");
    Expect(!killed.inbound.IsLive(), "nobody can send to it any more");
    Expect(other.watchers_told == 0 && other.inbound.IsLive(), "the next actor of that worker is not harmed");
  }

  BiasedLock<Atomics> lock;
  typename Atomics::template Atomic<Actor*> current{nullptr};
  ModelPlain<bool> is_fenced{false};  // guarded by lock
  Actor killed, other;
  bool owner_ends = false;  // written by the worker; the watchdog reads it only with kFenceLeavesTheWord
  std::array<Node, 3> nodes;
  int accepted = 0, refused = 0;  // written by the sender
  int fences = 0;                 // written by the watchdog
};

template <Bug kBug = Bug::kNone, class Atomics = ModelAtomics>
Outcome ExploreStage(const Bounds& bounds, size_t sends, int tries, int* fences = nullptr) {
  return Explore(bounds, [=](Program& program) {
    auto stage = std::make_shared<Stage<kBug, Atomics>>();
    program.Name(stage->lock, "lock");
    program.Name(stage->current, "current");
    program.Name(stage->is_fenced, "is_fenced");
    program.Name(stage->killed.watchers_told, "killed.watchers_told");
    program.Name(stage->killed.kernels_marks, "killed.kernels_marks");
    program.Name(stage->killed, "killed");
    program.Name(stage->other, "other");
    program.Name(stage->nodes, "nodes");
    program.Thread("worker", [stage] { stage->Work(); });
    program.Thread("watchdog", [stage, tries] {
      for (int i = 0; i < tries && stage->fences == 0; ++i) stage->Fence();
    });
    if (sends > 0) program.Thread("sender", [stage, sends] { stage->Send(sends); });
    program.AtEnd([stage, fences] {
      stage->Check();
      if (fences != nullptr) *fences += stage->fences;
    });
  });
}

// A killed life ends while the watchdog fences it, and the next life begins in the same place. The worker runs the same
// Runnable for both, and only the number of the life tells the two apart.
template <bool kAsksFirst, class Atomics>
struct Lives {
  void Work() {
    for (const int next : {1, 2}) {
      life.store(next, std::memory_order_release);
      is_fenced = false;
      lock.Release();
      // The handler of this life calls the kernel once.
      lock.Acquire();
      Expect(next == 1 || !is_fenced, "the next life is not harmed");
      lock.Release();
      lock.Acquire();
      if (!is_fenced) continue;
      Expect(next == 1, "the next life is not harmed");
      ++ended_by_fence;
    }
  }
  void Fence() {
    if (life.load(std::memory_order_acquire) != 1 || !lock.TrySeize()) return;
    if (!kAsksFirst) is_fenced = true;
    if (life.load(std::memory_order_acquire) == 1) {
      is_fenced = true;
      ++fences;
    }
    lock.EndSeizure();
  }

  BiasedLock<Atomics> lock;
  typename Atomics::template Atomic<int> life{1};
  ModelPlain<bool> is_fenced{false};  // guarded by lock
  int ended_by_fence = 0;             // written by the worker
  int fences = 0;                     // written by the watchdog
};

template <bool kAsksFirst>
Outcome ExploreLives(int* fences) {
  return Explore({}, [=](Program& program) {
    auto lives = std::make_shared<Lives<kAsksFirst, ModelAtomics>>();
    program.Name(lives->lock, "lock");
    program.Name(lives->life, "life");
    program.Name(lives->is_fenced, "is_fenced");
    program.Thread("worker", [lives] { lives->Work(); });
    program.Thread("watchdog", [lives] { lives->Fence(); });
    program.AtEnd([lives, fences] {
      Expect(lives->ended_by_fence == lives->fences, "a fence is found by its own turn");
      *fences += lives->fences;
    });
  });
}

TEST(FenceModelTest, TheNextLifeInTheSamePlaceIsNotMarked) {
  int fences = 0;
  const Outcome outcome = ExploreLives<true>(&fences);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_GT(fences, 0);
  EXPECT_LT(fences, outcome.schedules);
}

TEST(FenceModelTest, AWatchdogThatMarksBeforeItAsksWhoseTurnItIsIsFound) {
  int fences = 0;
  EXPECT_THAT(ExploreLives<false>(&fences).failure, HasSubstr("the next life is not harmed"));
}

TEST(FenceModelTest, ExactlyOneEndsTheLifeAndEachMessageIsAccountedOnce) {
  // semantics 5.11
  int fences = 0;
  const Outcome outcome = ExploreStage<>({}, 2, 1, &fences);
  ExpectHolds(outcome, 60'000);
  EXPECT_GT(fences, 100);
  EXPECT_LT(fences, outcome.schedules);
}

TEST(FenceModelTest, AlsoWhenTheWatchdogTriesAgainAndMoreIsSent) {
  ExpectHolds(ExploreStage<>({.preemptions_max = 3, .old_reads_max = 1}, 2, 2), 60'000);
}

TEST(FenceModelTest, AnOwnerThatDoesNotLookForTheMarkIsFound) {
  EXPECT_THAT(ExploreStage<Bug::kOwnerDoesNotLook>({}, 0, 1).failure, HasSubstr("exactly one ends the life"));
}

TEST(FenceModelTest, MarksOfTheCallThatShareAByteAreFound) {
  EXPECT_THAT(ExploreStage<Bug::kMarksShareAByte>({}, 0, 1).failure, HasSubstr("kernels_marks"));
}

TEST(FenceModelTest, ACallThatDoesNotLookForTheMarkIsFound) {
  EXPECT_THAT(ExploreStage<Bug::kCallDoesNotLook>({}, 0, 1).failure, HasSubstr("does nothing more"));
}

TEST(FenceModelTest, AHandlerThatNotesItsAnswerBeforeItIsInTheKernelIsFound) {
  EXPECT_THAT(ExploreStage<Bug::kAnswersOutside>({}, 0, 1).failure, HasSubstr("race: "));
}

TEST(FenceModelTest, AWatchdogThatGuessesWhichActorRunsIsFound) {
  EXPECT_THAT(ExploreStage<Bug::kFenceDoesNotLook>({}, 0, 1).failure, HasSubstr("exactly one ends the life"));
}

TEST(FenceModelTest, AWatchdogThatDoesNotSeizeIsFound) {
  EXPECT_THAT(ExploreStage<Bug::kFenceDoesNotSeize>({}, 0, 1).failure, HasSubstr("race: "));
}

TEST(FenceModelTest, AFenceThatLeavesTheListOpenIsFound) {
  EXPECT_THAT(ExploreStage<Bug::kFenceLeavesTheWord>({}, 1, 1).failure, HasSubstr("not so: "));
}

TEST(FenceModelTest, RelaxedWhereReleaseOrAcquireIsNeededIsFound) {
  EXPECT_THAT((ExploreStage<Bug::kNone, WithoutRelease>({}, 0, 1).failure), HasSubstr("race: "));
  EXPECT_THAT((ExploreStage<Bug::kNone, WithoutAcquire>({}, 0, 1).failure), HasSubstr("race: "));
}

}  // namespace
}  // namespace understudy::model
