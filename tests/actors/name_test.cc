// Names: registering, publishing, looking up, watching, and names that are resolved at each use (semantics 8).
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/mailbox_signature.h"
#include "understudy/actors/named.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Book final : public Actor {
 public:
  Mailbox<"load", Call<int, int>> load{this};
  Mailbox<"extra", int> extra{this};
  StartResult Start() override { return open_; }

 private:
  Behavior open_{"open", On(load, [](int n) { return n + 1; }), On(extra, [] {})};
};

// A ref that uses only the mailbox `load` of a book.
class BookRef : public Ref<Book> {
 public:
  using Ref<Book>::Ref;
  Channel<Call<int, int>> load() const { return (*this)[&Book::load]; }
  static std::vector<MailboxSignature> Mailboxes() { return {SignatureOf(&Book::load)}; }
};

// A class with a mailbox that Book does not have.
class Lacking final : public Actor {
 public:
  Mailbox<"missing", int> missing{this};
  StartResult Start() override { return StartResult::Ignore(); }
};
class LackingRef : public Ref<Lacking> {
 public:
  using Ref<Lacking>::Ref;
  static std::vector<MailboxSignature> Mailboxes() { return {SignatureOf(&Lacking::missing)}; }
};

class NameTest : public ActorTest {
 protected:
  template <class R>
  void Lookup(const char* name, absl::Duration timeout) {
    RunTask(script_, [this, name = std::string(name), timeout](Script& self) -> Task<> {
      auto looking = self.context().Lookup<R>(name, timeout);
      absl::StatusOr<R> found = co_await looking;
      status_ = found.status();
      found_ = found.ok() ? found->pid() : Pid();
      is_over_ = true;
    });
    is_over_ = false;
    system().RunUntilIdle();
  }
  Ref<Book> NewBook() { return system().Spawn<Book>(SpawnOptions{.registered_as = "book"}); }

  std::vector<std::string> notes_;
  Ref<Script> script_ = system().Spawn<Script>(nullptr, nullptr, &notes_);
  absl::Status status_;
  Pid found_;
  bool is_over_ = false;
};

TEST_F(NameTest, LookupGivesARefBoundToTheOwner) {
  // semantics 8.4
  Ref<Book> book = NewBook();
  system().RunUntilIdle();
  Lookup<BookRef>("book", absl::ZeroDuration());
  EXPECT_EQ(found_, book.pid()) << status_;
}

TEST_F(NameTest, LookupWaitsForTheName) {
  Lookup<BookRef>("book", absl::Seconds(5));
  system().Advance(absl::Seconds(4));
  EXPECT_FALSE(is_over_);
  Ref<Book> book = NewBook();
  system().RunUntilIdle();
  EXPECT_TRUE(is_over_);
  EXPECT_EQ(found_, book.pid()) << status_;
}

TEST_F(NameTest, ANameThatDoesNotComeAnswersNoName) {
  Lookup<BookRef>("book", absl::ZeroDuration());
  EXPECT_TRUE(is_over_);
  EXPECT_TRUE(IsNoName(status_)) << status_;
  Lookup<BookRef>("book", absl::Seconds(5));
  system().Advance(absl::Seconds(5));
  EXPECT_TRUE(is_over_);
  EXPECT_TRUE(IsNoName(status_)) << status_;
}

TEST_F(NameTest, AVacantNameAnswersRestarting) {
  RunTask(script_, [](Script& self) -> Task<> {
    self.context().KeepName({.name = "book"});
    co_return;
  });
  const Ref<Book> book = system().Spawn<Book>(SpawnOptions{.registered_as = "book", .names_kept_by = script_.pid()});
  system().RunUntilIdle();
  system().Kill(book.pid());
  system().RunUntilIdle();
  Lookup<BookRef>("book", absl::ZeroDuration());
  EXPECT_TRUE(IsRestarting(status_)) << status_;
  Lookup<BookRef>("book", absl::Seconds(5));
  system().Advance(absl::Seconds(5));
  EXPECT_TRUE(IsRestarting(status_)) << status_;
  EXPECT_TRUE(IsRestarting(system().Lookup<BookRef>("book", absl::Seconds(1)).status()));
  const Named<BookRef> named(system(), "book");
  EXPECT_TRUE(named.Resolve().pid().is_vacant());
  const absl::Status sent = named.Resolve()[&Book::extra].Send(1);
  EXPECT_TRUE(IsRestarting(sent)) << "a plain thread's send";
  EXPECT_EQ(sent.message(), "Restarting: the actor with the name book is being restarted by its supervisor");
  RunTask(script_, [this](Script&) -> Task<> {
    auto asked = Named<BookRef>("book")->load().Ask(1, absl::Seconds(1));
    status_ = (co_await asked).status();
  });
  system().RunUntilIdle();
  EXPECT_TRUE(IsRestarting(status_)) << status_;
  EXPECT_TRUE(absl::IsUnavailable(status_));
  system().Kill(script_.pid());
  system().RunUntilIdle();
  EXPECT_TRUE(named.Resolve().pid().is_unnamed() && !named.Resolve().pid().is_vacant());
}

TEST_F(NameTest, LookupOfWhatIsNoNameSaysSo) {
  NewBook();
  system().RunUntilIdle();
  const std::string too_long(limits::kNameBytesMax + 1, 'x');
  for (const char* name : {"", "two\nlines", too_long.c_str()}) {
    Lookup<BookRef>(name, absl::Seconds(1));
    EXPECT_TRUE(is_over_);
    EXPECT_TRUE(absl::IsInvalidArgument(status_)) << status_;
  }
}

TEST_F(NameTest, LookupComparesTheMailboxesThatTheRefUses) {
  // semantics 8.5
  NewBook();
  system().RunUntilIdle();
  Lookup<LackingRef>("book", absl::Seconds(1));
  EXPECT_EQ(status_.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status_.message()), HasSubstr("no mailbox missing"));
}

TEST_F(NameTest, ANamedRefIsResolvedAtEachUse) {
  // semantics 8.4
  Named<BookRef> book(system(), "book");
  EXPECT_TRUE(IsNoName(Ask(book->load(), 1).status()));
  EXPECT_TRUE(book.Resolve().pid().is_unnamed());
  Ref<Book> first = NewBook();
  system().RunUntilIdle();
  EXPECT_EQ(*Ask(book->load(), 1), 2);
  system().Kill(first.pid());
  system().RunUntilIdle();
  EXPECT_TRUE(IsNoName(Ask(book->load(), 1).status()));
  Ref<Book> second = NewBook();
  system().RunUntilIdle();
  EXPECT_EQ(book.Resolve().pid(), second.pid());
  EXPECT_EQ(*Ask(book->load(), 1), 2);
}

TEST_F(NameTest, TheErrorOfASendThroughANameWithoutAnOwnerHasTheName) {
  const Named<BookRef> named(system(), "book");
  const BookRef book = named.Resolve();
  EXPECT_TRUE(IsNoName(Named<BookRef>(system(), "atlas").Resolve()[&Book::extra].Send(1)));
  std::vector<absl::Status> told = {book[&Book::extra].Send(1), Ask(named->load(), 1).status()};
  book[&Book::extra].Tell(1);
  ASSERT_EQ(dead_letters().size(), 1U);
  told.push_back(dead_letters()[0].why);
  RunTask(script_, [&told](Script&) -> Task<> {
    auto asked = Named<BookRef>("book")->load().Ask(1, absl::Seconds(1));
    told.push_back((co_await asked).status());
    auto sending = Named<BookRef>("book").Resolve()[&Book::extra].SendWhenRoom(1, absl::Seconds(1));
    told.push_back(co_await sending);
  });
  system().RunUntilIdle();
  ASSERT_EQ(told.size(), 5U);
  for (const absl::Status& status : told) {
    EXPECT_TRUE(IsNoName(status)) << status;
    EXPECT_EQ(status.message(), "NoName: no actor has the name book");
  }
}

TEST_F(NameTest, ATellOfAPlainThreadThroughAFreeNameIsADeadLetterToo) {
  Named<Ref<Book>> book(system(), "book");
  book.Resolve()[&Book::extra].Tell(1);
  ASSERT_EQ(dead_letters().size(), 1U);
  EXPECT_TRUE(IsNoName(dead_letters()[0].why)) << dead_letters()[0].why;
  EXPECT_TRUE(IsNoName(book.Resolve()[&Book::extra].Send(1)));
  EXPECT_EQ(Ledger().refused, 2);
}

TEST_F(NameTest, ATellThroughAFreeNameIsADeadLetter) {
  class Writer final : public Actor {
   public:
    Mailbox<"write", int> write{this};
    StartResult Start() override {
      return Behavior("writing", On(write, [](int n) { Named<Ref<Book>>("book").Resolve()[&Book::extra].Tell(n); }));
    }
  };
  Ref<Writer> writer = system().Spawn<Writer>();
  writer[&Writer::write].Tell(1);
  system().RunUntilIdle();
  ASSERT_EQ(dead_letters().size(), 1U);
  EXPECT_TRUE(IsNoName(dead_letters()[0].why)) << dead_letters()[0].why;
  EXPECT_EQ(dead_letters()[0].from, writer.pid());
  EXPECT_EQ(Ledger().refused, 1);
}

TEST_F(NameTest, RegisterTakesANameAndUnregisterGivesItUp) {
  Do(script_, [](Script& self) {
    EXPECT_TRUE(self.context().Register("mine").ok());
    EXPECT_TRUE(self.context().Register("mine").ok());
    EXPECT_EQ(self.context().Register("").code(), absl::StatusCode::kInvalidArgument);
  });
  system().RunUntilIdle();
  EXPECT_EQ(system().WhereIs("mine"), script_.pid());
  Ref<Script> other = system().Spawn<Script>();
  Do(other, [](Script& self) {
    EXPECT_EQ(self.context().Register("mine").code(), absl::StatusCode::kAlreadyExists);
    self.context().Unregister("mine");
  });
  system().RunUntilIdle();
  EXPECT_EQ(system().WhereIs("mine"), script_.pid()) << "another's is not one's to give up";
  Do(script_, [](Script& self) { self.context().Unregister("mine"); });
  system().RunUntilIdle();
  EXPECT_EQ(system().WhereIs("mine"), absl::nullopt);
}

// Publishes when the test lets it.
class SlowPublisher final : public NamePublisher {
 public:
  void Publish(const NameRecord& record, absl::AnyInvocable<void(absl::Status)> done) override {
    published.push_back(record.name);
    waiting = std::move(done);
  }
  void Withdraw(absl::string_view name, Pid /*owner*/) override { withdrawn.emplace_back(name); }
  void Vacate(absl::string_view, Pid) override {}
  void Free(absl::string_view) override {}

  std::vector<std::string> published;
  std::vector<std::string> withdrawn;
  absl::AnyInvocable<void(absl::Status)> waiting;
};

class PublishTest : public NameTest {
 protected:
  PublishTest() { system().InstallPublisher(&publisher_); }
  void Publish(const char* name) {
    RunTask(script_, [this, name = std::string(name)](Script& self) -> Task<> {
      auto publishing = self.context().Publish(name);
      status_ = co_await publishing;
      is_over_ = true;
    });
    system().RunUntilIdle();
  }
  void TearDown() override {
    NameTest::TearDown();
    system().InstallPublisher(nullptr);
  }
  SlowPublisher publisher_;
};

TEST_F(PublishTest, IsOverWhenThePublisherSaysSoAndIsWithdrawnAtTheEnd) {
  Publish("cluster/book");
  EXPECT_FALSE(is_over_);
  std::move(publisher_.waiting)(absl::OkStatus());
  system().RunUntilIdle();
  EXPECT_TRUE(is_over_);
  EXPECT_TRUE(status_.ok()) << status_;
  system().Kill(script_.pid());
  system().RunUntilIdle();
  EXPECT_THAT(publisher_.published, ElementsAre("cluster/book"));
  EXPECT_THAT(publisher_.withdrawn, ElementsAre("cluster/book"));
}

TEST_F(PublishTest, ANameThatTheClusterRefusesIsNotKnownHereEither) {
  Publish("cluster/book");
  std::move(publisher_.waiting)(absl::AlreadyExistsError("taken"));
  system().RunUntilIdle();
  EXPECT_EQ(status_, absl::AlreadyExistsError("taken"));
  EXPECT_EQ(system().WhereIs("cluster/book"), absl::nullopt);
}

TEST_F(PublishTest, ACancelledPublishDoesNotTakeTheNameAwayLater) {
  RunTask(script_, [](Script& self) -> Task<> {
    auto given_up = self.context().Publish("cluster/book");
    given_up.Cancel();
    auto pause = self.context().Lookup<Ref<Book>>("nobody", absl::Seconds(1));
    (void)co_await pause;
    EXPECT_TRUE(self.context().Register("cluster/book").ok());
    auto longer = self.context().Lookup<Ref<Book>>("nobody", absl::Hours(30));
    (void)co_await longer;
  });
  system().Advance(absl::Hours(25));
  EXPECT_EQ(system().WhereIs("cluster/book"), script_.pid());
}

TEST_F(PublishTest, AnActorIsStartedWhenItsNameIsPublished) {
  Ref<Book> book = system().Spawn<Book>(SpawnOptions{.published_as = "cluster/book"});
  bool is_answered = false;
  RunTask(script_, [&](Script&) -> Task<> {
    auto asked = book[&Book::load].Ask(1, absl::Seconds(9));
    is_answered = (co_await asked).ok();
  });
  system().RunUntilIdle();
  EXPECT_FALSE(is_answered);
  std::move(publisher_.waiting)(absl::OkStatus());
  system().RunUntilIdle();
  EXPECT_TRUE(is_answered);
}

// Takes names while its constructor runs.
class Hasty final : public Actor {
 public:
  Mailbox<"unused", int> unused{this};
  explicit Hasty(std::vector<std::string>* notes)
      : notes_(notes), registered_(context().Register("hasty")), publishing_(context().Publish("cluster/hasty")) {
    notes_->push_back(absl::StrCat(context().Mailboxes().size(), " mailboxes in the constructor"));
  }
  StartResult Start() override { return Await(); }

 private:
  Task<StartResult> Await() {
    absl::Status published = co_await publishing_;
    notes_->push_back(absl::StrCat(context().Mailboxes().size(), " mailboxes in Start"));
    notes_->push_back(registered_.ToString());
    notes_->push_back(published.ToString());
    co_return Behavior("idle", On(unused, [] {}));
  }
  std::vector<std::string>* notes_;
  absl::Status registered_;
  Pending<void> publishing_;
};

TEST_F(NameTest, AConstructorTakesNoNamesAndIsToldSo) {
  std::vector<std::string> notes;
  system().Spawn<Hasty>(&notes);
  system().RunUntilIdle();
  const std::string early = "FAILED_PRECONDITION: the constructor has not run, so the mailboxes that ";
  EXPECT_THAT(notes, ElementsAre("0 mailboxes in the constructor", "1 mailboxes in Start",
                                 HasSubstr(early + "hasty would have"), HasSubstr(early + "cluster/hasty would have")));
  EXPECT_EQ(system().WhereIs("hasty"), absl::nullopt);
}

TEST(NamedDeathTest, APlainThreadOfSeveralSystemsMustSayWhich) {
  TestSystem one;
  TestSystem other;
  EXPECT_DEATH((void)Named<BookRef>("book").Resolve(), "give Named its system");
}

TEST_F(NameTest, APlainThreadWaitsForAName) {
  const absl::StatusOr<BookRef> none = system().Lookup<BookRef>("book", absl::Seconds(1));
  EXPECT_TRUE(IsNoName(none.status())) << none.status();
  EXPECT_EQ(system().Lookup<BookRef>("", absl::Seconds(1)).status().code(), absl::StatusCode::kInvalidArgument);

  RunTask(script_, [this](Script& self) -> Task<> {
    auto pause = self.context().Sleep(absl::Seconds(1));
    (void)co_await pause;
    system().Spawn<Book>(SpawnOptions{.registered_as = "book"});
  });
  const absl::StatusOr<BookRef> later = system().Lookup<BookRef>("book", absl::Seconds(5));
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_EQ(later->pid(), system().WhereIs("book"));
  const absl::StatusOr<BookRef> at_once = system().Lookup<BookRef>("book", absl::ZeroDuration());
  ASSERT_TRUE(at_once.ok()) << at_once.status();
  EXPECT_EQ(*at_once, *later);
  const absl::StatusOr<LackingRef> lacking = system().Lookup<LackingRef>("book", absl::Seconds(1));
  EXPECT_EQ(lacking.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(ThreadLookupTest, ShutdownCancelsIt) {
  ActorSystem system;
  absl::Status status;
  std::thread looking([&] { status = system.Lookup<BookRef>("book", absl::InfiniteDuration()).status(); });
  while (system.live_actors() == 0) std::this_thread::yield();
  EXPECT_TRUE(system.Shutdown(absl::Seconds(10)));
  looking.join();
  EXPECT_TRUE(understudy::IsCancelled(status)) << status;
}

TEST(ThreadLookupDeathTest, AnActorsTurnMayNotBlockInIt) {
  EXPECT_DEATH(
      {
        TestSystem system;
        Ref<Script> script = system.Spawn<Script>();
        Do(script, [&system](Script&) { (void)system.Lookup<BookRef>("book", absl::Seconds(1)); });
        system.RunUntilIdle();
      },
      "ActorSystem::Lookup blocks its thread");
}

}  // namespace
}  // namespace understudy
