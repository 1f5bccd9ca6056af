// Encodes and decodes changes of credit. Threads: any; no state.
#ifndef UNDERSTUDY_TRANSPORT_CODEC_CREDIT_CODEC_H_
#define UNDERSTUDY_TRANSPORT_CODEC_CREDIT_CODEC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/frame_codec.h"

namespace understudy {

// Returns an envelope with `changes`, of which there are at most kCreditChangesMax.
std::string EncodeCredit(const NodePair& nodes, const CreditChanges& changes);
// InvalidArgument if a number is out of range, which makes the frame a bad one. Does not
// check the changes against the accounts of the session.
absl::StatusOr<CreditChanges> DecodeCredit(const NodePair& nodes, const proto::Credits& in);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CODEC_CREDIT_CODEC_H_
