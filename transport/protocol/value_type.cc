#include "understudy/transport/protocol/value_type.h"

#include <cstdint>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace understudy::actor_protocol {
namespace {

// How values become bytes; https://protobuf.dev/programming-guides/encoding.
enum class Encoding { kVarint, kZigzag, kFixed32, kFloat, kFixed64, kDouble, kText, kBytes, kMessage, kGroup };

// The wire type that stands before each value.
int WireTypeOf(Encoding encoding) {
  switch (encoding) {
    case Encoding::kVarint:
    case Encoding::kZigzag:
      return 0;
    case Encoding::kFixed64:
    case Encoding::kDouble:
      return 1;
    case Encoding::kText:
    case Encoding::kBytes:
    case Encoding::kMessage:
      return 2;
    case Encoding::kGroup:
      return 3;
    case Encoding::kFixed32:
    case Encoding::kFloat:
      return 5;
  }
  return -1;
}

struct Kind {
  absl::string_view name;
  Encoding encoding;
  // The integers that it holds.
  int64_t least = 0;
  uint64_t greatest = 0;
};

constexpr int64_t kLeast32 = std::numeric_limits<int32_t>::min();
constexpr int64_t kLeast64 = std::numeric_limits<int64_t>::min();
constexpr uint64_t kGreatest32 = std::numeric_limits<int32_t>::max();
constexpr uint64_t kGreatest64 = std::numeric_limits<int64_t>::max();
constexpr uint64_t kGreatestU32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kGreatestU64 = std::numeric_limits<uint64_t>::max();

constexpr Kind kKinds[] = {
    {"int32", Encoding::kVarint, kLeast32, kGreatest32},
    {"int64", Encoding::kVarint, kLeast64, kGreatest64},
    {"uint32", Encoding::kVarint, 0, kGreatestU32},
    {"uint64", Encoding::kVarint, 0, kGreatestU64},
    {"bool", Encoding::kVarint, 0, 1},
    {"enum", Encoding::kVarint, kLeast32, kGreatest32},
    {"sint32", Encoding::kZigzag, kLeast32, kGreatest32},
    {"sint64", Encoding::kZigzag, kLeast64, kGreatest64},
    {"sfixed32", Encoding::kFixed32, kLeast32, kGreatest32},
    {"fixed32", Encoding::kFixed32, 0, kGreatestU32},
    {"sfixed64", Encoding::kFixed64, kLeast64, kGreatest64},
    {"fixed64", Encoding::kFixed64, 0, kGreatestU64},
    {"float", Encoding::kFloat},
    {"double", Encoding::kDouble},
    {"string", Encoding::kText},
    {"bytes", Encoding::kBytes},
    {"message", Encoding::kMessage},
    {"group", Encoding::kGroup},
};

const Kind* FindKind(absl::string_view name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace

ValueType ParseValueType(absl::string_view text) {
  const size_t space = text.find(' ');
  if (space == absl::string_view::npos) return {.kind = std::string(text), .name = ""};
  return {.kind = std::string(text.substr(0, space)), .name = std::string(text.substr(space + 1))};
}

bool ValueType::MayBePacked() const { return is_repeated && !IsMessage() && kind != "string" && kind != "bytes"; }

bool IsScalar(absl::string_view kind) {
  return FindKind(kind) != nullptr && kind != "enum" && kind != "message" && kind != "group";
}

bool IsProtobufs(absl::string_view name) { return absl::StartsWith(name, "google.protobuf."); }

std::string ReadingOf(const ValueType& writer, const ValueType& reader) {
  const Kind* const from = FindKind(writer.kind);
  const Kind* const to = FindKind(reader.kind);
  if (from == nullptr || to == nullptr) return "the type is unknown";
  if (WireTypeOf(from->encoding) != WireTypeOf(to->encoding)) {
    if (writer.MayBePacked() && reader.MayBePacked()) {
      return "packed values are read as others, or make the message unreadable";
    }
    return "the value is not read, because its wire type differs";
  }
  if (writer.kind == reader.kind && writer.name == reader.name) return "";
  if (from->encoding == Encoding::kText && to->encoding == Encoding::kBytes) return "";
  if (from->encoding == Encoding::kBytes && to->encoding == Encoding::kText) {
    return "a value that is not UTF-8 makes the message unreadable";
  }
  if (from->encoding != to->encoding) return "the bytes are read as another value";
  if (writer.IsMessage()) return "the bytes are read as another message";
  if (writer.IsEnum() && reader.IsEnum()) return "the number is read as a value of another enum";
  if (reader.IsEnum() && reader.is_closed) return "a number that the enum does not have arrives as unset";
  if (from->least < to->least || from->greatest > to->greatest) {
    return absl::StrCat("a value that ", reader.kind, " cannot hold arrives as another one");
  }
  return "";
}

}  // namespace understudy::actor_protocol
