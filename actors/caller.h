// Caller: the gRPC client whose call an actor handles, as the gateway of this node knows it.
//
//   absl::StatusOr<OfferResult> MakeOffer(const Offer& offer) {
//     absl::StatusOr<std::shared_ptr<const Caller>> caller = context().Caller();
//     const bool is_billing = caller.ok() && (*caller)->HasName("billing");
//     if (!is_billing) return absl::PermissionDeniedError("only billing may offer");
//     …
//   }
//
// A gateway keeps it for the calls of services that are exported WithCaller (transport/gateway/exported_service.h),
// from the beginning of a call to its end. It costs nothing for other calls, and nothing in a message.
//
// Requires: the handler is that of a call, which may be one of a stream. A tell, such as a cast, has no caller. A call
// that the handler makes in turn has none either, because the actor asks and not the client; its message may say for
// whom.
// Guarantees: `names` are proved by the client's certificate. All else is what the client says, within the bounds of
// gateway_limits.h.
// Failure: an error tells that the caller is not known, and nothing else. So a handler may let a client do more for
// what the Caller says, and must not do so for an error: an actor that asks, a client of a service that is exported
// without WithCaller, and one that has just cancelled its call look alike.
// Across nodes: none. If the actor that has the name is on another node than the gateway, its handler gets the error.
// Threads: an immutable value; a handler may keep it and pass it on, also after the call.
#ifndef UNDERSTUDY_ACTORS_CALLER_H_
#define UNDERSTUDY_ACTORS_CALLER_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"

namespace understudy {

struct Caller {
  // The subject alternative names of the client's certificate. Empty if the gateway has no TLS.
  std::vector<std::string> names;
  // When the client stops waiting, on the clock of Context::Now. Infinite if the client has set no deadline; a unary
  // call then ends by GatewayOptions::default_timeout.
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  // The client's metadata under the keys that WithCaller names: (key, value), the values of one key in the order in
  // which they came. The value of a key that ends in "-bin" is bytes.
  std::vector<std::pair<std::string, std::string>> metadata;

  bool HasName(absl::string_view name) const { return std::find(names.begin(), names.end(), name) != names.end(); }
  // The first value of that key.
  absl::optional<absl::string_view> Metadata(absl::string_view key) const {
    for (const auto& [its_key, value] : metadata) {
      if (its_key == key) return absl::string_view(value);
    }
    return absl::nullopt;
  }
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_CALLER_H_
