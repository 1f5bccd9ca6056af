// HttpRequest, HttpAnswer and HttpReplier: the request that a handler of HttpServer gets, and its answer, at once or
// later.
//
// Threads: HttpRequest and HttpAnswer are values; a HttpReplier may be used by any thread.
#ifndef UNDERSTUDY_TRANSPORT_HTTP_HTTP_MESSAGE_H_
#define UNDERSTUDY_TRANSPORT_HTTP_HTTP_MESSAGE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/transport/http/event_stream.h"

namespace understudy::internal {

struct HttpRequest {
  // nullopt if the request lacks the header. `name` is in lower case.
  std::optional<absl::string_view> Header(absl::string_view name) const {
    const auto found = headers.find(std::string(name));
    if (found == headers.end()) return std::nullopt;
    return found->second;
  }

  std::string method;
  std::string path;  // decoded, without the query
  // Decoded; of a name that stands twice, the last value.
  std::map<std::string, std::string> query;
  // The names in lower case. The values of a name that stands twice are joined by ", " (RFC 9110, 5.3).
  std::map<std::string, std::string> headers;
  std::string body;  // empty if HttpBounds::body_bytes_max is 0
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  // Headers besides those of every answer: Content-Type, Connection, Cache-Control: no-store, X-Content-Type-Options.
  std::vector<std::pair<std::string, std::string>> headers;
  // If it is set, the answer is this stream, and `body` and `content_type` are not used.
  std::shared_ptr<EventStream> events;
};

// The answer to one request, which may come later. The request is answered with status 504 if none comes within
// HttpBounds::answer_within, and with nothing if its client has gone.
class HttpReplier {
 public:
  // Where the answer waits for the server.
  class Slot {
   public:
    explicit Slot(std::function<void()> wake) : wake_(std::move(wake)) {}
    void Put(HttpAnswer answer) {
      {
        absl::MutexLock lock(&mu_);
        if (has_come_) return;
        has_come_ = true;
        answer_ = std::move(answer);
      }
      wake_();
    }
    // The answer, once.
    std::optional<HttpAnswer> Take() {
      absl::MutexLock lock(&mu_);
      return std::exchange(answer_, std::nullopt);
    }
    bool HasAnswer() const {
      absl::MutexLock lock(&mu_);
      return answer_.has_value();
    }

   private:
    const std::function<void()> wake_;
    mutable absl::Mutex mu_;
    std::optional<HttpAnswer> answer_ ABSL_GUARDED_BY(mu_);
    bool has_come_ ABSL_GUARDED_BY(mu_) = false;
  };

  explicit HttpReplier(std::shared_ptr<Slot> slot) : slot_(std::move(slot)) {}

  // Only the first call has an effect.
  void Answer(HttpAnswer answer) const { slot_->Put(std::move(answer)); }

 private:
  std::shared_ptr<Slot> slot_;
};

// Runs on the server's thread and must not wait.
using HttpHandler = std::function<void(HttpRequest request, const HttpReplier& replier)>;

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_HTTP_HTTP_MESSAGE_H_
