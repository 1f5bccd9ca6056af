#include "understudy/tools/understudy/page_guard.h"

#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/check.h"

namespace understudy {
namespace {

std::string NewToken() {
  std::string bytes(16, '\0');
  ssize_t got = -1;
  do {
    got = getrandom(bytes.data(), bytes.size(), 0);
  } while (got < 0 && errno == EINTR);
  UNDERSTUDY_CHECK(got == static_cast<ssize_t>(bytes.size()), "getrandom gave ", got, " bytes, errno ", errno);
  return absl::BytesToHexString(bytes);
}

// Compares all bytes even after a difference, so that the time taken does not show how much of a guess is right.
bool IsSameSecret(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differing = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    differing |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return differing == 0;
}

}  // namespace

PageGuard::PageGuard(std::string authority) : authority_(std::move(authority)), token_(NewToken()) {}

absl::Status PageGuard::Check(const PageRequest& request, PageNeed need) const {
  const absl::string_view method = need == PageNeed::kAction ? "POST" : "GET";
  if (request.method != method) return absl::UnimplementedError(absl::StrCat("expected the method ", method));
  if (request.host != authority_) {
    return absl::PermissionDeniedError(absl::StrCat("wrong Host: expected ", authority_));
  }
  const std::string origin = absl::StrCat("http://", authority_);
  // A browser sends no Origin with the page's own GETs.
  const bool has_good_origin = request.origin.has_value() ? *request.origin == origin : need != PageNeed::kAction;
  if (!has_good_origin) return absl::PermissionDeniedError(absl::StrCat("wrong Origin: expected ", origin));
  if (need == PageNeed::kAsset) return absl::OkStatus();
  if (!request.token.has_value() || !IsSameSecret(*request.token, token_)) {
    return absl::UnauthenticatedError(
        absl::StrCat("wrong ", kPageTokenHeader, ": open the address that `understudy observe` printed"));
  }
  return absl::OkStatus();
}

std::string PageGuard::PrintedAddress() const { return absl::StrCat("http://", authority_, "/#", token_); }

}  // namespace understudy
