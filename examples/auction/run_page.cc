#include "understudy/examples/auction/run_page.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/examples/auction/amount.h"

namespace auction {

std::string FormatResults(const std::vector<Lot>& lots, const std::vector<LotResult>& results) {
  std::string text = absl::StrFormat("  %-10s %-28s %-14s %12s\n", "lot", "title", "winner", "amount");
  for (size_t i = 0; i < lots.size(); ++i) {
    const bool is_sold = !results[i].winner.empty();
    absl::StrAppendFormat(&text, "  %-10s %-28s %-14s %12s\n", lots[i].id, lots[i].title,
                          is_sold ? results[i].winner : "(not sold)", is_sold ? FormatAmount(results[i].cents) : "");
  }
  return text;
}

int64_t Imbalance(const NodeReport& report) {
  return report.accepted() - report.handled() - report.rejected() - report.failed() - report.expired() -
         report.cancelled() - report.dropped() - report.dead_letters() - report.passed_on() - report.waiting();
}

std::string FormatMessageLedgers(const std::vector<NodeReport>& reports) {
  constexpr char kRow[] = "  %-10s %9s %9s %9s %7s %8s %10s %8s %12s %10s %8s  %s\n";
  std::string text = absl::StrFormat(kRow, "node", "accepted", "handled", "rejected", "failed", "expired", "cancelled",
                                     "dropped", "dead letters", "passed on", "waiting", "");
  for (const NodeReport& report : reports) {
    absl::StrAppendFormat(&text, kRow, report.node(), absl::StrCat(report.accepted()), absl::StrCat(report.handled()),
                          absl::StrCat(report.rejected()), absl::StrCat(report.failed()),
                          absl::StrCat(report.expired()), absl::StrCat(report.cancelled()),
                          absl::StrCat(report.dropped()), absl::StrCat(report.dead_letters()),
                          absl::StrCat(report.passed_on()), absl::StrCat(report.waiting()),
                          Imbalance(report) == 0 ? "balances" : absl::StrCat("off by ", Imbalance(report)));
  }
  return text;
}

std::string FormatCauses(const understudy::ExitReason& reason) {
  std::string text;
  for (const understudy::ExitReason* why = &reason; why != nullptr; why = why->cause()) {
    absl::StrAppend(&text, "  ", why == &reason ? "" : "because of ", why->ToStringWithoutCauses(), "\n");
  }
  if (reason.causes_cut()) absl::StrAppend(&text, "  (older causes are cut off)\n");
  return text;
}

std::string FormatChecks(const std::vector<Check>& checks) {
  std::string text;
  for (const Check& check : checks) {
    absl::StrAppendFormat(&text, "  %-7s %s: %s\n", check.holds ? "ok" : "FAILED", check.what, check.detail);
  }
  return text;
}

}  // namespace auction
