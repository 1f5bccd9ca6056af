// Findings: the peers and stored data that a change of a protocol breaks, and how. Values. Any thread.
#ifndef UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_FINDINGS_H_
#define UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_FINDINGS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "understudy/tools/actor_protocol/placed_protocol.h"

namespace understudy::actor_protocol {

// README.md says for each rule what breaks, for whom, and why.
enum class Rule {
  kPackageRenamed,
  kServiceRenamed,
  kServiceRemoved,
  kRpcRenamed,
  kRpcRemoved,
  kRpcRequestType,
  kRpcReplyType,
  kRpcCast,
  kRpcStream,
  kRpcNotOptional,
  kRpcOptional,
  kMessageRenamed,
  kFieldRenumbered,
  kFieldRemoved,
  kFieldType,
  kFieldCardinality,
  kFieldRequired,
  kFieldPresence,
  kFieldDefault,
  kFieldOneof,
  kReservedRemoved,
  kExtensionsRemoved,
  kEnumValueRenumbered,
  kEnumValueRemoved,
  kEnumClosed,
};

absl::Span<const Rule> AllRules();

// "field-type": how output and README.md name the rule.
absl::string_view NameOf(Rule rule);

// Whom a change breaks.
struct Affected {
  bool old_client = false;  // a client that is not updated, with a server that is
  bool new_client = false;  // a client that is updated, with a server that is not
  bool stored = false;      // messages that were stored before the change and are read after it
  bool any = false;         // messages in a google.protobuf.Any, which has their full names

  std::string Text() const;
  friend Affected operator|(Affected a, Affected b) {
    return {.old_client = a.old_client || b.old_client,
            .new_client = a.new_client || b.new_client,
            .stored = a.stored || b.stored,
            .any = a.any || b.any};
  }
};

struct Finding {
  Rule rule;
  Place place;         // in the .proto files
  std::string what;    // what changed: "rpc auction.Auction/Watch was removed"
  std::string breaks;  // what happens: whole sentences
  Affected affected;
  Place baseline;  // what it was
};

// A change that breaks no peer, but is worth knowing.
struct Note {
  Place place;
  std::string text;
};

struct Findings {
  std::vector<Finding> findings;
  std::vector<Note> notes;

  // In the order of places.
  void Sort();
  // All of them, each finding on four lines and each note on one.
  std::string Text() const;
};

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_FINDINGS_H_
