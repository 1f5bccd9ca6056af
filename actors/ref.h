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
//     Channel<Call<Offer, OfferResult>> make_offer() const;  // {pid(), MailboxHash<"auction.Auction/MakeOffer">()}
//     static std::vector<MailboxSignature> Mailboxes();      // what a lookup compares (mailbox_signature.h)
//   };
//
// A ref class needs no definition of AuctionActor. This header is light, so that a file
// which only keeps or hands on refs compiles fast; to send, include channel.h too.
//
// Any thread. Trivially copyable; compares, hashes, prints. A restarted actor has
// another ref (see Named).
#ifndef UNDERSTUDY_ACTORS_REF_H_
#define UNDERSTUDY_ACTORS_REF_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/actors/internal/send/wire_name.h"
#include "understudy/actors/pid.h"

namespace understudy {

struct MailboxSignature;
template <class Request, class Reply>
struct Call;
template <class M>
class Channel;
template <internal::FixedString kName, class M>
class Mailbox;
template <internal::FixedString kName, class M>
class MailboxArray;

template <class A>
class Ref {
 public:
  using ActorType = A;

  // A ref to no actor: sends answer NoProcess.
  Ref() = default;
  // A ref to the actor with that pid, which should be of class A; that is not checked.
  // Sends to a mailbox that the actor lacks answer NoMailbox.
  explicit Ref(Pid pid) : pid_(pid) {}
  // A ref to an actor of class B is one to an actor of each of its bases: an actor that serves
  // several services has a ref of each.
  template <class B>
    requires(!std::is_same_v<A, B> && std::is_base_of_v<A, B>)
  Ref(const Ref<B>& ref) : pid_(ref.pid()) {}  // NOLINT(google-explicit-constructor): as pointers convert

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
  // For ref classes: the hash of a mailbox's wire name, by which a channel names the mailbox.
  template <internal::FixedString kWireName>
  static uint32_t MailboxHash() {
    return internal::WireHashOf<kWireName>();
  }

 private:
  Pid pid_;
};

namespace internal {

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
