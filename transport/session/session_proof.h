// SessionProof: how a node proves that a session is its own.
//
// An incarnation is no secret (every pid carries it), so it proves nothing. When
// a session begins, each end chooses a random key: the dialling node's travels in
// its Hello, the accepting node's in its Welcome. Both keys together are the
// session's secret. A node that later wants to resume the session by another
// stream, or to tell that it has ended it, proves by an HMAC-SHA-256 (RFC 2104)
// that it holds the secret. The HMAC covers all that the claim says and the
// number of the dial, so a recorded proof is good for nothing else.
//
// Without TLS the keys travel in clear: the secret holds against every process
// that cannot read the connection, which on one machine is every process of
// another user and every one that cannot trace this one.
//
// Threads: any; values without state.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_SESSION_PROOF_H_
#define UNDERSTUDY_TRANSPORT_SESSION_SESSION_PROOF_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "understudy/actors/pid.h"

namespace understudy {

// 128 bits from each end, so that a key cannot be guessed.
inline constexpr size_t kSessionKeyBytes = 16;
// The size of an HMAC-SHA-256.
inline constexpr size_t kSessionProofBytes = 32;

// Returns a key from the operating system's random generator.
std::string NewSessionKey();

// The claim that a proof proves. The names are views, which must outlive the claim.
struct SessionClaim {
  enum class Kind : uint8_t {
    kResume = 1,           // the dialling node, in a Hello
    kResumed = 2,          // the accepting node, in a Welcome
    kEndedByDialler = 3,   // in a Hello that begins another session
    kEndedByAcceptor = 4,  // in a Refuse
  };
  Kind kind;
  absl::string_view dialler;
  NodeIncarnation dialler_incarnation;
  absl::string_view acceptor;
  NodeIncarnation acceptor_incarnation;
  uint64_t epoch = 0;
  // The dial number of the Hello that carries the proof, or that the proof answers.
  uint64_t dial = 0;
  // The last slot that the prover received; 0 for the two kinds of end.
  uint64_t received = 0;
};

class SessionSecret {
 public:
  // Requires keys of kSessionKeyBytes.
  SessionSecret(absl::string_view dialler_key, absl::string_view acceptor_key);

  std::string Prove(const SessionClaim& claim) const;
  // Returns whether `proof` proves `claim`. Takes the same time wherever the bytes differ.
  bool Accepts(const SessionClaim& claim, absl::string_view proof) const;

 private:
  std::string key_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_SESSION_PROOF_H_
