// Ref<A>: the address of one life of an actor of class A: its pid, and a
// channel for each mailbox.
//
//   Ref<Counter> counter = system.Spawn<Counter>();
//   counter[&Counter::add].Tell(1);              // by member
//   joiner.At(&Joiner::sources, "left").Tell(1); // by member and label
//
// A class made from a .proto service has a ref of its own with a function per
// mailbox, so that mailboxes themselves can stay protected:
//
//   class AuctionRef : public Ref<AuctionActor> {           // (generated)
//    public:
//     using Ref<AuctionActor>::Ref;
//     Channel<Call<Offer, OfferResult>> make_offer() const { return (*this)[&AuctionActor::make_offer]; }
//     static std::vector<MailboxSignature> Mailboxes() { return {SignatureOf(&AuctionActor::make_offer)}; }
//   };
//
// Any thread. Trivially copyable; compares, hashes, prints. A restarted actor has
// another ref (see Named).
#ifndef UNDERSTUDY_ACTORS_REF_H_
#define UNDERSTUDY_ACTORS_REF_H_

#include <concepts>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/mailbox_array.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"

namespace understudy {

namespace internal {

template <class M>
MailboxSignature SignatureOfMessage(std::string wire_name) {
  using Traits = MessageTraits<M>;
  MailboxSignature signature;
  signature.name = std::move(wire_name);
  signature.is_call = Traits::kIsCall;
  signature.request = TypeOf<typename Traits::Request>().name();
  if constexpr (Traits::kIsCall) signature.reply = TypeOf<typename Traits::Reply>().name();
  return signature;
}

}  // namespace internal

// Returns the signature of a mailbox of A. Lookup compares the signatures of a ref's
// mailboxes with those of the actor that it finds (CheckMailboxes).
template <class A, internal::FixedString kName, class M>
MailboxSignature SignatureOf(Mailbox<kName, M> A::* /*mailbox*/) {
  return internal::SignatureOfMessage<M>(internal::WireName<A, kName>());
}
// As above, for one mailbox of an array.
template <class A, internal::FixedString kName, class M>
MailboxSignature SignatureOf(MailboxArray<kName, M> A::* /*mailboxes*/, absl::string_view label) {
  return internal::SignatureOfMessage<M>(internal::ElementName(internal::WireName<A, kName>(), label));
}

template <class A>
class Ref {
 public:
  using ActorType = A;

  // A ref to no actor: sends answer NoProcess.
  Ref() = default;
  // A ref to the actor with that pid, which should be of class A; that is not checked.
  // Sends to a mailbox that the actor lacks answer NoMailbox.
  explicit Ref(Pid pid) : pid_(pid) {}

  Pid pid() const { return pid_; }

  // The channel to that mailbox.
  template <internal::FixedString kName, class M, class Declaring>
  Channel<M> operator[](Mailbox<kName, M> Declaring::* /*mailbox*/) const {
    return Channel<M>(pid_, internal::WireHash<Declaring, kName>());
  }

  // The channel to one mailbox of that array, by its label, or by its place if the array
  // was declared with a count. The label may come from data: sends to a mailbox that does
  // not exist answer NoMailbox. They do so, too, if a mailbox declared in this process
  // has another name with the same 32-bit hash.
  template <internal::FixedString kName, class M, class Declaring>
  Channel<M> At(MailboxArray<kName, M> Declaring::* /*mailboxes*/, absl::string_view label) const {
    return Channel<M>(pid_, internal::ElementHash(internal::WireName<Declaring, kName>(), label));
  }
  template <internal::FixedString kName, class M, class Declaring, std::integral Place>
  Channel<M> At(MailboxArray<kName, M> Declaring::* mailboxes, Place place) const {
    return At(mailboxes, std::to_string(place));
  }

  friend bool operator==(const Ref&, const Ref&) = default;
  friend auto operator<=>(const Ref&, const Ref&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Ref& ref) {
    return H::combine(std::move(state), ref.pid_);
  }
  friend std::ostream& operator<<(std::ostream& out, const Ref& ref) { return out << ref.pid_; }

 protected:
  // For a ref class: the channel of a mailbox of A's service that not every A has. Sends to an
  // actor without it answer NoMailbox.
  template <internal::FixedString kName, class M>
  Channel<M> OptionalChannel() const {
    return Channel<M>(pid_, internal::WireHash<A, kName>());
  }

 private:
  Pid pid_;
};

namespace internal {

// Returns the mailboxes that a ref type uses, or none if it has no Mailboxes().
template <class R>
std::vector<MailboxSignature> MailboxesOf() {
  if constexpr (requires { R::Mailboxes(); }) {
    return R::Mailboxes();
  } else {
    return {};
  }
}

// The type of ref that Spawn<A> returns: A::Ref if that exists, else Ref<A>.
template <class A, class = void>
struct RefOf {
  using type = understudy::Ref<A>;
};
template <class A>
struct RefOf<A, std::void_t<typename A::Ref>> {
  using type = typename A::Ref;
};

}  // namespace internal
}  // namespace understudy

template <class A>
struct std::hash<understudy::Ref<A>> {
  size_t operator()(const understudy::Ref<A>& ref) const { return std::hash<understudy::Pid>()(ref.pid()); }
};

#endif  // UNDERSTUDY_ACTORS_REF_H_
