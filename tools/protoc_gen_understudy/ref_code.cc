// x.ref.h and x.ref.cc: the refs.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"
#include "understudy/tools/protoc_gen_understudy/comments.h"
#include "understudy/tools/protoc_gen_understudy/file_code.h"
#include "understudy/transport/protocol/fingerprint.h"

namespace understudy::generator {
namespace {

std::string WireNameOf(const Rpc& rpc) {
  return absl::StrCat("\"", rpc.method->service()->full_name(), "/", rpc.method->name(), "\"");
}

std::string ChannelFunction(const FileCode& code, const Rpc& rpc) {
  std::vector<std::string> comment = CommentOf(*rpc.method);
  if (rpc.is_optional) comment.emplace_back("Optional: an actor without it answers NoMailbox.");
  return absl::StrCat(Comment(comment, "  "),
                      Wrap(absl::StrCat("  ", kLibrary, "::Channel<", code.MessageOf(rpc), "> "),
                           absl::StrCat(rpc.member, "() const;"), "  "),
                      "\n");
}

// The ref's static function that visits all rpcs.
std::string RpcVisitor(const Service& service) {
  std::string text =
      "  // Calls visit(name, channel) for each rpc: its name, and the function of this class that returns its "
      "channel.\n"
      "  template <class Visit>\n";
  if (service.rpcs.empty()) return absl::StrCat(text, "  static void ForEachRpc(Visit /*visit*/) {}\n");
  absl::StrAppend(&text, "  static void ForEachRpc(Visit visit) {\n");
  for (const Rpc& rpc : service.rpcs) {
    absl::StrAppend(&text,
                    Wrap(absl::StrCat("    visit(\"", rpc.method->name(), "\", "),
                         absl::StrCat("&", service.ref, "::", rpc.member, ");"), "          "),
                    "\n");
  }
  return absl::StrCat(text, "  }\n");
}

// The ref's constant for the whole protocol.
std::string Fingerprint(const Service& service) {
  return absl::StrFormat(
      "  // The fingerprint of the protocol: another one if an rpc is added, removed, or has another name, kind or\n"
      "  // messages, or if one of the messages differs on the wire.\n"
      "  static constexpr uint64_t kFingerprint = 0x%016x;\n\n",
      actor_protocol::ServiceFingerprint(*service.descriptor));
}

std::string RefClass(const FileCode& code, const Service& service) {
  std::string text = Comment(CommentOf(*service.descriptor),
                             {absl::StrCat("The address of an actor that serves ", service.descriptor->full_name(),
                                           service.rpcs.empty() ? "." : ", with a channel for each rpc."),
                              "A value for any thread."},
                             "");
  absl::StrAppend(&text, absl::Substitute(R"(class $0 : public $1::Ref<$2> {
 public:
  using $1::Ref<$2>::Ref;

)",
                                          service.ref, kLibrary, service.actor));
  absl::StrAppend(&text, Fingerprint(service));
  for (const Rpc& rpc : service.rpcs) absl::StrAppend(&text, ChannelFunction(code, rpc));
  if (!service.rpcs.empty()) absl::StrAppend(&text, "\n");
  absl::StrAppend(
      &text,
      absl::Substitute(
          R"(  // The ref as a field of a message, and back. FromProto returns a StatusOr of it, as PidFromProto does
  // (transport/ref_proto.h, which its caller includes). `local` is any pid of this process's actor system, such as
  // context().Self().
  $0::proto::Ref ToProto() const;
  template <class ProtoRef>
  static auto FromProto(const ProtoRef& ref, $0::Pid local) {
    return RefFromProto<$1>(ref, local);
  }

  // What an actor must have so that a lookup of its name gives this ref.
  static std::vector<$0::MailboxSignature> Mailboxes();

)",
          kLibrary, service.ref));
  return absl::StrCat(text, RpcVisitor(service), "};\n\n");
}

std::string RefFunctions(const FileCode& code, const Service& service) {
  std::string channels;
  std::string signatures;
  for (const Rpc& rpc : service.rpcs) {
    const std::string function = absl::StrCat(service.ref, "::", rpc.member);
    absl::StrAppend(
        &channels,
        Wrap(absl::StrCat(kLibrary, "::Channel<", code.MessageOf(rpc), "> "), absl::StrCat(function, "() const {"), ""),
        "\n", Wrap("  return {pid(), ", absl::StrCat("MailboxHash<", WireNameOf(rpc), ">()};"), "          "), "\n}\n");
    if (rpc.is_optional) continue;
    absl::StrAppend(&signatures,
                    Wrap(absl::StrCat("      ", kLibrary, "::SignatureOf<", WireNameOf(rpc), ">("),
                         absl::StrCat("&", function, "),"), "          "),
                    "\n");
  }
  if (!channels.empty()) absl::StrAppend(&channels, "\n");
  const std::string list = signatures.empty() ? "{}" : absl::StrCat("{\n", signatures, "  }");
  return absl::Substitute(R"($3$0::proto::Ref $1::ToProto() const { return $0::ToProto(pid()); }

std::vector<$0::MailboxSignature> $1::Mailboxes() {
  return $2;
}

)",
                          kLibrary, service.ref, list, channels);
}

}  // namespace

std::string RefHeader(const FileCode& code) {
  if (code.services().empty()) return code.Header("ref.h", {.own = "pb.h"}, "");
  FileCode::Includes includes = {
      .system = {"cstdint", "functional", "vector"},
      .absl = {},
      .understudy = {"actors/pid.h", "actors/ref.h"},
      .own = "pb.h",
  };
  std::string classes;
  std::string hashes;
  for (const Service& service : code.services()) {
    for (const Rpc& rpc : service.rpcs) {
      if (rpc.is_stream() || rpc.is_upload()) includes.understudy.insert("actors/stream.h");
    }
    absl::StrAppend(&classes, "class ", service.actor, ";\n\n", RefClass(code, service));
    const std::string hashed = absl::StrCat("struct std::hash<", code.Qualified(service.ref), ">");
    const std::string base = absl::StrCat(" : std::hash<understudy::Ref<", code.Qualified(service.actor), ">> {};\n");
    const bool fits = hashed.size() + base.size() - 1 <= kColumnsMax;
    absl::StrAppend(&hashes, "template <>\n", hashed, fits ? "" : "\n   ", base);
  }
  return code.Header("ref.h", includes,
                     absl::StrCat("namespace understudy::proto {\nclass Ref;\n}  // namespace understudy::proto\n\n",
                                  code.InNamespace(classes), "\n", hashes, "\n"));
}

std::string RefSource(const FileCode& code) {
  const FileCode::Includes includes = {
      .system = {"vector"},
      .absl = {},
      .understudy = {"actors/channel.h", "actors/mailbox_signature.h", "actors/message.h", "actors/registry.h",
                     "proto/ref.pb.h", "transport/ref_proto.h"},
      .own = "",
  };
  std::string functions;
  for (const Service& service : code.services()) absl::StrAppend(&functions, RefFunctions(code, service));
  return code.Source("ref.h", includes, functions.empty() ? "" : code.InNamespace(functions));
}

}  // namespace understudy::generator
