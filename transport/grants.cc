#include "understudy/transport/grants.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "understudy/actors/limits.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {
namespace {

constexpr absl::string_view kReserved = "understudy/";
constexpr absl::string_view kEveryName = "*";
// Bounds the time of a check, which may compare the name with each pattern of the peer's entry. A peer causes one check
// for each name that it publishes.
constexpr size_t kPublishPatternsPerEntryMax = 1000;

bool Matches(absl::string_view pattern, absl::string_view name) {
  if (pattern == kEveryName) return true;
  return absl::EndsWith(pattern, "/") ? absl::StartsWith(name, pattern) : name == pattern;
}

// True for the names understudy/KIND/NODE and understudy/KIND/NODE/… if NODE is `node`. Requires a reserved name.
bool IsReservedFor(absl::string_view node, absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, absl::MaxSplits('/', 3));
  return parts.size() >= 3 && parts[2] == node;
}

bool IsBelowOwnName(absl::string_view node, absl::string_view name) {
  return absl::ConsumePrefix(&name, node) && absl::StartsWith(name, "/");
}

}  // namespace

absl::string_view OperationName(Operation operation) {
  switch (operation) {
    case Operation::kPublish:
      return "publish";
    case Operation::kExit:
      return "exit";
    case Operation::kLink:
      return "link";
    case Operation::kKill:
      return "kill";
    case Operation::kStart:
      return "start";
  }
  return "?";
}

absl::string_view OpsActionName(OpsAction action) {
  switch (action) {
    case OpsAction::kStop:
      return "stop";
    case OpsAction::kKill:
      return "kill";
    case OpsAction::kRestart:
      return "restart";
    case OpsAction::kDrain:
      return "drain";
    case OpsAction::kLogLevel:
      return "log level";
    case OpsAction::kSuspend:
      return "suspend";
    case OpsAction::kTrace:
      return "trace";
    case OpsAction::kTraceContents:
      return "trace contents";
    case OpsAction::kRead:
      return "read";
  }
  return "?";
}

absl::StatusOr<Grants> Grants::Make(const GrantTable& table) {
  if (table.entries.size() > limits::kPeersMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("grants for ", table.entries.size(), " nodes: a node has at most ", limits::kPeersMax, " peers"));
  }
  Grants grants;
  grants.insecure_loopback_grants_ = table.insecure_loopback_grants;
  grants.insecure_loopback_ops_ = table.insecure_loopback_ops;
  grants.siblings_.insert(table.siblings.begin(), table.siblings.end());
  for (const GrantEntry& entry : table.entries) {
    if (absl::Status valid = ValidateNodeName(entry.node); !valid.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("grants: ", valid.message()));
    }
    if (entry.publish.size() > kPublishPatternsPerEntryMax) {
      return absl::InvalidArgumentError(absl::StrCat("grants of node '", entry.node, "': ", entry.publish.size(),
                                                     " names to publish: expected at most ",
                                                     kPublishPatternsPerEntryMax));
    }
    for (const Operation operation : entry.operations) {
      if (operation == Operation::kPublish) {
        return absl::InvalidArgumentError(absl::StrCat("grants of node '", entry.node,
                                                       "': operations has kPublish, which grants no name: expected the "
                                                       "names in publish, such as auction/, auction/lot-1 or *"));
      }
      const int number = static_cast<int>(operation);
      if (number >= 0 && number <= static_cast<int>(Operation::kStart)) continue;
      return absl::InvalidArgumentError(absl::StrCat("grants of node '", entry.node, "': ", number,
                                                     " is not an Operation: expected kExit, kLink, kKill or kStart"));
    }
    for (const OpsAction action : entry.ops) {
      const int number = static_cast<int>(action);
      if (number >= 0 && number <= static_cast<int>(OpsAction::kRead)) continue;
      return absl::InvalidArgumentError(absl::StrCat("grants of node '", entry.node, "': ", number,
                                                     " is not an OpsAction: expected kRead, kStop or another one"));
    }
    for (const std::string& pattern : entry.publish) {
      if (!pattern.empty() && pattern.size() <= limits::kNameBytesMax) continue;
      return absl::InvalidArgumentError(absl::StrCat("grants of node '", entry.node, "': a name to publish has ",
                                                     pattern.size(), " bytes: expected 1 to ", limits::kNameBytesMax,
                                                     ", such as auction/, auction/lot-1 or *"));
    }
    if (!grants.entries_.emplace(entry.node, entry).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("grants of node '", entry.node, "' are there twice: expected one entry for a node"));
    }
  }
  return grants;
}

bool Grants::IsReservedForAnother(absl::string_view node, absl::string_view name) {
  return absl::StartsWith(name, kReserved) && !IsReservedFor(node, name);
}

bool Grants::Allows(const StreamIdentity& identity, absl::string_view node, Operation operation,
                    absl::string_view name) const {
  if (!identity.MayBe(node)) return false;
  const bool is_publishing = operation == Operation::kPublish;
  if (is_publishing && absl::StartsWith(name, kReserved)) return IsReservedFor(node, name);
  switch (identity.proof) {
    case StreamIdentity::Proof::kParent:
      return true;
    case StreamIdentity::Proof::kProcessChild:
      return is_publishing || insecure_loopback_grants_ || EntryAllows(node, operation, name);
    case StreamIdentity::Proof::kSameUser:
      return is_publishing || insecure_loopback_grants_;
    case StreamIdentity::Proof::kCertificate:
      return (is_publishing && (IsBelowOwnName(node, name) || siblings_.contains(node))) ||
             EntryAllows(node, operation, name);
    case StreamIdentity::Proof::kNone:
      return (is_publishing && IsBelowOwnName(node, name)) || insecure_loopback_grants_;
  }
  return false;
}

std::set<OpsAction> Grants::OpsOf(const StreamIdentity& identity) const {
  if (identity.proof == StreamIdentity::Proof::kNone) return insecure_loopback_ops_;
  std::set<OpsAction> all;
  if (identity.proof != StreamIdentity::Proof::kCertificate) return all;
  for (const std::string& name : identity.names) {
    if (const auto found = entries_.find(name); found != entries_.end()) {
      all.insert(found->second.ops.begin(), found->second.ops.end());
    }
  }
  return all;
}

bool Grants::EntryAllows(absl::string_view node, Operation operation, absl::string_view name) const {
  const auto found = entries_.find(node);
  if (found == entries_.end()) return false;
  const GrantEntry& entry = found->second;
  if (operation != Operation::kPublish) return entry.operations.contains(operation);
  return std::any_of(entry.publish.begin(), entry.publish.end(),
                     [name](const std::string& pattern) { return Matches(pattern, name); });
}

}  // namespace understudy
