// Mailbox: one typed, named, bounded inbox of an actor. An actor declares each
// of its mailboxes as a member; its constructor makes them all, and none is
// added or removed later.
//
//   Mailbox<"add", int> add{this};
//   Mailbox<"MakeOffer", Call<Offer, OfferResult>> make_offer{this};
//   Mailbox<"Watch", WatchRequest> watch{this, {.capacity_messages = 100}};
//
// The wire name is the class's kService, "/" and the mailbox's name, or the name
// alone if the class has no kService. CHECKs if an actor declares two mailboxes
// with the same wire name, or more than limits::kMailboxesPerActorMax (64).
// Mailbox objects are used only by their actor, on its turn; senders use
// channels.
//
// A class that declares mailboxes may say that its actors have to handle each of
// them, as the classes generated from .proto services do:
//
//   using HandlesEveryMailboxOf = AuctionActor;    // in class AuctionActor
//
// The start of an actor then fails with FailedPrecondition, which names the mailboxes,
// unless its constructor or Start builds behaviors in which each of them has a clause
// (On, Refuse, Drop). Context::HandlesLater excepts a mailbox. Actors in the process
// style are not checked.
#ifndef UNDERSTUDY_ACTORS_MAILBOX_H_
#define UNDERSTUDY_ACTORS_MAILBOX_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "understudy/actors/internal/send/mailbox_layout.h"
#include "understudy/actors/internal/send/wire_name.h"
#include "understudy/actors/mailbox_options.h"
#include "understudy/actors/message.h"

namespace understudy {

namespace internal {

class ActorCore;
class MailboxBase;

// The actor under construction on this thread, as its mailboxes see it.
class MailboxHost {
 public:
  // Adds a mailbox to the actor and returns its index. `mailbox` is the object under construction, or null for an
  // element of an array.
  virtual int AddMailbox(const MailboxDeclaration& declaration, const MailboxBase* mailbox) = 0;
  // Notes that a clause names `mailbox`. Returns false if the constructor of `mailbox` has not run; always true for an
  // element of an array.
  virtual bool NameInClause(const MailboxBase& mailbox) = 0;
  virtual ActorCore& core() = 0;
  // CHECKs that this thread constructs an actor.
  static MailboxHost& Constructing();
  // Like Constructing, but returns null if this thread constructs no actor.
  static MailboxHost* ConstructingOrNull();

 protected:
  ~MailboxHost() = default;
};

// A mailbox of any type and name: its index among its actor's mailboxes.
class MailboxBase {
 public:
  MailboxBase(const MailboxBase&) = delete;
  MailboxBase& operator=(const MailboxBase&) = delete;
  int index() const { return index_; }

 protected:
  explicit MailboxBase(const MailboxDeclaration& declaration)
      : index_(MailboxHost::Constructing().AddMailbox(declaration, this)) {}
  explicit MailboxBase(int index) : index_(index) {}
  ~MailboxBase() = default;

 private:
  const int index_;
};

// A mailbox for messages of type M, of any name. Clauses take their mailbox as this type.
template <class M>
class TypedMailbox : public MailboxBase {
 public:
  using MessageSpec = M;
  using Request = typename MessageTraits<M>::Request;
  using Reply = typename MessageTraits<M>::Reply;
  static_assert(std::is_move_constructible_v<Request>, "a message must be movable: it moves into its mailbox");
  static_assert(!MessageTraits<M>::kIsCall || std::is_move_constructible_v<Reply>,
                "a reply must be movable, and not void: it moves to its asker");

 protected:
  using MailboxBase::MailboxBase;
  ~TypedMailbox() = default;
};

// A class whose actors have to handle the messages of each mailbox that the class declares.
template <class A>
concept HandlesEveryMailbox = requires { requires std::is_same_v<typename A::HandlesEveryMailboxOf, A>; };

template <class A, FixedString kName, class M>
MailboxDeclaration DeclareMailbox(const MailboxOptions& options) {
  MailboxDeclaration declaration;
  declaration.wire_name = WireName<A, kName>();
  declaration.hash = WireHash<A, kName>();
  declaration.request = &TypeOf<typename MessageTraits<M>::Request>();
  if constexpr (MessageTraits<M>::kIsCall) declaration.reply = &TypeOf<typename MessageTraits<M>::Reply>();
  if constexpr (MessageTraits<M>::kIsUpload) declaration.upload_item = &TypeOf<typename MessageTraits<M>::UploadItem>();
  declaration.item_bits =
      ItemBits((MessageTraits<M>::kIsStream ? kStreamAsk : 0) | (MessageTraits<M>::kIsUpload ? kUploadAsk : 0));
  declaration.options = options;
  declaration.must_be_handled = HandlesEveryMailbox<A>;
  const bool is_sized = SizedMessage<typename MessageTraits<M>::Request> && !MessageTraits<M>::kIsUpload;
  declaration.capacity_bytes = options.capacity_bytes.value_or(is_sized ? limits::kMailboxCapacityBytes : SIZE_MAX);
  return declaration;
}

}  // namespace internal

template <internal::FixedString kName, class M>
class Mailbox : public internal::TypedMailbox<M> {
  static_assert(!kName.view().empty(), "a mailbox has a name that is not empty: errors and the log tell it");

 public:
  // Does not compile: its static_assert says how to declare a mailbox.
  template <class Never = void>
  Mailbox() : internal::TypedMailbox<M>(0) {
    static_assert(!std::is_void_v<Never>, "a mailbox is declared with its actor: Mailbox<\"name\", M> name{this};");
  }
  // `owner` is the actor that declares this member: `this`.
  template <class A>
  explicit Mailbox(A* /*owner*/, MailboxOptions options = {})
      : internal::TypedMailbox<M>(internal::DeclareMailbox<A, kName, M>(options)) {}
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_MAILBOX_H_
