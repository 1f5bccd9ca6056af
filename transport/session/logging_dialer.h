// LoggingDialer: dials as another dialer does, and tells a HandshakeLog of each
// dial from which no frame came: with its address, why, and what would help.
//
// A dial that this node gives up counts if it has had most of `patience`; before
// that, another stream of the two nodes was quicker.
// Threads: any. Lifetime: streams may outlive it, and keep the log.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_LOGGING_DIALER_H_
#define UNDERSTUDY_TRANSPORT_SESSION_LOGGING_DIALER_H_

#include <memory>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/handshake_log.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

class LoggingDialer final : public Dialer {
 public:
  LoggingDialer(std::unique_ptr<Dialer> dialer, std::shared_ptr<HandshakeLog> log, absl::Duration patience, bool is_tls)
      : dialer_(std::move(dialer)), log_(std::move(log)), patience_(patience), is_tls_(is_tls) {}

  std::unique_ptr<FrameStream> Dial(absl::string_view node, absl::string_view address,
                                    FrameStream::Events* events) override;
  StreamIdentity IdentityAt(absl::string_view node, absl::string_view address) const override {
    return dialer_->IdentityAt(node, address);
  }

 private:
  class DialEvents;

  const std::unique_ptr<Dialer> dialer_;
  const std::shared_ptr<HandshakeLog> log_;
  const absl::Duration patience_;
  const bool is_tls_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SESSION_LOGGING_DIALER_H_
