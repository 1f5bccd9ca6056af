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
#ifndef UNDERSTUDY_ACTORS_MAILBOX_H_
#define UNDERSTUDY_ACTORS_MAILBOX_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/internal/send/mailbox_layout.h"
#include "understudy/actors/mailbox_options.h"
#include "understudy/actors/message.h"

namespace understudy {

namespace internal {

// A string literal as a template argument.
template <size_t N>
struct FixedString {
  constexpr FixedString(const char (&text)[N]) {  // NOLINT: a literal converts
    std::copy_n(text, N, chars.begin());
  }
  constexpr absl::string_view view() const { return {chars.data(), N - 1}; }
  std::array<char, N> chars{};
};

class ActorCore;
class MailboxBase;

// The actor under construction on this thread, as its mailboxes see it.
class MailboxHost {
 public:
  // Adds a mailbox to the actor and returns its index. `mailbox` is the object under construction, or null for an
  // element of an array.
  virtual int AddMailbox(const MailboxDeclaration& declaration, const MailboxBase* mailbox) = 0;
  // True if the constructor of `mailbox` has run. Always true for an element of an array.
  virtual bool HasMade(const MailboxBase& mailbox) const = 0;
  virtual ActorCore& core() = 0;
  // CHECKs that this thread constructs an actor.
  static MailboxHost& Constructing();

 protected:
  ~MailboxHost() = default;
};

// kService may be of any string type, because absl::string_view is not std::string_view on every system.
template <class A>
concept HasService = requires { A::kService; };

// The wire name, made once for each class and name.
template <class A, FixedString kName>
const std::string& WireName() {
  static const std::string* const name = [] {
    if constexpr (HasService<A>) {
      return new std::string(absl::StrCat(std::string(A::kService), "/", kName.view()));
    } else {
      return new std::string(kName.view());
    }
  }();
  return *name;
}

template <class A, FixedString kName>
uint32_t WireHash() {
  static const uint32_t hash = MailboxNames::Intern(WireName<A, kName>());
  return hash;
}

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

// Returns mailbox.index(), for a clause. During the construction of an actor, CHECKs that the constructor of `mailbox`
// has run, because a behavior may be declared before a mailbox that it uses.
int IndexForClause(const MailboxBase& mailbox);

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

template <class A, FixedString kName, class M>
MailboxDeclaration DeclareMailbox(const MailboxOptions& options) {
  MailboxDeclaration declaration;
  declaration.wire_name = WireName<A, kName>();
  declaration.hash = WireHash<A, kName>();
  declaration.request = &TypeOf<typename MessageTraits<M>::Request>();
  if constexpr (MessageTraits<M>::kIsCall) declaration.reply = &TypeOf<typename MessageTraits<M>::Reply>();
  declaration.options = options;
  const bool is_sized = SizedMessage<typename MessageTraits<M>::Request>;
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
