// A ring of envelopes in the order of their stamps, of which the owner holds the newest: its next is the oldest. Null
// when it is empty. Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ENVELOPE_RING_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ENVELOPE_RING_H_

#include <utility>

#include "understudy/actors/internal/send/envelope.h"

namespace understudy::internal {

// Appends `envelope`, which must be newer than all in the ring of `newest`.
inline void Append(Envelope*& newest, Envelope* envelope) {
  if (newest == nullptr) {
    envelope->next = envelope;
  } else {
    envelope->next = newest->next;
    newest->next = envelope;
  }
  newest = envelope;
}

// Takes the envelope, before which `before` lies, out of the ring of `newest`.
inline void CutOut(Envelope*& newest, Envelope* envelope, Envelope* before) {
  if (envelope == before) {
    newest = nullptr;
  } else {
    before->next = envelope->next;
    if (newest == envelope) newest = before;
  }
}

// Moves the envelopes of another ring, which is not empty, into the ring of `newest`. Both are in the order of their
// stamps. It is one step when all of one ring are older than all of the other, as when messages return from being
// postponed one after the other.
inline void Merge(Envelope*& newest, Envelope* other) {
  if (newest == nullptr) {
    newest = other;
    return;
  }
  Envelope* a = newest->next;  // the oldest of each
  Envelope* b = other->next;
  Envelope* const last = newest->stamp < other->stamp ? other : newest;
  if (newest->stamp < b->stamp || other->stamp < a->stamp) {
    std::swap(newest->next, other->next);  // the oldest of each follows the newest of the other
  } else {
    newest->next = other->next = nullptr;
    Envelope* oldest = nullptr;
    Envelope** end = &oldest;
    while (a != nullptr && b != nullptr) {
      Envelope*& older = a->stamp < b->stamp ? a : b;
      *end = older;
      end = &older->next;
      older = *end;
    }
    *end = a != nullptr ? a : b;
    last->next = oldest;
  }
  newest = last;
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ENVELOPE_RING_H_
