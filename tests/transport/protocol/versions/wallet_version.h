// The declarations that differ between the programs with the two versions of wallet.proto.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_VERSIONS_WALLET_VERSION_H_
#define UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_VERSIONS_WALLET_VERSION_H_

#include "absl/strings/string_view.h"

#ifdef WALLET_IS_OLD
#include "understudy/tests/transport/protocol/versions/old/wallet.actor.h"
#include "understudy/tests/transport/protocol/versions/old/wallet.pb.h"
#include "understudy/tests/transport/protocol/versions/old/wallet.ref.h"
#else
#include "understudy/tests/transport/protocol/versions/new/wallet.actor.h"
#include "understudy/tests/transport/protocol/versions/new/wallet.pb.h"
#include "understudy/tests/transport/protocol/versions/new/wallet.ref.h"
#endif

namespace wallet {

// The name of the wallet that the node of the other program publishes.
inline constexpr absl::string_view kName = "wallet/other";

#ifdef WALLET_IS_OLD

inline constexpr absl::string_view kOtherNode = "new_wallet_node";
inline constexpr absl::string_view kOwnAndOtherType = "was int64 and is string";
inline void FillWhatIsNew(PayRequest&) {}
inline void FillWhatIsNew(PayReply&) {}

#else

inline constexpr absl::string_view kOtherNode = "old_wallet_node";
inline constexpr absl::string_view kOwnAndOtherType = "was string and is int64";
inline void FillWhatIsNew(PayRequest& request) { request.set_purpose("tea"); }
inline void FillWhatIsNew(PayReply& reply) { reply.add_coupons()->set_cents(5); }

#endif

}  // namespace wallet

#endif  // UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_VERSIONS_WALLET_VERSION_H_
