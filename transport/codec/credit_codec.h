// Changes of credit as bytes, and back. Threads: any; no state.
#ifndef UNDERSTUDY_TRANSPORT_CODEC_CREDIT_CODEC_H_
#define UNDERSTUDY_TRANSPORT_CODEC_CREDIT_CODEC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/frame_codec.h"

namespace understudy {

// An envelope of at most kCreditChangesMax changes.
std::string EncodeCredit(const NodePair& nodes, const CreditChanges& changes);
// InvalidArgument when any number is not possible: a bad frame. Whether it fits
// the accounts is their affair.
absl::StatusOr<CreditChanges> DecodeCredit(const NodePair& nodes, const proto::Credits& in);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CODEC_CREDIT_CODEC_H_
