// LoggingDialer: dials through another dialer, and adds each dial on which no frame
// arrived to a HandshakeLog, with its address, the cause, and what would help.
//
// A dial that this node itself gave up is logged only if it lasted for most of
// `patience`; if it was given up earlier, another stream of the two nodes was quicker.
// Threads: any. Lifetime: streams may outlive the dialer; they keep the log alive.
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
