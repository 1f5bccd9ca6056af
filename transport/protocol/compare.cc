#include "understudy/transport/protocol/compare.h"

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/protocol/comparison.h"
#include "understudy/transport/protocol/value_type.h"

namespace understudy::actor_protocol {
namespace {

constexpr Affected kBothClients = {.old_client = true, .new_client = true};
constexpr absl::string_view kLookupFails =
    "A lookup across the change fails with FailedPrecondition, which names the mailbox; ";

absl::string_view ShortName(absl::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == absl::string_view::npos ? name : name.substr(dot + 1);
}

const Rpc* FindRpc(const Service& service, absl::string_view name) {
  for (const Rpc& rpc : service.rpc()) {
    if (rpc.name() == name) return &rpc;
  }
  return nullptr;
}

std::string KindOf(const Rpc& rpc) { return rpc.cast() ? "a cast" : "a call"; }

std::string StreamsOf(const Rpc& rpc) {
  return absl::StrCat(rpc.stream_of_requests() ? "a stream of requests" : "one request", " and ",
                      rpc.stream_of_replies() ? "a stream of replies" : (rpc.cast() ? "no reply" : "one reply"));
}

class ProtocolComparison {
 public:
  ProtocolComparison(const PlacedProtocol& before, const PlacedProtocol& after, TypeNames::Names names)
      : c_(before, after, names) {}

  Findings Run() {
    int64_t steps = std::numeric_limits<int64_t>::max();
    for (const Service& service : c_.before.protocol.service()) {
      for (const Rpc& rpc : service.rpc()) FindRoles(rpc, steps);
    }
    CompareServices();
    CompareReached(steps);
    ReportRenamedPackages();
    ReportRenamedMessages();
    c_.findings.Sort();
    return std::move(c_.findings);
  }

  // Compares the messages of one rpc.
  Findings Run(const Rpc& rpc, int64_t& steps_left) {
    FindRoles(rpc, steps_left);
    c_.Reach(rpc.request(), rpc.request());
    if (!rpc.cast()) c_.Reach(rpc.reply(), rpc.reply());
    CompareReached(steps_left);
    return std::move(c_.findings);
  }

 private:
  // ---- What the old services send ----

  void FindRoles(const Rpc& rpc, int64_t& steps_left) {
    FindRolesFrom(rpc.request(), &Role::in_requests, steps_left);
    named_by_rpcs_.insert(rpc.request());
    if (rpc.cast()) return;
    FindRolesFrom(rpc.reply(), &Role::in_replies, steps_left);
    named_by_rpcs_.insert(rpc.reply());
  }
  void FindRolesFrom(const std::string& name, bool Role::* where, int64_t& steps_left) {
    std::vector<std::string> waiting = {name};
    while (!waiting.empty() && steps_left >= 0) {
      steps_left -= kStepsOfPart;
      const std::string next = std::move(waiting.back());
      waiting.pop_back();
      bool& is_known = c_.roles[next].*where;
      const MessageType* const message = c_.before.FindMessage(next);
      if (!std::exchange(is_known, true) && message != nullptr) {
        steps_left -= kStepsOfPart * message->field_size();
        for (const Field& field : message->field()) {
          if (ValueType type = ParseValueType(field.type()); !type.name.empty())
            waiting.push_back(std::move(type.name));
        }
      }
    }
  }

  // ---- Messages and enums ----

  // Compares the pairs of types that were reached, and the pairs that these reach in turn. A step is the comparison of
  // one field or value with one of the other side; what is done once for each field or value counts as kStepsOfPart.
  void CompareReached(int64_t& steps_left) {
    for (size_t i = 0; i < c_.waiting.size() && steps_left >= 0; ++i) {
      const auto [old_name, new_name] = c_.waiting[i];
      const MessageType* const old_message = c_.before.FindMessage(old_name);
      const MessageType* const new_message = c_.after.FindMessage(new_name);
      const EnumType* const old_enum = c_.before.FindEnum(old_name);
      const EnumType* const new_enum = c_.after.FindEnum(new_name);
      steps_left -= kStepsOfPart;
      if (old_message != nullptr && new_message != nullptr) {
        steps_left -= Steps(old_message->field_size(), new_message->field_size());
        if (steps_left >= 0) CompareMessages(*old_message, *new_message, c_);
      }
      if (old_enum != nullptr && new_enum != nullptr) {
        steps_left -= Steps(old_enum->value_size(), new_enum->value_size());
        if (steps_left >= 0) CompareEnums(*old_enum, *new_enum, c_);
      }
    }
  }
  static constexpr int64_t kStepsOfPart = 16;
  static int64_t Steps(int64_t old_parts, int64_t new_parts) {
    return old_parts * new_parts + kStepsOfPart * (old_parts + new_parts);
  }

  // ---- Services ----

  void CompareServices() {
    std::set<std::string> matched;
    for (const Service& service : c_.before.protocol.service()) {
      const Service* const now = Successor(service);
      if (now == nullptr) {
        c_.Add({.rule = Rule::kServiceRemoved,
                .place = PlaceOfFile(),
                .what = absl::StrCat("service ", service.name(), " was removed"),
                .breaks = absl::StrCat("A lookup by an old client fails with FailedPrecondition; what it sends to an ",
                                       "actor that has none of these mailboxes answers NoMailbox."),
                .affected = {.old_client = true},
                .baseline = c_.before.PlaceOf(service)});
        continue;
      }
      matched.insert(now->name());
      CompareRpcs(service, *now);
    }
    for (const Service& service : c_.after.protocol.service()) {
      if (!matched.contains(service.name())) {
        c_.AddNote(service, absl::StrCat("service ", service.name(), " is not in the baseline yet"));
      }
    }
  }

  // Returns the service of the new protocol that continues `service`: the one of its name, or a new one that it seems
  // to have become. Null if there is none.
  const Service* Successor(const Service& service) {
    if (const Service* const now = c_.after.FindService(service.name())) return now;
    for (const Service& other : c_.after.protocol.service()) {
      if (c_.before.FindService(other.name()) != nullptr) continue;
      if (c_.names.FollowsPackage(service.name(), other.name())) return &other;
    }
    for (const Service& other : c_.after.protocol.service()) {
      if (c_.before.FindService(other.name()) != nullptr) continue;
      int common = 0;
      for (const Rpc& rpc : service.rpc()) common += FindRpc(other, rpc.name()) != nullptr ? 1 : 0;
      const bool has_most = common > 0 && 2 * common >= service.rpc_size();
      if (!has_most && ShortName(service.name()) != ShortName(other.name())) continue;
      c_.Add({.rule = Rule::kServiceRenamed,
              .place = c_.after.PlaceOf(other),
              .what = absl::StrCat("service ", service.name(), " was renamed to ", other.name()),
              .breaks = absl::StrCat("The wire name of each mailbox begins with the service's name. ", kLookupFails,
                                     "what is sent to the other name answers NoMailbox."),
              .affected = kBothClients,
              .baseline = c_.before.PlaceOf(service)});
      return &other;
    }
    return nullptr;
  }

  // ---- Rpcs ----

  void CompareRpcs(const Service& before, const Service& after) {
    std::set<std::string> matched;
    for (const Rpc& rpc : before.rpc()) {
      const std::string name = absl::StrCat(before.name(), "/", rpc.name());
      if (const Rpc* const now = FindRpc(after, rpc.name())) {
        matched.insert(rpc.name());
        CompareRpc(name, rpc, *now);
      } else if (const Rpc* const renamed = RenamedTo(rpc, before, after)) {
        matched.insert(renamed->name());
        c_.Add({.rule = Rule::kRpcRenamed,
                .place = c_.after.PlaceOf(*renamed),
                .what = absl::StrCat("rpc ", name, " seems to have been renamed to ", renamed->name()),
                .breaks = absl::StrCat(kLookupFails, "what is sent to the other name answers NoMailbox."),
                .affected = kBothClients,
                .baseline = c_.before.PlaceOf(rpc)});
      } else {
        RpcIsGone(name, rpc, after);
      }
    }
    for (const Rpc& rpc : after.rpc()) {
      if (!matched.contains(rpc.name())) {
        c_.AddNote(rpc, absl::StrCat("rpc ", after.name(), "/", rpc.name(), " is not in the baseline yet",
                                     rpc.optional_rpc() ? ""
                                                        : ". Update servers before clients, or give it optional_rpc: a "
                                                          "new client's lookup of an old server fails without it"));
      }
    }
  }

  // A new rpc of the same types, if there is exactly one.
  const Rpc* RenamedTo(const Rpc& rpc, const Service& before, const Service& after) {
    const Rpc* found = nullptr;
    if (rpc.optional_rpc()) return nullptr;  // its callers expect NoMailbox
    for (const Rpc& other : after.rpc()) {
      if (FindRpc(before, other.name()) != nullptr || rpc.cast() != other.cast() || rpc.request() != other.request() ||
          rpc.reply() != other.reply()) {
        continue;
      }
      if (found != nullptr) return nullptr;
      found = &other;
    }
    return found;
  }

  void RpcIsGone(const std::string& name, const Rpc& rpc, const Service& after) {
    if (rpc.optional_rpc()) {
      c_.AddNote(after, absl::StrCat("rpc ", name, ", which was optional, was removed: old clients get NoMailbox"));
      return;
    }
    c_.Add({.rule = Rule::kRpcRemoved,
            .place = c_.after.PlaceOf(after),
            .what = absl::StrCat("rpc ", name, " was removed"),
            .breaks = "A lookup by an old client fails with FailedPrecondition, which names the mailbox; what it sends "
                      "through a ref that it has already answers NoMailbox.",
            .affected = {.old_client = true},
            .baseline = c_.before.PlaceOf(rpc)});
  }

  void CompareRpc(const std::string& name, const Rpc& before, const Rpc& after) {
    const auto add = [&](Rule rule, absl::string_view what, std::string breaks, Affected affected) {
      c_.Add({.rule = rule,
              .place = c_.after.PlaceOf(after),
              .what = absl::StrCat("rpc ", name, " ", what),
              .breaks = std::move(breaks),
              .affected = affected,
              .baseline = c_.before.PlaceOf(before)});
    };
    CompareType(before.request(), after.request(), [&](const std::string& change) {
      add(Rule::kRpcRequestType, absl::StrCat("takes another request: ", change),
          absl::StrCat(kLookupFails, "a request through a ref that came in a message is read as the other type."),
          kBothClients);
    });
    if (before.cast() != after.cast()) {
      add(Rule::kRpcCast, absl::StrCat("was ", KindOf(before), " and is ", KindOf(after)),
          absl::StrCat(kLookupFails, before.cast() ? "an old client's tell becomes a dead letter, and an old server "
                                                     "answers a new client's ask with NoMailbox."
                                                   : "an old client's ask answers NoMailbox, and a new client's tell "
                                                     "to an old server becomes a dead letter."),
          kBothClients);
    } else if (!before.cast()) {
      CompareType(before.reply(), after.reply(), [&](const std::string& change) {
        add(Rule::kRpcReplyType, absl::StrCat("has another reply: ", change),
            absl::StrCat(kLookupFails, "a reply to a call through a ref that came in a message is read as the other ",
                         "type."),
            kBothClients);
      });
    }
    if (before.stream_of_requests() != after.stream_of_requests() ||
        before.stream_of_replies() != after.stream_of_replies()) {
      add(Rule::kRpcStream, absl::StrCat("had ", StreamsOf(before), ", and has ", StreamsOf(after)),
          "One side sends a stream where the other expects one message, or the reverse.", kBothClients);
    }
    if (before.optional_rpc() && !after.optional_rpc()) {
      add(Rule::kRpcNotOptional, "is not optional any more",
          "An old server may leave it out. Then a new client's lookup of it fails with FailedPrecondition.",
          {.new_client = true});
    } else if (!before.optional_rpc() && after.optional_rpc()) {
      add(Rule::kRpcOptional, "has become optional",
          "A new server may leave it out. Then an old client's lookup of it fails with FailedPrecondition, and a call "
          "through a ref that it has already answers NoMailbox.",
          {.old_client = true});
    }
  }

  template <class OnOther>
  void CompareType(const std::string& before, const std::string& after, const OnOther& on_other) {
    if (c_.names.IsSame(before, after)) {
      c_.Reach(before, after);
    } else {
      on_other(absl::StrCat(before, " became ", after));
    }
  }

  // ---- Names ----

  void ReportRenamedPackages() {
    for (const auto& [old_package, new_package] : c_.names.packages()) {
      c_.Add({.rule = Rule::kPackageRenamed,
              .place = c_.after.packages.at(new_package),
              .what = absl::StrCat("package '", old_package, "' was renamed to '", new_package, "'"),
              .breaks = absl::StrCat("The full names of mailboxes and messages begin with the package. ", kLookupFails,
                                     "what is sent to the other name answers NoMailbox."),
              .affected = {.old_client = true, .new_client = true, .any = true},
              .baseline = {.file = BaselineFile()}});
    }
  }

  void ReportRenamedMessages() {
    for (const auto& [old_name, new_name] : c_.names.messages()) {
      const bool is_named = named_by_rpcs_.contains(old_name);
      c_.Add({.rule = Rule::kMessageRenamed,
              .place = c_.after.PlaceOf(*c_.after.FindMessage(new_name)),
              .what = absl::StrCat("message ", old_name, " was renamed to ", new_name),
              .breaks = is_named ? "A lookup across the change fails with FailedPrecondition, because it compares the "
                                   "full names of requests and replies."
                                 : "Its bytes are read as before, but a google.protobuf.Any has its full name and is "
                                   "not recognized.",
              .affected = {.old_client = is_named, .new_client = is_named, .any = true},
              .baseline = c_.before.PlaceOf(*c_.before.FindMessage(old_name))});
    }
  }

  Place PlaceOfFile() const { return {.file = c_.after.PlaceOf(c_.after.protocol.service(0)).file}; }
  std::string BaselineFile() const { return c_.before.PlaceOf(c_.before.protocol.service(0)).file; }

  Comparison c_;
  std::set<std::string> named_by_rpcs_;  // old messages that are a request or a reply
};

}  // namespace

Findings Compare(const PlacedProtocol& before, const PlacedProtocol& after) {
  return ProtocolComparison(before, after, TypeNames::Names::kCount).Run();
}

std::vector<std::string> MisreadPlaces(const PlacedProtocol& client, const PlacedProtocol& server, const Rpc& rpc,
                                       int64_t& steps_left) {
  std::vector<std::string> places;
  for (Finding& finding :
       ProtocolComparison(client, server, TypeNames::Names::kDoNotCount).Run(rpc, steps_left).findings) {
    if (finding.affected.old_client && BreaksAtOnce(finding.rule)) places.push_back(std::move(finding.what));
  }
  return places;
}

}  // namespace understudy::actor_protocol
