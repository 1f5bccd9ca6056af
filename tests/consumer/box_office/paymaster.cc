#include "box_office/paymaster.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/error.h"
#include "understudy/actors/fault_point.h"

namespace consumer::box_office {
namespace {

using understudy::StartResult;
using understudy::Task;

// A bug that the tests must find.
understudy::FaultPoint kForgetsToWriteDown("paymaster_forgets_to_write_down");

ChangeRequest ChangeOf(const PayRequest& payment, const std::string& account, int64_t cents) {
  ChangeRequest change;
  change.set_id(absl::StrCat(payment.id(), "/", account));
  change.set_account(account);
  change.set_cents(cents);
  return change;
}

}  // namespace

Task<StartResult> WagePaymaster::FinishAll() {
  std::vector<PayRequest> begun;
  for (const auto& [id, payment] : *journal_) begun.push_back(payment);
  for (const PayRequest& payment : begun) {
    auto finishing = Finish(payment);
    absl::Status finished = co_await finishing;
    if (!finished.ok()) co_return finished;
  }
  co_return open_;
}

Task<absl::StatusOr<PayReply>> WagePaymaster::Pay(PayRequest request) {
  if (!kForgetsToWriteDown.armed()) journal_->emplace(request.id(), request);
  auto finishing = Finish(request);
  absl::Status finished = co_await finishing;
  if (!finished.ok()) co_return finished;
  co_return PayReply();
}

Task<absl::Status> WagePaymaster::Finish(PayRequest request) {
  auto taking = Change(ChangeOf(request, "till", -request.cents()));
  absl::Status taken = co_await taking;
  if (!taken.ok()) co_return taken;
  auto giving = Change(ChangeOf(request, request.role().name(), request.cents()));
  absl::Status given = co_await giving;
  if (!given.ok()) co_return given;
  journal_->erase(request.id());
  co_return absl::OkStatus();
}

Task<absl::Status> WagePaymaster::Change(ChangeRequest change) {
  while (true) {
    auto asked = safe_->change().Ask(change, absl::Seconds(1));
    absl::StatusOr<Balance> changed = co_await asked;
    // Only an error of the library is worth another try.
    if (changed.ok() || !understudy::ErrorKindOf(changed.status()).has_value()) co_return changed.status();
    auto pause = context().Sleep(absl::Milliseconds(100));
    absl::Status slept = co_await pause;
    if (!slept.ok()) co_return slept;
  }
}

understudy::ActorFactories OfficeFactories(Journal* journal) {
  understudy::ActorFactories factories;
  factories.Add("paymaster", [journal] { return std::make_unique<WagePaymaster>(journal); });
  return factories;
}

}  // namespace consumer::box_office
