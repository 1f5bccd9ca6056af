// MailboxArray: several mailboxes of one type, told apart by labels that are
// known at run time. An actor that joins N sources has one mailbox for each.
//
//   MailboxArray<"source", Item> sources{this, {"left", "right"}};
//   MailboxArray<"lane", Item> lanes{this, 8};                     // labels "0" to "7"
//
//   Behavior joining_{"joining", On(sources, &Joiner::Take).When(&Joiner::Lacks)};
//   void Take(Item item, size_t source);                           // or absl::string_view label, or neither
//   bool Lacks(size_t source) const;                               // the guard, evaluated for each mailbox
//
//   joiner.At(&Joiner::sources, "left").Tell(item);
//
// Each element is a mailbox like any other: sources[0] and sources.at("left")
// may be given to On, Refuse, Drop and Close. Each counts toward the 64 mailboxes
// of an actor, and its wire name is "source[left]".
//
// Labels must be few and short, and must not come from data without a bound. The
// process keeps every declared name for ever, and every distinct set of mailboxes
// too; each element of an array makes one more set. An actor whose set would
// exceed limits::kMailboxLayoutsMax fails to start. About 1,000 actors, living or
// ended, with 64 labels of their own each reach that limit.
//
// CHECKs if a label is empty, longer than limits::kMailboxLabelBytesMax or used
// twice, if an element's wire name has the same hash as another declared name, or
// if a place or label that is looked up here does not exist. A sender that names
// an unknown label gets NoMailbox instead (Ref::At).
//
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

// Returns the labels "0" to `count` - 1.
std::vector<std::string> LabelsUpTo(int64_t count);

// A mailbox of an array: a small value, made by operator[] and at().
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
  // The index, among all mailboxes of the actor, of the mailbox at `place`.
  int IndexOf(size_t place) const;
  // The place in this array of the mailbox with that label.
  size_t PlaceOf(absl::string_view label) const;

 protected:
  // Declares one mailbox for each label. Each is declared as `each` says, whose wire_name is the array's name.
  MailboxArrayBase(const MailboxDeclaration& each, std::vector<std::string> labels);
  ~MailboxArrayBase() = default;

 private:
  const std::string name_;
  const std::vector<std::string> labels_;
  int first_ = 0;  // index of the mailbox at place 0
};

}  // namespace internal

template <internal::FixedString kName, class M>
class MailboxArray : public internal::MailboxArrayBase {
  static_assert(!kName.view().empty(), "a mailbox has a name that is not empty: errors and the log tell it");

 public:
  // `owner` is the actor that declares this member: `this`. Each mailbox gets `options`.
  template <class A>
  MailboxArray(A* /*owner*/, std::vector<std::string> labels, MailboxOptions options = {})
      : MailboxArrayBase(internal::DeclareMailbox<A, kName, M>(options), std::move(labels)) {}
  // `count` mailboxes with the labels "0", "1", and so on.
  template <class A, std::integral Count>
  MailboxArray(A* owner, Count count, MailboxOptions options = {})
      : MailboxArray(owner, internal::LabelsUpTo(static_cast<int64_t>(count)), options) {}

  internal::MailboxElement<M> operator[](size_t place) const { return internal::MailboxElement<M>(IndexOf(place)); }
  internal::MailboxElement<M> at(absl::string_view label) const { return (*this)[PlaceOf(label)]; }
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_MAILBOX_ARRAY_H_
