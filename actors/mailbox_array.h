// MailboxArray: several mailboxes of one type, told apart by labels that are
// known at run time; a join over N sources needs one for each.
//
//   MailboxArray<"source", Item> sources{this, {"left", "right"}};
//   MailboxArray<"lane", Item> lanes{this, 8};                     // labels "0" to "7"
//
//   Behavior joining_{"joining", On(sources, &Joiner::Take).When(&Joiner::Lacks)};
//   void Take(Item item, size_t source);                           // or absl::string_view label, or neither
//   bool Lacks(size_t source) const;                               // one guard for each
//
//   joiner.At(&Joiner::sources, "left").Tell(item);
//
// Each element is a mailbox like any other: sources[0] and sources.at("left")
// stand in On, Refuse, Drop and Close, it counts toward the 64 of an actor, and
// its wire name is "source[left]". Labels are few and short: a name once
// declared is kept for ever, and so is each set of mailboxes, of which an actor
// adds one with each element. Beyond limits::kMailboxLayoutsMax sets an actor
// with another fails: about 1,000 actors with 64 labels of their own each, dead
// ones included. So it does not take its labels from data without a bound. An
// empty or long one, one used twice, one whose name has the hash of another
// declared one, and a place or label that is not there, CHECK; a channel to a
// label that is not there is refused with NoMailbox, whatever the label is.
// Used only by its actor, on its turn.
#ifndef UNDERSTUDY_ACTORS_MAILBOX_ARRAY_H_
#define UNDERSTUDY_ACTORS_MAILBOX_ARRAY_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/actors/mailbox.h"

namespace understudy {
namespace internal {

// "source[left]", and the hash that a sender to it needs; 0 when it cannot be
// declared here.
std::string ElementName(absl::string_view array, absl::string_view label);
uint32_t ElementHash(absl::string_view array, absl::string_view label);

std::vector<std::string> LabelsUpTo(int64_t count);

// One mailbox of an array: a small value, made when it is asked for.
template <class M>
class MailboxElement final : public TypedMailbox<M> {
 public:
  explicit MailboxElement(int index) : TypedMailbox<M>(index) {}
};

class MailboxArrayBase {
 public:
  MailboxArrayBase(const MailboxArrayBase&) = delete;
  MailboxArrayBase& operator=(const MailboxArrayBase&) = delete;

  size_t size() const { return labels_.size(); }
  const std::string& label(size_t place) const;
  // The actor's index of the mailbox at `place`.
  int IndexOf(size_t place) const;
  size_t PlaceOf(absl::string_view label) const;

 protected:
  // Declares one mailbox for each label, like `each`, whose name is the array's.
  MailboxArrayBase(const MailboxDeclaration& each, std::vector<std::string> labels);
  ~MailboxArrayBase() = default;

 private:
  const std::string name_;
  const std::vector<std::string> labels_;
  int first_ = 0;
};

}  // namespace internal

template <internal::FixedString kName, class M>
class MailboxArray : public internal::MailboxArrayBase {
  static_assert(!kName.view().empty(), "a mailbox has a name that is not empty: errors and the log tell it");

 public:
  // `owner` is the actor that declares this member: `this`. The options are
  // those of each mailbox.
  template <class A>
  MailboxArray(A* /*owner*/, std::vector<std::string> labels, MailboxOptions options = {})
      : MailboxArrayBase(internal::DeclareMailbox<A, kName, M>(options), std::move(labels)) {}
  template <class A, std::integral Count>
  MailboxArray(A* owner, Count count, MailboxOptions options = {})
      : MailboxArray(owner, internal::LabelsUpTo(static_cast<int64_t>(count)), options) {}

  internal::MailboxElement<M> operator[](size_t place) const { return internal::MailboxElement<M>(IndexOf(place)); }
  internal::MailboxElement<M> at(absl::string_view label) const { return (*this)[PlaceOf(label)]; }
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_MAILBOX_ARRAY_H_
