#include "understudy/tools/protoc_gen_understudy/names.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace understudy::generator {
namespace {

// C++20, alternative tokens included.
constexpr absl::string_view kKeywords[] = {
    "alignas",     "alignof",  "and",        "and_eq",    "asm",       "auto",         "bitand",
    "bitor",       "bool",     "break",      "case",      "catch",     "char",         "char16_t",
    "char32_t",    "char8_t",  "class",      "co_await",  "co_return", "co_yield",     "compl",
    "concept",     "const",    "const_cast", "consteval", "constexpr", "constinit",    "continue",
    "decltype",    "default",  "delete",     "do",        "double",    "dynamic_cast", "else",
    "enum",        "explicit", "export",     "extern",    "false",     "float",        "for",
    "friend",      "goto",     "if",         "inline",    "int",       "long",         "mutable",
    "namespace",   "new",      "noexcept",   "not",       "not_eq",    "nullptr",      "operator",
    "or",          "or_eq",    "private",    "protected", "public",    "register",     "reinterpret_cast",
    "requires",    "return",   "short",      "signed",    "sizeof",    "static",       "static_assert",
    "static_cast", "struct",   "switch",     "template",  "this",      "thread_local", "throw",
    "true",        "try",      "typedef",    "typeid",    "typename",  "union",        "unsigned",
    "using",       "virtual",  "void",       "volatile",  "wchar_t",   "while",        "xor",
    "xor_eq",
};

constexpr absl::string_view kReservedMembers[] = {
    "assert", "context", "errno", "linux", "pid", "ref_", "serving_", "stderr", "stdin", "stdout", "understudy", "unix",
};

constexpr absl::string_view kClassScopeNames[] = {
    "Actor",
    "ActorType",
    "After",
    "At",
    "Become",
    "Double",
    "Drop",
    "Every",
    "Fail",
    "ForEach",
    "ForEachRpc",
    "FromProto",
    "HandlesEveryMailboxOf",
    "Idle",
    "MailboxHash",
    "Mailboxes",
    "MakeClause",
    "MakeTimer",
    "On",
    "OnExit",
    "Receive",
    "Ref",
    "Refuse",
    "Serving",
    "Start",
    "ToProto",
    "kFingerprint",
    "kService",
};

template <size_t N>
bool IsOneOf(absl::string_view name, const absl::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

std::string SnakeCase(absl::string_view camel) {
  std::string snake;
  for (size_t i = 0; i < camel.size(); ++i) {
    const bool begins_word =
        absl::ascii_isupper(camel[i]) && i > 0 && camel[i - 1] != '_' &&
        (!absl::ascii_isupper(camel[i - 1]) || (i + 1 < camel.size() && absl::ascii_islower(camel[i + 1])));
    if (begins_word) snake += '_';
    snake += absl::ascii_tolower(camel[i]);
  }
  return snake;
}

bool IsCppKeyword(absl::string_view name) { return IsOneOf(name, kKeywords); }

bool IsReservedMember(absl::string_view name) { return IsOneOf(name, kReservedMembers); }

bool IsClassScopeName(absl::string_view name) { return IsOneOf(name, kClassScopeNames); }

std::string CppNamespace(absl::string_view package) { return absl::StrReplaceAll(package, {{".", "::"}}); }

std::string IncludeGuard(absl::string_view proto_file, absl::string_view suffix) {
  std::string guard = "PROTO_";
  for (const char c : absl::StrCat(absl::StripSuffix(proto_file, ".proto"), ".", suffix)) {
    if (absl::ascii_isalnum(c)) {
      guard += c;
    } else {
      absl::StrAppend(&guard, "_", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return guard;
}

}  // namespace understudy::generator
