// The lock-free parts on real threads and real memory. tests/model explores their interleavings exhaustively.
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "understudy/actors/internal/memory/atomics.h"
#include "understudy/actors/internal/memory/biased_lock.h"
#include "understudy/actors/internal/send/inbound.h"

namespace understudy::internal {
namespace {

struct alignas(64) Note {
  Note* next = nullptr;
  int sender = 0;
  int number = 0;
};

TEST(InboundTest, AllZeroIsClosedAndRefuses) {
  Inbound<Note> inbound;
  Note note;
  EXPECT_EQ(inbound.Push(&note, true), Pushed::kClosed);
  EXPECT_FALSE(inbound.IsLive());
  EXPECT_FALSE(inbound.TryWake());
  EXPECT_EQ(inbound.TakeAll(), nullptr);
  EXPECT_EQ(inbound.Close(), nullptr);
}

TEST(InboundTest, GivesWhatWasPushedNewestFirst) {
  Inbound<Note> inbound;
  inbound.Open();
  std::array<Note, 3> notes;
  for (Note& note : notes) EXPECT_EQ(inbound.Push(&note, true), Pushed::kPushed);
  Note* const taken = inbound.TakeAll();
  ASSERT_EQ(taken, &notes[2]);
  Note* const oldest = Inbound<Note>::Reverse(taken);
  EXPECT_EQ(oldest, notes.data());
  EXPECT_EQ(oldest->next, &notes[1]);
  EXPECT_EQ(notes[2].next, nullptr);
  EXPECT_TRUE(inbound.IsLive());
}

TEST(InboundTest, OnePusherOfAnIdleActorMustScheduleIt) {
  Inbound<Note> inbound;
  inbound.Open();
  ASSERT_TRUE(inbound.TryIdle());
  std::array<Note, 4> notes;
  EXPECT_EQ(inbound.Push(notes.data(), false), Pushed::kPushedToIdle);
  EXPECT_TRUE(inbound.IsIdle());
  EXPECT_EQ(inbound.Push(&notes[1], true), Pushed::kMustSchedule);
  EXPECT_EQ(inbound.Push(&notes[2], true), Pushed::kPushed);
  EXPECT_FALSE(inbound.TryWake());
  EXPECT_FALSE(inbound.TryIdle()) << "something came";
  EXPECT_EQ(inbound.TakeAll(), &notes[2]);
  EXPECT_TRUE(inbound.TryIdle());
  EXPECT_TRUE(inbound.TryWake());
  EXPECT_FALSE(inbound.TryWake());
}

TEST(InboundTest, ClosingGivesWhatWasNotTaken) {
  Inbound<Note> inbound;
  inbound.Open();
  Note note;
  ASSERT_EQ(inbound.Push(&note, true), Pushed::kPushed);
  EXPECT_EQ(inbound.Close(), &note);
  Note late;
  EXPECT_EQ(inbound.Push(&late, true), Pushed::kClosed);
}

TEST(InboundTest, EachSendersNotesArriveInOrderAndTheOwnerSleepsOnlyWhenAllAreTaken) {
  constexpr int kSenders = 3;
  constexpr int kNotes = 20000;
  Inbound<Note> inbound;
  const std::atomic<uint64_t> open{1};
  std::atomic<int> scheduled{1};
  std::vector<std::vector<Note>> notes(kSenders, std::vector<Note>(kNotes));
  inbound.Open();
  std::vector<std::thread> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&, sender] {
      for (int i = 0; i < kNotes; ++i) {
        Note& note = notes[sender][i];
        note.sender = sender;
        note.number = i;
        if (inbound.PushAndWake(&note, open, 1) == Pushed::kMustSchedule) {
          ASSERT_EQ(scheduled.exchange(1), 0) << "it is scheduled already";
          scheduled.notify_one();
        }
      }
    });
  }
  std::array<int, kSenders> next = {};
  int taken = 0;
  while (taken < kSenders * kNotes) {
    scheduled.wait(0);
    for (Note* note = Inbound<Note>::Reverse(inbound.TakeAll()); note != nullptr; note = note->next) {
      ASSERT_EQ(note->number, next[note->sender]++);
      ++taken;
    }
    scheduled.store(0);
    if (!inbound.TryIdle()) scheduled.store(1);
  }
  for (std::thread& sender : senders) sender.join();
  EXPECT_EQ(inbound.TakeAll(), nullptr);
}

TEST(BiasedLockTest, IsSeizedOnlyWhileTheOwnerIsInUserCode) {
  BiasedLock<> lock;
  EXPECT_FALSE(lock.TrySeize());
  lock.Release();
  ASSERT_TRUE(lock.TrySeize());
  EXPECT_FALSE(lock.TrySeize()) << "one seizer at a time";
  lock.EndSeizure();
  lock.Acquire();
  EXPECT_FALSE(lock.TrySeize());
}

TEST(BiasedLockTest, ItsTwoSidesExcludeEachOther) {
  StdAtomics::PrepareBarriers();
  constexpr int kSeizures = 2000;
  BiasedLock<> lock;
  int64_t guarded = 0;  // not atomic: TSan, and a lost update, tell
  int64_t seizures = 0;
  std::atomic<bool> is_done{false};
  std::thread watchdog([&] {
    while (seizures < kSeizures) {
      if (!lock.TrySeize()) continue;
      ++guarded;
      ++seizures;
      lock.EndSeizure();
    }
    is_done = true;
  });
  int64_t rounds = 0;
  while (!is_done) {
    ++guarded;
    ++rounds;
    lock.Release();
    lock.Acquire();
  }
  watchdog.join();
  EXPECT_EQ(guarded, rounds + kSeizures);
  EXPECT_EQ(seizures, kSeizures);
}

}  // namespace
}  // namespace understudy::internal
