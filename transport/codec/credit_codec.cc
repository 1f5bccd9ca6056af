#include "understudy/transport/codec/credit_codec.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/limits.h"

namespace understudy {
namespace {

absl::Status BadCredit(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("bad frame: in a change of credit, ", what));
}

// True if a change of this kind names a mailbox of the node that encodes it; false if it names one of the node that
// decodes it.
bool IsOfMailboxsNode(CreditChange::Kind kind) {
  return kind != CreditChange::Kind::kWant && kind != CreditChange::Kind::kReturn;
}

bool IsPossible(const RoomAmount& amount, const RoomAmount& most) {
  return amount.messages >= 0 && amount.messages <= most.messages && amount.bytes >= 0 && amount.bytes <= most.bytes;
}

absl::StatusOr<CreditChange> DecodeChange(const NodePair& nodes, const proto::Credit& in) {
  if (in.kind() < proto::Credit::GRANT || in.kind() > proto::Credit::REFUSE) {
    return BadCredit(absl::StrCat("the kind is ", in.kind(), ": expected ", static_cast<int>(proto::Credit::GRANT),
                                  " to ", static_cast<int>(proto::Credit::REFUSE)));
  }
  CreditChange change{.kind = static_cast<CreditChange::Kind>(in.kind()),
                      .mailbox = in.mailbox(),
                      .granted = {.messages = in.messages(), .bytes = in.bytes()},
                      .allowance = {.messages = in.allowance_messages(), .bytes = in.allowance_bytes()},
                      .want = in.want()};
  const bool is_peers = IsOfMailboxsNode(change.kind);
  const absl::StatusOr<Pid> to = is_peers ? FromAddress(in.to(), nodes.peer, nodes.peer_node)
                                          : FromAddress(in.to(), nodes.local, nodes.local_node);
  if (!to.ok()) return BadCredit(is_peers ? "a mailbox that is not the peer's" : "a mailbox that is not ours");
  if (to->is_null()) return BadCredit("the actor is missing");
  change.to = *to;
  if (!IsPossible(change.granted, kGrantedMax)) {
    return BadCredit(absl::StrCat(in.messages(), " messages and ", in.bytes(), " bytes"));
  }
  if (!IsPossible(change.allowance, {.messages = kCreditTerms.first_allowance.messages, .bytes = kGrantedMax.bytes})) {
    return BadCredit(
        absl::StrCat("an allowance of ", in.allowance_messages(), " messages and ", in.allowance_bytes(), " bytes"));
  }
  if (change.kind == CreditChange::Kind::kRefuse) {
    absl::Status is_good = FromProto(in.status(), limits::kCreditReasonBytesMax, change.status);
    if (!is_good.ok()) return is_good;
    if (change.status.ok()) return BadCredit("a refusal has the status OK: expected an error");
  }
  return change;
}

}  // namespace

std::string EncodeCredit(const NodePair& nodes, const CreditChanges& changes) {
  proto::Envelope envelope;
  proto::Credits& credits = *envelope.mutable_credits();
  for (const CreditChange& change : changes) {
    proto::Credit& out = *credits.add_credits();
    out.set_kind(static_cast<proto::Credit::Kind>(change.kind));
    *out.mutable_to() = ToAddress(IsOfMailboxsNode(change.kind) ? nodes.local : nodes.peer, change.to);
    out.set_mailbox(change.mailbox);
    out.set_messages(change.granted.messages);
    out.set_bytes(change.granted.bytes);
    out.set_allowance_messages(change.allowance.messages);
    out.set_allowance_bytes(change.allowance.bytes);
    out.set_want(change.want);
    if (change.kind == CreditChange::Kind::kRefuse)
      *out.mutable_status() = ToShortProto(change.status, limits::kCreditReasonBytesMax);
  }
  return envelope.SerializeAsString();
}

absl::StatusOr<CreditChanges> DecodeCredit(const NodePair& nodes, const proto::Credits& in) {
  if (in.credits_size() < 1 || in.credits_size() > kCreditChangesMax) {
    return BadCredit(absl::StrCat(in.credits_size(), " changes in one envelope"));
  }
  CreditChanges changes;
  changes.reserve(static_cast<size_t>(in.credits_size()));
  for (const proto::Credit& credit : in.credits()) {
    absl::StatusOr<CreditChange> change = DecodeChange(nodes, credit);
    if (!change.ok()) return change.status();
    changes.push_back(*std::move(change));
  }
  return changes;
}

}  // namespace understudy
