#include "understudy/transport/session/session_proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/check.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace {

// No text of another protocol that uses the same keys can be mistaken for a claim.
constexpr absl::string_view kPurpose = "understudy session 2";

void AppendNumber(std::string& text, uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) text.push_back(static_cast<char>(number >> shift & 0xff));
}

// With its length before it, so that no two lists of texts have one encoding.
void AppendText(std::string& text, absl::string_view part) {
  AppendNumber(text, part.size());
  text.append(part.data(), part.size());
}

std::string Encode(const SessionClaim& claim) {
  std::string text;
  AppendText(text, kPurpose);
  text.push_back(static_cast<char>(claim.kind));
  AppendText(text, claim.dialler);
  AppendNumber(text, claim.dialler_incarnation.bits);
  AppendText(text, claim.acceptor);
  AppendNumber(text, claim.acceptor_incarnation.bits);
  AppendNumber(text, claim.epoch);
  AppendNumber(text, claim.dial);
  AppendNumber(text, claim.received);
  return text;
}

}  // namespace

std::string NewSessionKey() {
  std::string key(kSessionKeyBytes, '\0');
  ssize_t got = 0;
  do {
    got = getrandom(key.data(), key.size(), 0);
  } while (got < 0 && errno == EINTR);
  // The kernel gives up to 256 bytes whole once it is seeded.
  UNDERSTUDY_CHECK(got == static_cast<ssize_t>(key.size()), "getrandom gave ", got, " bytes: ", strerror(errno));
  return key;
}

SessionSecret::SessionSecret(absl::string_view dialler_key, absl::string_view acceptor_key)
    : key_(absl::StrCat(dialler_key, acceptor_key)) {
  UNDERSTUDY_CHECK(dialler_key.size() == kSessionKeyBytes && acceptor_key.size() == kSessionKeyBytes,
                   "session keys of ", dialler_key.size(), " and ", acceptor_key.size(), " bytes: expected ",
                   kSessionKeyBytes);
}

std::string SessionSecret::Prove(const SessionClaim& claim) const {
  const std::string text = Encode(claim);
  std::string proof(kSessionProofBytes, '\0');
  unsigned int size = 0;
  const unsigned char* const made = HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
                                         reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                                         reinterpret_cast<unsigned char*>(proof.data()), &size);
  UNDERSTUDY_CHECK(made != nullptr && size == proof.size(), "HMAC-SHA-256 gave ", size, " bytes");
  return proof;
}

bool SessionSecret::Accepts(const SessionClaim& claim, absl::string_view proof) const {
  const std::string expected = Prove(claim);
  return proof.size() == expected.size() && CRYPTO_memcmp(proof.data(), expected.data(), expected.size()) == 0;
}

}  // namespace understudy
