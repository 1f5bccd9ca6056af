#include "understudy/transport/http/http_exchange.h"

#include <microhttpd.h>
#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/http/http_limits.h"

namespace understudy::internal {
namespace {

constexpr absl::string_view kBeat = ":\n\n";

std::string Text(const char* bytes, size_t size) { return bytes == nullptr ? "" : std::string(bytes, size); }

MHD_Result AddHeader(void* request, MHD_ValueKind /*kind*/, const char* key, size_t key_size, const char* value,
                     size_t value_size) {
  const auto [found, is_new] = static_cast<HttpRequest*>(request)->headers.try_emplace(
      absl::AsciiStrToLower(Text(key, key_size)), Text(value, value_size));
  if (!is_new) absl::StrAppend(&found->second, ", ", Text(value, value_size));
  return MHD_YES;
}

MHD_Result AddToQuery(void* request, MHD_ValueKind /*kind*/, const char* key, size_t key_size, const char* value,
                      size_t value_size) {
  static_cast<HttpRequest*>(request)->query[Text(key, key_size)] = Text(value, value_size);
  return MHD_YES;
}

void AddToResponse(MHD_Response* response, const std::string& name, const std::string& value) {
  UNDERSTUDY_CHECK(MHD_add_response_header(response, name.c_str(), value.c_str()) == MHD_YES,
                   "MHD_add_response_header: ", name);
}

}  // namespace

HttpExchange::~HttpExchange() {
  if (events_ == nullptr) return;
  events_->Close();
  --shared_.streams;
}

MHD_Result HttpExchange::OnHead(const char* path, const char* method) {
  request_.path = path;
  request_.method = method;
  MHD_get_connection_values_n(of_library_, MHD_HEADER_KIND, &AddHeader, &request_);
  MHD_get_connection_values_n(of_library_, MHD_GET_ARGUMENT_KIND, &AddToQuery, &request_);
  if (shared_.bounds.body_bytes_max == 0) return Handle();
  uint64_t length = 0;
  if (const std::optional<absl::string_view> said = request_.Header("content-length");
      said.has_value() && absl::SimpleAtoi(*said, &length)) {
    body_is_too_large_ = length > shared_.bounds.body_bytes_max;
  }
  return body_is_too_large_ ? Handle() : MHD_YES;
}

MHD_Result HttpExchange::OnBody(const char* part, size_t& bytes) {
  if (bytes == 0) return Handle();
  if (request_.body.size() + bytes > shared_.bounds.body_bytes_max) body_is_too_large_ = true;
  if (body_is_too_large_) {
    request_.body.clear();  // the rest is read and forgotten, because the library answers only after it
  } else {
    request_.body.append(part, bytes);
  }
  bytes = 0;
  return MHD_YES;
}

MHD_Result HttpExchange::Handle() {
  if (body_is_too_large_) {
    return Send({.status = 413,
                 .body = absl::StrCat("expected a body of at most ", shared_.bounds.body_bytes_max, " bytes\n")});
  }
  if (slot_ == nullptr) {
    slot_ = std::make_shared<HttpReplier::Slot>(shared_.wake);
    handled_at_ = Clock::Real().Now();
    shared_.handler(std::move(request_), HttpReplier(slot_));
  }
  if (const std::optional<HttpAnswer> answer = slot_->Take(); answer.has_value()) return Send(*answer);
  if (is_late_) return Send({.status = 504, .body = "no answer in time\n"});
  Suspend();
  return MHD_YES;
}

MHD_Result HttpExchange::Send(const HttpAnswer& answer) {
  if (answer.events != nullptr) return Stream(answer);
  connection_.answered = Clock::Real().Now();
  return Queue(answer, answer.content_type.c_str(),
               MHD_create_response_from_buffer(answer.body.size(), const_cast<char*>(answer.body.data()),
                                               MHD_RESPMEM_MUST_COPY));
}

MHD_Result HttpExchange::Stream(const HttpAnswer& answer) {
  if (shared_.streams >= shared_.bounds.streams_max) {
    answer.events->Close();
    return Send({.status = 503,
                 .body = absl::StrCat("there are ", shared_.streams, " streams already\n"),
                 .headers = answer.headers});
  }
  ++shared_.streams;
  events_ = answer.events;
  events_->Attach(shared_.wake);
  connection_.has_stream = true;
  wrote_at_ = Clock::Real().Now();
  MHD_set_connection_option(of_library_, MHD_CONNECTION_OPTION_TIMEOUT,
                            static_cast<unsigned>(absl::ToInt64Seconds(limits::kHttpStreamStallsMax)));
  return Queue(
      answer, "text/event-stream",
      MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, limits::kHttpStreamStepBytes, &OnStep, this, nullptr));
}

MHD_Result HttpExchange::Queue(const HttpAnswer& answer, const char* content_type, MHD_Response* response) {
  if (response == nullptr) return MHD_NO;  // no memory: ends the connection
  AddToResponse(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
  AddToResponse(response, MHD_HTTP_HEADER_CONNECTION, "close");
  AddToResponse(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  AddToResponse(response, "X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : answer.headers) AddToResponse(response, name, value);
  const MHD_Result queued = MHD_queue_response(of_library_, static_cast<unsigned>(answer.status), response);
  MHD_destroy_response(response);
  return queued;
}

ssize_t HttpExchange::OnStep(void* exchange, uint64_t /*position*/, char* to, size_t room) {
  auto& self = *static_cast<HttpExchange*>(exchange);
  const MonotonicTime now = Clock::Real().Now();
  std::optional<std::string> bytes = self.events_->Take(room);
  if (!bytes.has_value()) return MHD_CONTENT_READER_END_OF_STREAM;
  if (bytes->empty()) {
    if (now - self.wrote_at_ < limits::kHttpStreamBeatsEvery || room < kBeat.size()) {
      self.Suspend();
      return 0;
    }
    bytes.emplace(kBeat);
  }
  self.wrote_at_ = now;
  std::memcpy(to, bytes->data(), bytes->size());
  return static_cast<ssize_t>(bytes->size());
}

void HttpExchange::Look(MonotonicTime now) {
  if (!is_suspended_) return;
  if (events_ == nullptr) {
    is_late_ = now - handled_at_ >= shared_.bounds.answer_within;
    if (slot_->HasAnswer() || is_late_) Resume();
    return;
  }
  if (ReaderHasGone()) events_->Close();  // the next step ends the stream
  if (events_->HasWork() || now - wrote_at_ >= limits::kHttpStreamBeatsEvery) Resume();
}

void HttpExchange::Suspend() {
  is_suspended_ = true;
  MHD_suspend_connection(of_library_);
}

void HttpExchange::Resume() {
  if (!is_suspended_) return;
  is_suspended_ = false;
  MHD_resume_connection(of_library_);
}

bool HttpExchange::ReaderHasGone() const {
  pollfd end = {.fd = connection_.descriptor, .events = POLLRDHUP, .revents = 0};
  return poll(&end, 1, 0) > 0;
}

}  // namespace understudy::internal
