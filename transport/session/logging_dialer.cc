#include "understudy/transport/session/logging_dialer.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/handshake_log.h"

namespace understudy::internal {

// Receives the events of a dialled stream. Owns itself until OnClosed, the last event.
class LoggingDialer::DialEvents final : public FrameStream::Events {
 public:
  DialEvents(absl::string_view node, absl::string_view address, const LoggingDialer& dialer,
             FrameStream::Events* events)
      : peer_(absl::StrCat("node ", node, " at ", address)),
        log_(dialer.log_),
        patience_(dialer.patience_),
        is_tls_(dialer.is_tls_),
        dialled_at_(log_->Now()),
        events_(events) {}

  void OnFrame(std::string frame) override {
    has_answered_ = true;
    events_->OnFrame(std::move(frame));
  }
  void OnWritten() override { events_->OnWritten(); }
  void OnClosed(absl::Status why) override {
    if (!has_answered_) Log(why);
    events_->OnClosed(std::move(why));
    delete this;
  }

 private:
  void Log(const absl::Status& why) {
    if (!absl::IsCancelled(why)) {
      log_->Add(HandshakeLog::Cause::kDialFailed, peer_, WhyDialFailed(why, is_tls_));
    } else if (log_->Now() - dialled_at_ >= patience_ * 3 / 4) {  // the session's time began a little earlier
      const absl::Status late =
          absl::DeadlineExceededError(absl::StrCat("no answer within ", absl::FormatDuration(patience_)));
      log_->Add(HandshakeLog::Cause::kDialFailed, peer_, WhyDialFailed(late, is_tls_));
    }
  }

  const std::string peer_;
  const std::shared_ptr<HandshakeLog> log_;
  const absl::Duration patience_;
  const bool is_tls_;
  const MonotonicTime dialled_at_;
  FrameStream::Events* const events_;
  bool has_answered_ = false;  // events come one at a time
};

std::unique_ptr<FrameStream> LoggingDialer::Dial(absl::string_view node, absl::string_view address,
                                                 FrameStream::Events* events) {
  return dialer_->Dial(node, address, new DialEvents(node, address, *this, events));
}

}  // namespace understudy::internal
