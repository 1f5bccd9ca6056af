// TypeNames: which message or enum of the new protocol is which of the old one. A reference (an rpc's request, a
// field's type) that names another type than before either follows a renaming or means another type. One thread at a
// time; both protocols outlive it.
#ifndef UNDERSTUDY_TRANSPORT_PROTOCOL_TYPE_NAMES_H_
#define UNDERSTUDY_TRANSPORT_PROTOCOL_TYPE_NAMES_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "understudy/transport/protocol/placed_protocol.h"

namespace understudy::actor_protocol {

class TypeNames {
 public:
  // kCount: types with different names are different types, unless one was renamed to the other. kDoNotCount: only the
  // fields and values of types count.
  enum class Names { kCount, kDoNotCount };

  TypeNames(const PlacedProtocol& before, const PlacedProtocol& after, Names names)
      : names_(names), before_(before), after_(after) {}

  // Enters that a thing with the full name `before` has the name `after` now, if that is because its package was
  // renamed: the rest of the name is the same, and no file has the old package any more. Returns whether it is so.
  bool FollowsPackage(absl::string_view before, absl::string_view after);

  // Whether a reference to `before` that became one to `after` still means the same type, perhaps renamed. A type was
  // renamed if no file defines it any more, `after` is new, and it has all fields or values that `before` had. If names
  // do not count, two messages always are the same type, and so are two enums.
  bool IsSame(absl::string_view before, absl::string_view after);

  // The packages that were renamed: old and new name.
  const std::map<std::string, std::string>& packages() const { return packages_; }
  // The messages that were renamed otherwise.
  const std::map<std::string, std::string>& messages() const { return messages_; }

 private:
  // Whether the message around a nested type was renamed so.
  bool FollowsMessage(absl::string_view before, absl::string_view after) const;
  bool IsAlike(absl::string_view before, absl::string_view after) const;

  const Names names_;
  const PlacedProtocol& before_;
  const PlacedProtocol& after_;
  std::map<std::string, std::string> packages_;
  std::map<std::string, std::string> messages_;
  std::map<std::string, std::string> enums_;
};

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TRANSPORT_PROTOCOL_TYPE_NAMES_H_
