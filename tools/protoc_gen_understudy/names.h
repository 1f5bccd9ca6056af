// How the names of a .proto file become names in C++. Any thread.
#ifndef UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_NAMES_H_
#define UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace understudy::generator {

// "MakeOffer" -> "make_offer", "HTTPGet" -> "http_get".
std::string SnakeCase(absl::string_view camel);

bool IsCppKeyword(absl::string_view name);

// Names that a member made of an rpc cannot have: members of Actor and Ref, and macros of the C library.
bool IsReservedMember(absl::string_view name);

// Returns whether `name` means something else within a generated class than outside it, so that a message of that name
// must be qualified there. Such names are the members of Actor and Ref, as Drop and Start are, and the members of the
// generated classes.
bool IsClassScopeName(absl::string_view name);

// "auction.house" -> "auction::house".
std::string CppNamespace(absl::string_view package);

// "a/b.proto", "ref.h" -> "PROTO_a_2fb_2eref_2eh". Each file has another one: characters other than letters and digits
// become their codes, as in the guards of protoc. A file written by hand has no such guard.
std::string IncludeGuard(absl::string_view proto_file, absl::string_view suffix);

}  // namespace understudy::generator

#endif  // UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_NAMES_H_
