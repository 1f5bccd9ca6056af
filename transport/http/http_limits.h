// Bounds that every HttpServer has; those that differ from server to server are in HttpBounds.
#ifndef UNDERSTUDY_TRANSPORT_HTTP_HTTP_LIMITS_H_
#define UNDERSTUDY_TRANSPORT_HTTP_HTTP_LIMITS_H_

#include <cstddef>

#include "absl/time/time.h"

namespace understudy::limits {

// How often the server looks for connections and answers whose time is over, and for readers of streams that have gone.
inline constexpr absl::Duration kHttpLooksEvery = absl::Milliseconds(500);
// How long an answer may lie unread, before its connection gives its place to a client that waits for one. Less than a
// kubelet waits for its probe, together with kHttpLooksEvery.
inline constexpr absl::Duration kHttpUnreadAnswerKept = absl::Milliseconds(200);
// How long the server waits for a descriptor, when the process has none left, before it tries again.
inline constexpr absl::Duration kHttpStarvedPause = absl::Milliseconds(100);
// How often the certificate file and the key file are read, to serve with new ones.
inline constexpr absl::Duration kHttpRereadsTlsEvery = absl::Seconds(5);
// A stream without events gets an empty comment this often, so that proxies and the reader see that it lives.
inline constexpr absl::Duration kHttpStreamBeatsEvery = absl::Seconds(5);
// A stream whose reader takes no byte for so long, while there are some, loses its connection.
inline constexpr absl::Duration kHttpStreamStallsMax = absl::Seconds(30);
// The bytes that one step of a stream passes to the HTTP library; each stream has a buffer of this size.
inline constexpr size_t kHttpStreamStepBytes = size_t{32} << 10;

}  // namespace understudy::limits

#endif  // UNDERSTUDY_TRANSPORT_HTTP_HTTP_LIMITS_H_
