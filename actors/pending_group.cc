#include "understudy/actors/pending_group.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace understudy::internal {
namespace {

// The most failures that an error text lists in full; it only counts the others.
constexpr size_t kFailuresListedMax = 8;

}  // namespace

size_t FirstAnswered(absl::Span<const PendingId> pendings) {
  size_t first = pendings.size();
  uint64_t first_place = 0;
  for (size_t i = 0; i < pendings.size(); ++i) {
    if (!IsAnswered(pendings[i])) continue;
    const uint64_t place = AnsweredAs(pendings[i]);
    if (first < pendings.size() && first_place <= place) continue;
    first = i;
    first_place = place;
  }
  return first;
}

std::vector<size_t> ByAnswer(absl::Span<const PendingId> pendings) {
  std::vector<std::pair<uint64_t, size_t>> places;
  places.reserve(pendings.size());
  for (size_t i = 0; i < pendings.size(); ++i) {
    places.emplace_back(IsAnswered(pendings[i]) ? AnsweredAs(pendings[i]) : UINT64_MAX, i);
  }
  std::sort(places.begin(), places.end());
  std::vector<size_t> order;
  order.reserve(places.size());
  for (const auto& [place, index] : places) order.push_back(index);
  return order;
}

void GiveUp(absl::Span<const PendingId> pendings) {
  for (const PendingId& pending : pendings) {
    CancelPending(pending);
    (void)TakeAnswer(pending);
  }
}

void GroupFailures::Add(size_t index, Pid callee, const absl::Status& why) {
  codes_.push_back(why.code());
  if (codes_.size() > kFailuresListedMax) return;
  absl::StrAppend(&text_, codes_.size() == 1 ? "" : "; ", "[", index, "] ", callee.is_null() ? "" : callee.ToString(),
                  callee.is_null() ? "" : " ", why.ToString(absl::StatusToStringMode::kWithNoExtraData));
}

absl::Status GroupFailures::Status(size_t good, size_t needed, size_t asked) const {
  const bool are_alike = !codes_.empty() && std::count(codes_.begin(), codes_.end(), codes_.front()) ==
                                                static_cast<std::ptrdiff_t>(codes_.size());
  std::string more;
  if (codes_.size() > kFailuresListedMax) more = absl::StrCat("; and ", codes_.size() - kFailuresListedMax, " more");
  return absl::Status(are_alike ? codes_.front() : absl::StatusCode::kUnavailable,
                      absl::StrCat(needed, " good answers of ", asked, " were needed, ", good, " came: ", text_, more));
}

}  // namespace understudy::internal
