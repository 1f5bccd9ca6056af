// HttpExchange: one request and its answer, between libmicrohttpd and the handler. HttpServer's thread only.
//
// While the handler's answer has not come, or a stream has nothing to say, the connection is suspended: the library
// leaves it alone until Look resumes it.
#ifndef UNDERSTUDY_TRANSPORT_HTTP_HTTP_EXCHANGE_H_
#define UNDERSTUDY_TRANSPORT_HTTP_HTTP_EXCHANGE_H_

#include <microhttpd.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "understudy/actors/clock.h"
#include "understudy/transport/http/event_stream.h"
#include "understudy/transport/http/http_message.h"
#include "understudy/transport/http/http_server.h"

namespace understudy::internal {

struct HttpConnection {
  int descriptor = -1;
  MonotonicTime began;
  bool has_request = false;  // the line and the headers of its request have come
  bool has_stream = false;
  // When the answer was given to the library, which sends it as fast as the client reads; a stream has no such time.
  MonotonicTime answered = MonotonicTime::InfiniteFuture();
  bool is_given_up = false;  // was closed to make room for another
};

class HttpExchange {
 public:
  struct Shared {
    HttpBounds bounds;
    HttpHandler handler;
    std::function<void()> wake;  // any thread
    size_t streams = 0;
  };

  // `shared` must outlive this object. `connection` is where the request came from.
  HttpExchange(Shared& shared, HttpConnection& connection, MHD_Connection* of_library)
      : shared_(shared), connection_(connection), of_library_(of_library) {}
  ~HttpExchange();
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  // The request's line and headers have come. Call once, first.
  MHD_Result OnHead(const char* path, const char* method);
  // A part of the body has come, or, with no byte, its end. Called again, with no byte, when the connection is resumed.
  MHD_Result OnBody(const char* part, size_t& bytes);
  // Resumes the connection if there is something to do.
  void Look(MonotonicTime now);
  // Resumes the connection in any case, so that the library can end it.
  void Resume();

 private:
  MHD_Result Handle();
  MHD_Result Send(const HttpAnswer& answer);
  MHD_Result Stream(const HttpAnswer& answer);
  MHD_Result Queue(const HttpAnswer& answer, const char* content_type, MHD_Response* response);
  void Suspend();
  bool ReaderHasGone() const;
  static ssize_t OnStep(void* exchange, uint64_t position, char* to, size_t room);

  Shared& shared_;
  HttpConnection& connection_;
  MHD_Connection* const of_library_;
  HttpRequest request_;
  bool body_is_too_large_ = false;
  std::shared_ptr<HttpReplier::Slot> slot_;  // set when the handler was called
  MonotonicTime handled_at_;
  bool is_late_ = false;  // the answer has not come in time
  std::shared_ptr<EventStream> events_;
  MonotonicTime wrote_at_;
  bool is_suspended_ = false;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_HTTP_HTTP_EXCHANGE_H_
