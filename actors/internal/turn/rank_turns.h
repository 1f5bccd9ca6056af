// RankTurns: whose turn it is when a behavior gives its clauses ranks. Ranks take turns from the top; each is served up
// to its quota while it has mail. The turn outlives a Receive, so that no rank starves in a loop of them, and the
// behavior, so that the next may have other ranks. Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_RANK_TURNS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_RANK_TURNS_H_

#include <cstddef>
#include <cstdint>

namespace understudy::internal {

class RankTurns {
 public:
  // Begins anew: the top rank is next, with its whole quota. For when no message waits.
  void Restart() { *this = RankTurns(); }

  // The rank that is served next, counted from the top, of `ranks`, of which at least one has mail. `quota_of(rank)` is
  // the quota of a rank, at least 1, or 0 when it has no mail.
  template <class QuotaOf>
  size_t Next(size_t ranks, const QuotaOf& quota_of) {
    if (rank_ >= ranks) Restart();
    // After one round each quota is whole again.
    while (served_ >= quota_of(rank_)) {
      rank_ = static_cast<uint8_t>((rank_ + 1U) % ranks);
      served_ = 0;
    }
    ++served_;
    return rank_;
  }

 private:
  uint16_t served_ = 0;  // messages, of that rank
  uint8_t rank_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_RANK_TURNS_H_
