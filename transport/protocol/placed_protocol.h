// PlacedProtocol: a Protocol, and where each part of it stands: in the .proto files, or in a baseline.
// A value without threads. The parts of `protocol` must not be added to once places are made, and messages and enums
// only if IndexTypes is called again.
#ifndef UNDERSTUDY_TRANSPORT_PROTOCOL_PLACED_PROTOCOL_H_
#define UNDERSTUDY_TRANSPORT_PROTOCOL_PLACED_PROTOCOL_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "understudy/transport/protocol/protocol.pb.h"

namespace understudy::actor_protocol {

// A line of a file. Lines and columns count from 1; column 0 means the whole line.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;

  // "auction.proto:12:3"; a line or column that is 0 is left out.
  std::string Text() const {
    if (line == 0) return file;
    return column == 0 ? absl::StrCat(file, ":", line) : absl::StrCat(file, ":", line, ":", column);
  }
  friend bool operator<(const Place& a, const Place& b) {
    return std::tie(a.file, a.line, a.column) < std::tie(b.file, b.line, b.column);
  }
};

struct PlacedProtocol {
  Protocol protocol;
  // By the parts of `protocol`: Service, Rpc, MessageType, Field, EnumType, EnumValue.
  std::map<const google::protobuf::Message*, Place> places;
  // Only filled for a protocol that was read from .proto files: where each package is declared, and all messages and
  // enums of the files, including those that the services do not use.
  std::map<std::string, Place> packages;
  std::set<std::string> defined;

  // The part with that full name, or null.
  const Service* FindService(absl::string_view name) const { return Find(protocol.service(), name); }
  const MessageType* FindMessage(absl::string_view name) const { return Find(protocol.message(), messages_, name); }
  const EnumType* FindEnum(absl::string_view name) const { return Find(protocol.enum_(), enums_, name); }

  // Enters the messages and enums that were added since the last call into an index, so that finding one of n takes
  // log n steps. Without an index it takes n.
  void IndexTypes() {
    Index(protocol.message(), messages_);
    Index(protocol.enum_(), enums_);
  }

  // Where `part` of `protocol` stands.
  Place PlaceOf(const google::protobuf::Message& part) const {
    const auto found = places.find(&part);
    return found == places.end() ? Place() : found->second;
  }

 private:
  // The first part of each name among the first `entered` ones.
  struct ByName {
    std::map<std::string, int, std::less<>> place;
    int entered = 0;
  };
  template <class Parts>
  static void Index(const Parts& parts, ByName& by_name) {
    for (; by_name.entered < parts.size(); ++by_name.entered) {
      by_name.place.emplace(parts.Get(by_name.entered).name(), by_name.entered);
    }
  }
  template <class Parts>
  static auto Find(const Parts& parts, const ByName& by_name, absl::string_view name) -> decltype(&parts.Get(0)) {
    if (by_name.entered == 0) return Find(parts, name);
    const auto found = by_name.place.find(name);
    return found == by_name.place.end() ? nullptr : &parts.Get(found->second);
  }
  template <class Parts>
  static auto Find(const Parts& parts, absl::string_view name) -> decltype(&parts.Get(0)) {
    for (const auto& part : parts) {
      if (part.name() == name) return &part;
    }
    return nullptr;
  }

  ByName messages_;
  ByName enums_;
};

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TRANSPORT_PROTOCOL_PLACED_PROTOCOL_H_
