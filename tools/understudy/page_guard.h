// PageGuard: decides whether a request that reached the observer page's server comes from the page that was printed.
//
// The guard refuses requests of three kinds of attacker: another website in a browser of this machine (its page can
// send requests to loopback, but does not know the token and sends its own Origin); DNS rebinding (the Host of such a
// request is the attacker's name); and other users of the machine (they can connect, but do not know the token).
// Guarantees: the token has 128 random bits, and is compared in a time that does not depend on where it differs. An
// error names what was refused, never the token or the text that was sent in its place.
// Threads: any; a guard does not change.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_PAGE_GUARD_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_PAGE_GUARD_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace understudy {

// The header that carries the token. A request from another origin cannot have it unless the server allows that in
// answer to OPTIONS, which this one refuses.
inline constexpr absl::string_view kPageTokenHeader = "X-Understudy-Token";

// The parts of an HTTP request that the guard looks at; nullopt if the request has no such header.
struct PageRequest {
  absl::string_view method;
  std::optional<absl::string_view> host;
  std::optional<absl::string_view> origin;
  std::optional<absl::string_view> token;
};

enum class PageNeed {
  kAsset,   // GET; the page and its parts tell nothing of a node, and a browser loads them without the token
  kRead,    // GET, with the token
  kAction,  // POST, with the token and an Origin
};

class PageGuard {
 public:
  // `authority` is the host and port of the page's address, such as "127.0.0.1:4711".
  explicit PageGuard(std::string authority);

  // Unimplemented: another method than `need` takes. PermissionDenied: another Host or Origin than the printed
  // address has, or none where one is needed. Unauthenticated: no token, or a wrong one.
  [[nodiscard]] absl::Status Check(const PageRequest& request, PageNeed need) const;

  // With the token as its fragment, which a browser does not send. To print, and not to log.
  std::string PrintedAddress() const;

 private:
  const std::string authority_;
  const std::string token_;  // 32 hexadecimal digits
};

}  // namespace understudy

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_PAGE_GUARD_H_
