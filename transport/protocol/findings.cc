#include "understudy/transport/protocol/findings.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace understudy::actor_protocol {
namespace {

constexpr Rule kRules[] = {
    Rule::kPackageRenamed,  Rule::kServiceRenamed,    Rule::kServiceRemoved,      Rule::kRpcRenamed,
    Rule::kRpcRemoved,      Rule::kRpcRequestType,    Rule::kRpcReplyType,        Rule::kRpcCast,
    Rule::kRpcStream,       Rule::kRpcNotOptional,    Rule::kRpcOptional,         Rule::kMessageRenamed,
    Rule::kFieldRenumbered, Rule::kFieldRemoved,      Rule::kFieldType,           Rule::kFieldCardinality,
    Rule::kFieldRequired,   Rule::kFieldPresence,     Rule::kFieldDefault,        Rule::kFieldOneof,
    Rule::kReservedRemoved, Rule::kExtensionsRemoved, Rule::kEnumValueRenumbered, Rule::kEnumValueRemoved,
    Rule::kEnumClosed,
};

}  // namespace

absl::Span<const Rule> AllRules() { return kRules; }

absl::string_view NameOf(Rule rule) {
  switch (rule) {
    case Rule::kPackageRenamed:
      return "package-renamed";
    case Rule::kServiceRenamed:
      return "service-renamed";
    case Rule::kServiceRemoved:
      return "service-removed";
    case Rule::kRpcRenamed:
      return "rpc-renamed";
    case Rule::kRpcRemoved:
      return "rpc-removed";
    case Rule::kRpcRequestType:
      return "rpc-request-type";
    case Rule::kRpcReplyType:
      return "rpc-reply-type";
    case Rule::kRpcCast:
      return "rpc-cast";
    case Rule::kRpcStream:
      return "rpc-stream";
    case Rule::kRpcNotOptional:
      return "rpc-not-optional";
    case Rule::kRpcOptional:
      return "rpc-optional";
    case Rule::kMessageRenamed:
      return "message-renamed";
    case Rule::kFieldRenumbered:
      return "field-renumbered";
    case Rule::kFieldRemoved:
      return "field-removed";
    case Rule::kFieldType:
      return "field-type";
    case Rule::kFieldCardinality:
      return "field-cardinality";
    case Rule::kFieldRequired:
      return "field-required";
    case Rule::kFieldPresence:
      return "field-presence";
    case Rule::kFieldDefault:
      return "field-default";
    case Rule::kFieldOneof:
      return "field-oneof";
    case Rule::kReservedRemoved:
      return "reserved-removed";
    case Rule::kExtensionsRemoved:
      return "extensions-removed";
    case Rule::kEnumValueRenumbered:
      return "enum-value-renumbered";
    case Rule::kEnumValueRemoved:
      return "enum-value-removed";
    case Rule::kEnumClosed:
      return "enum-closed";
  }
  return "";
}

bool BreaksAtOnce(Rule rule) {
  return rule != Rule::kFieldRemoved && rule != Rule::kEnumValueRemoved && rule != Rule::kReservedRemoved &&
         rule != Rule::kExtensionsRemoved;
}

std::string Affected::Text() const {
  std::vector<absl::string_view> whom;
  if (old_client) whom.emplace_back("an old client with a new server");
  if (new_client) whom.emplace_back("a new client with an old server");
  if (stored) whom.emplace_back("stored messages");
  if (any) whom.emplace_back("messages in a google.protobuf.Any");
  return absl::StrJoin(whom, "; ");
}

void Findings::Sort() {
  std::sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.place, a.rule, a.what) < std::tie(b.place, b.rule, b.what);
  });
  std::sort(notes.begin(), notes.end(),
            [](const Note& a, const Note& b) { return std::tie(a.place, a.text) < std::tie(b.place, b.text); });
}

std::string Findings::Text() const {
  std::string text;
  for (const Finding& finding : findings) {
    absl::StrAppend(&text, finding.place.Text(), ": ", finding.what, " [", NameOf(finding.rule), "]\n");
    absl::StrAppend(&text, "    ", finding.breaks, "\n");
    absl::StrAppend(&text, "    It breaks: ", finding.affected.Text(), ".\n");
    absl::StrAppend(&text, "    Baseline: ", finding.baseline.Text(), "\n");
  }
  for (const Note& note : notes) absl::StrAppend(&text, note.place.Text(), ": note: ", note.text, "\n");
  return text;
}

}  // namespace understudy::actor_protocol
