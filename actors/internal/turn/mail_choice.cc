#include "understudy/actors/internal/turn/mail_choice.h"

#include <algorithm>
#include <vector>

namespace understudy::internal {
namespace {

bool IsOlder(const Choice& a, const Choice& b) { return a.envelope->stamp < b.envelope->stamp; }

}  // namespace

uint64_t MailChoice::oldest() const {
  uint64_t oldest = UINT64_MAX;
  for (const Choice& candidate : candidates_) oldest = std::min(oldest, candidate.envelope->stamp);
  return oldest;
}

Choice MailChoice::OldestOf(int rank) const {
  Choice oldest;
  for (const Choice& candidate : candidates_) {
    if (RankOf(candidate.clause) != rank) continue;
    if (oldest.envelope == nullptr || IsOlder(candidate, oldest)) oldest = candidate;
  }
  return oldest;
}

Choice MailChoice::Choose(RankTurns& turns) const {
  if (!table_.has_ranks()) return *std::min_element(candidates_.begin(), candidates_.end(), IsOlder);
  const std::vector<int>& ranks = table_.extra()->ranks;
  return OldestOf(ranks[turns.Next(ranks.size(), [&](size_t rank) -> size_t {
    const Choice oldest = OldestOf(ranks[rank]);
    return oldest.envelope == nullptr ? 0 : table_.extra(oldest.clause)->quota;
  })]);
}

}  // namespace understudy::internal
