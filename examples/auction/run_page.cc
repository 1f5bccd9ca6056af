#include "understudy/examples/auction/run_page.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/examples/auction/amount.h"
#include "understudy/examples/auction/input_text.h"
#include "understudy/examples/auction/wrap_text.h"

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
         report.cancelled() - report.dropped() - report.dead_letters() - report.forwarded() - report.waiting();
}

std::string FormatProblems(const std::vector<InputProblem>& problems) {
  std::string text;
  for (auto problem = problems.begin(); problem != problems.end();) {
    const auto next = std::find_if(problem, problems.end(),
                                   [problem](const InputProblem& other) { return other.file != problem->file; });
    absl::StrAppend(&text, "  ", Printable(problem->file), "\n");
    const auto shown_end = problem + std::min<ptrdiff_t>(next - problem, kProblemsShownMax);
    for (; problem != shown_end; ++problem) {
      absl::StrAppend(&text, WrapText(absl::StrFormat("  %6d: %s", problem->line, Printable(problem->reason)), 10),
                      "\n");
    }
    if (problem != next) absl::StrAppend(&text, "          and ", next - problem, " more\n");
    problem = next;
  }
  return text;
}

std::string FormatMessageLedgers(const std::vector<NodeReport>& reports) {
  struct Column {
    const char* name;
    std::function<int64_t(const NodeReport&)> count;
  };
  const Column all[] = {{"accepted", &NodeReport::accepted},   {"handled", &NodeReport::handled},
                        {"rejected", &NodeReport::rejected},   {"failed", &NodeReport::failed},
                        {"expired", &NodeReport::expired},     {"cancelled", &NodeReport::cancelled},
                        {"dropped", &NodeReport::dropped},     {"dead letters", &NodeReport::dead_letters},
                        {"forwarded", &NodeReport::forwarded}, {"waiting", &NodeReport::waiting}};
  std::vector<const Column*> used;
  for (const Column& column : all) {
    const bool is_used = std::any_of(reports.begin(), reports.end(),
                                     [&](const NodeReport& report) { return column.count(report) != 0; });
    if (is_used) used.push_back(&column);
  }
  std::string text = absl::StrFormat("  %-10s", "node");
  for (const Column* column : used) absl::StrAppendFormat(&text, " %9s", column->name);
  text += "\n";
  for (const NodeReport& report : reports) {
    absl::StrAppendFormat(&text, "  %-10s", report.node());
    for (const Column* column : used) {
      absl::StrAppendFormat(&text, " %*d", std::max<int>(9, static_cast<int>(std::strlen(column->name))),
                            column->count(report));
    }
    absl::StrAppend(&text, "  ", Imbalance(report) == 0 ? "balances" : absl::StrCat("off by ", Imbalance(report)),
                    "\n");
  }
  return text;
}

std::string FormatCauses(const understudy::ExitReason& reason) {
  std::string text;
  for (const understudy::ExitReason* why = &reason; why != nullptr; why = why->cause()) {
    absl::StrAppend(&text,
                    WrapText(absl::StrCat("  ", why == &reason ? "" : "because of ", why->ToStringWithoutCauses()), 4),
                    "\n");
  }
  if (reason.causes_cut()) absl::StrAppend(&text, "  (older causes are cut off)\n");
  return text;
}

std::string FormatFailure(const absl::Status& failure) {
  if (failure.ok()) return "";
  return WrapText(absl::StrCat("The run failed: ", Printable(failure.message())), 2) + "\n";
}

std::string FormatChecks(const std::vector<Check>& checks) {
  std::string text;
  for (const Check& check : checks) {
    const std::string line = absl::StrFormat("  %-7s %s: %s", check.holds ? "ok" : "FAILED", check.what, check.detail);
    absl::StrAppend(&text, WrapText(line, 10), "\n");
  }
  return text;
}

}  // namespace auction
