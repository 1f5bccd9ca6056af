// SignatureOf: the signature of a mailbox, for the Mailboxes() of a ref class (ref.h). Lookup compares the signatures
// of a ref's mailboxes with those of the actor that it finds (CheckMailboxes in registry.h). Any thread.
#ifndef UNDERSTUDY_ACTORS_MAILBOX_SIGNATURE_H_
#define UNDERSTUDY_ACTORS_MAILBOX_SIGNATURE_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/internal/send/wire_name.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/mailbox_array.h"
#include "understudy/actors/message.h"
#include "understudy/actors/registry.h"

namespace understudy {

namespace internal {

template <class M>
MailboxSignature SignatureOfMessage(std::string wire_name) {
  using Traits = MessageTraits<M>;
  MailboxSignature signature;
  signature.name = std::move(wire_name);
  signature.is_call = Traits::kIsCall;
  if constexpr (Traits::kIsUpload) {
    signature.request = "stream " + TypeOf<typename Traits::UploadItem>().name();
  } else {
    signature.request = TypeOf<typename Traits::Request>().name();
  }
  if constexpr (Traits::kIsCall) signature.reply = TypeOf<typename Traits::Reply>().name();
  if constexpr (Traits::kIsStream) signature.reply.insert(0, "stream ");
  return signature;
}

}  // namespace internal

// Returns the signature of a mailbox of A.
template <class A, internal::FixedString kName, class M>
MailboxSignature SignatureOf(Mailbox<kName, M> A::* /*mailbox*/) {
  return internal::SignatureOfMessage<M>(internal::WireName<A, kName>());
}
// Like the function above, for one mailbox of an array.
template <class A, internal::FixedString kName, class M>
MailboxSignature SignatureOf(MailboxArray<kName, M> A::* /*mailboxes*/, absl::string_view label) {
  return internal::SignatureOfMessage<M>(internal::ElementName(internal::WireName<A, kName>(), label));
}
// Like the function above, for the mailbox `kWireName`, to which the given function of a ref returns a channel.
template <internal::FixedString kWireName, class R, class M>
MailboxSignature SignatureOf(Channel<M> (R::* /*channel*/)() const) {
  return internal::SignatureOfMessage<M>(std::string(kWireName.chars.data(), kWireName.view().size()));
}

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_MAILBOX_SIGNATURE_H_
