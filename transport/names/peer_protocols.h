// PeerProtocols: which mailboxes of one peer's actors have messages that one of the two nodes would misread, because
// the peer's .proto files differ from this node's. One object for each session.
//
// When the peer defines a set of mailboxes with a fingerprint that is another one here, it is asked for a description,
// once for each set, as long as `steps_left`, which the comparison uses up, is not negative. Claims with such a set
// wait until the description has come and was compared.
//
// Three kinds of mailboxes are not compared, and count as not misread: those with messages that this program does not
// have, because no ref here can use them; those whose description would be too large; and all others of a peer whose
// descriptions have already cost as much as they may (comparison_budgets.h).
//
// A plain value without threads, clock or socket.
#ifndef UNDERSTUDY_TRANSPORT_NAMES_PEER_PROTOCOLS_H_
#define UNDERSTUDY_TRANSPORT_NAMES_PEER_PROTOCOLS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/registry.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/protocol/local_types.h"

namespace understudy {

class PeerProtocols {
 public:
  // Call when the peer has defined the set. Returns the mailboxes (bit i is the mailbox i) that it must be asked to
  // describe; 0 if none.
  uint64_t OnDefined(const proto::SignatureSet& set, LocalTypes& types, int64_t steps_left);

  // Whether a description of the set is awaited.
  bool IsAwaited(uint32_t set) const { return awaited_.contains(set); }
  // Notes, and forgets, that the claim to `name` waits for the description of the set.
  void AddWaiting(uint32_t set, const std::string& name) { awaited_[set].names.insert(name); }
  void RemoveWaiting(uint32_t set, const std::string& name);

  // Call when the peer has described `set`. Returns the names of the claims that waited for that. Returns
  // InvalidArgument if the description is malformed or too large; then the session must be ended. Requires IsAwaited.
  absl::StatusOr<std::set<std::string>> OnDescribed(const proto::SignatureSet& set, absl::string_view description,
                                                    LocalTypes& types, int64_t& steps_left);
  // Returns the mailboxes of the set, with what one of the two nodes would misread. It is always the same object, so
  // that any number of names costs one. Requires !IsAwaited.
  SharedMailboxes MailboxesOf(const proto::SignatureSet& set);

 private:
  struct Awaited {
    uint64_t mailboxes = 0;
    std::set<std::string> names;
  };

  std::map<uint32_t, Awaited> awaited_;
  std::map<uint32_t, SharedMailboxes> mailboxes_;  // of sets that claims have, or with something that is misread
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NAMES_PEER_PROTOCOLS_H_
