// The bank of the Savina suite: an account that waits for the reply to a transfer accepts deposits, but does not start
// another transfer.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"

namespace understudy {
namespace {

struct Received {};

struct Deposit {
  int64_t cents = 0;
  Channel<Received> reply_to;
};

class Account;

struct Transfer {
  int64_t cents = 0;
  Ref<Account> to;
  Channel<Received> teller;
};

struct GetBalance {};

// While an account waits for the other account's reply, it accepts deposits and no transfers. A circle of transfers
// therefore cannot deadlock.
class Account final : public Actor {
 public:
  Mailbox<"transfer", Transfer> transfer{this, {.capacity_messages = 100'000}};
  Mailbox<"deposit", Deposit> deposit{this, {.capacity_messages = 100'000}};
  Mailbox<"received", Received> received{this};
  Mailbox<"balance", Call<GetBalance, int64_t>> balance{this};

  explicit Account(int64_t cents) : cents_(cents) {}
  StartResult Start() override { return ready_; }

 private:
  Behavior Send(const Transfer& asked) {
    cents_ -= asked.cents;
    teller_ = asked.teller;
    asked.to[&Account::deposit].Tell({asked.cents, context().ChannelTo(received)});
    return waiting_;
  }
  void Take(const Deposit& given) {
    cents_ += given.cents;
    given.reply_to.Tell({});
  }
  Behavior Finish(const Received&) {
    teller_.Tell({});
    return ready_;
  }
  int64_t Balance(const GetBalance&) { return cents_; }

  int64_t cents_;
  Channel<Received> teller_;
  Behavior ready_{"ready", On(transfer, &Account::Send), On(deposit, &Account::Take), On(balance, &Account::Balance)};
  Behavior waiting_{"waiting", On(received, &Account::Finish), On(deposit, &Account::Take)};
};

using SelBankingTest = ActorTest;

// SEL 9
// Runs in one process. Source and destination are any pair, so that there are circles, too.
TEST_F(SelBankingTest, EachTransferIsAnsweredAndNoMoneyIsLost) {
  constexpr int kAccounts = 1'000;
  constexpr int kTransfers = 50'000;
  constexpr int64_t kCents = 1000;
  Probe<Received> teller(system(), {.capacity_messages = kTransfers});
  std::vector<Ref<Account>> accounts;
  for (int i = 0; i < kAccounts; ++i) accounts.push_back(system().Spawn<Account>(kCents));
  uint32_t random = 74755;  // the random number generator of the Savina suite
  const auto next = [&random] { return random = (random * 1309 + 13849) & 65535U; };
  for (int i = 0; i < kTransfers; ++i) {
    const uint32_t from = next() % kAccounts;
    const uint32_t to = (from + 1 + next() % (kAccounts - 1)) % kAccounts;
    accounts[from][&Account::transfer].Tell({static_cast<int64_t>(next() % 100), accounts[to], teller.channel()});
  }
  EXPECT_EQ(teller.ReceiveAll().size(), static_cast<size_t>(kTransfers));
  int64_t total = 0;
  for (const Ref<Account>& account : accounts) total += *Ask(account[&Account::balance], GetBalance());
  EXPECT_EQ(total, kAccounts * kCents);
}

}  // namespace
}  // namespace understudy
