// PostponedMail: the messages of one actor that wait for it to change, in a ring for each mailbox (envelope_ring.h).
// They count as waiting in their mailboxes, as those in the mailboxes' own rings do. Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_POSTPONED_MAIL_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_POSTPONED_MAIL_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/turn/envelope_ring.h"

namespace understudy::internal {

class PostponedMail {
 public:
  PostponedMail() = default;
  PostponedMail(const PostponedMail&) = delete;
  PostponedMail& operator=(const PostponedMail&) = delete;

  // False also when all that were added have been cut out of their rings.
  bool empty() const { return rings_.empty(); }
  // `envelope` is in no ring. It goes where its stamp belongs in the ring of its mailbox.
  void Add(Envelope* envelope) {
    const size_t place = envelope->mailbox;
    rings_.resize(std::max(rings_.size(), place + 1));
    envelope->next = envelope;
    Merge(rings_[place], envelope);
  }
  // The ring of mailbox `place`, out of which the caller may cut; null when there is none.
  Envelope** Ring(size_t place) { return place < rings_.size() && rings_[place] != nullptr ? &rings_[place] : nullptr; }
  // Gives each ring that is not empty: give(place, newest). Nothing is left.
  template <class Give>
  void TakeAll(const Give& give) {
    const std::vector<Envelope*> rings = std::exchange(rings_, {});
    for (size_t place = 0; place < rings.size(); ++place) {
      if (rings[place] != nullptr) give(place, rings[place]);
    }
  }

 private:
  std::vector<Envelope*> rings_;  // each by its newest, by mailbox
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_POSTPONED_MAIL_H_
