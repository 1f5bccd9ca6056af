// Bank transactions: a teller moves money between accounts that it picks at random from 1,000. While an account waits
// for the other's confirmation, a guard keeps it from taking a further transfer; it still takes deposits, because the
// handler is interleaved. So accounts that wait for each other in a circle do not hang.
// Oracle: each transfer is confirmed, and the sum of the balances has not changed.
#include "understudy/actors/channel.h"
#include "understudy/actors/pending_group.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int64_t kAccounts = 1000;
constexpr int64_t kFirstBalance = 100'000;

struct GetBalance {};
struct Confirmed {};

class Account;
struct Transfer {
  int64_t cents = 0;
  Ref<Account> to;
};

class Account final : public Actor {
 public:
  Mailbox<"transfer", Call<Transfer, Confirmed>> transfer{this, {.capacity_messages = 100'000}};
  Mailbox<"deposit", Call<int64_t, Confirmed>> deposit{this, {.capacity_messages = 100'000}};
  Mailbox<"balance", Call<GetBalance, int64_t>> balance{this};

  StartResult Start() override { return open_; }

 private:
  bool IsFree() const { return !is_transferring_; }

  Task<absl::StatusOr<Confirmed>> Move(Transfer asked_for) {
    is_transferring_ = true;
    cents_ -= asked_for.cents;
    auto asked = asked_for.to[&Account::deposit].Ask(asked_for.cents, kPatience);
    absl::StatusOr<Confirmed> confirmed = co_await asked;
    is_transferring_ = false;
    co_return confirmed;
  }
  Confirmed Deposit(int64_t cents) {
    cents_ += cents;
    return {};
  }
  int64_t Balance(const GetBalance& /*request*/) { return cents_; }

  int64_t cents_ = kFirstBalance;
  bool is_transferring_ = false;
  Behavior open_{"open", On(transfer, &Account::Move).When(&Account::IsFree).Interleaved(),
                 On(deposit, &Account::Deposit), On(balance, &Account::Balance)};
};

class Teller final : public Program {
 public:
  explicit Teller(int64_t transfers) : transfers_(transfers) {}
  StartResult Start() override { return Work(); }

 private:
  Task<StartResult> Work() {
    std::vector<Ref<Account>> accounts;
    for (int64_t i = 0; i < kAccounts; ++i) accounts.push_back(context().Spawn<Account>());
    std::vector<Pending<Confirmed>> asked;
    for (int64_t i = 0; i < transfers_; ++i) {
      const int64_t from = random_.Below(kAccounts);
      const int64_t to = (from + 1 + random_.Below(kAccounts - 1)) % kAccounts;
      const Transfer transfer{.cents = 1 + random_.Below(1000), .to = accounts[static_cast<size_t>(to)]};
      asked.push_back(accounts[static_cast<size_t>(from)][&Account::transfer].Ask(transfer, kPatience));
    }
    auto all = All(asked);
    std::vector<absl::StatusOr<Confirmed>> answers = co_await all;
    int64_t confirmed = 0;
    for (const absl::StatusOr<Confirmed>& answer : answers) confirmed += answer.ok() ? 1 : 0;

    std::vector<Channel<Call<GetBalance, int64_t>>> channels;
    for (const Ref<Account>& account : accounts) channels.push_back(account[&Account::balance]);
    auto balances_asked = AskAll(channels, GetBalance(), kPatience);
    auto all_balances = All(balances_asked);
    std::vector<absl::StatusOr<int64_t>> balances = co_await all_balances;
    int64_t sum = 0;
    for (const absl::StatusOr<int64_t>& balance : balances) sum += balance.value_or(0);
    if (sum != kAccounts * kFirstBalance) co_return absl::InternalError("money has appeared or disappeared");
    co_return Done(Checked("transfers confirmed", confirmed, transfers_));
  }

  const int64_t transfers_;
  Random random_;
};

}  // namespace

std::unique_ptr<Actor> MakeBankTransaction(int64_t transfers) { return std::make_unique<Teller>(transfers); }

}  // namespace understudy::savina
