// x.actor.h: the base classes of actors.
#include <cstddef>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "understudy/tools/protoc_gen_understudy/comments.h"
#include "understudy/tools/protoc_gen_understudy/file_code.h"

namespace understudy::generator {
namespace {

// `begin`, a call's beginning with its bracket and first argument, with the rpc's MailboxOptions as the last argument
// and `end`: on one line if that is short enough, else each option on a line, after `indent` and four columns.
std::string WithOptions(const Rpc& rpc, absl::string_view indent, absl::string_view begin, absl::string_view end) {
  if (rpc.options.empty()) return absl::StrCat(begin, end);
  const std::string options = absl::StrJoin(rpc.options, ", ");
  const std::string line = absl::StrCat(begin, ", {", options, "}", end);
  const size_t last_line = line.find('\n') == std::string::npos ? line.size() : line.size() - line.find('\n') - 1;
  if (last_line <= kColumnsMax) return line;
  std::string text = absl::StrCat(begin, ", {\n");
  for (const std::string& option : rpc.options) absl::StrAppend(&text, indent, "    ", option, ",\n");
  return absl::StrCat(text, indent, "}", end);
}

std::string Mailbox(const FileCode& code, const Rpc& rpc) {
  const std::string type =
      absl::StrCat("  ", kLibrary, "::Mailbox<\"", rpc.method->name(), "\", ", code.MessageOf(rpc), ">");
  const std::string name = absl::StrCat(rpc.member, "{this");
  const bool fits = type.size() + name.size() + 3 <= kColumnsMax;
  return absl::StrCat(Comment(CommentOf(*rpc.method), "  "),
                      WithOptions(rpc, "  ", absl::StrCat(type, fits ? " " : "\n      ", name), "};"), "\n");
}

// The class of an optional rpc's mailbox.
std::string OptionalMailbox(const FileCode& code, const Service& service, const Rpc& rpc) {
  const std::string name = absl::StrCat(rpc.method->name(), "Mailbox");
  const std::string begin = absl::Substitute("    explicit $0($1* owner) : Mailbox(owner", name, service.actor);
  return absl::StrCat(
      Comment(CommentOf(*rpc.method),
              {"Optional: an actor that serves it has this member, and one without it answers NoMailbox:",
               absl::StrCat("  ", name, " ", rpc.member, "{this};")},
              "  "),
      Wrap(absl::StrCat("  class ", name, " "),
           absl::Substitute(": public $0::Mailbox<\"$1\", $2> {", kLibrary, rpc.method->name(), code.MessageOf(rpc)),
           "      "),
      "\n   public:\n", WithOptions(rpc, "    ", begin, ") {}"), "\n  };\n");
}

std::string ActorClass(const FileCode& code, const Service& service) {
  const std::string& name = service.descriptor->full_name();
  std::string text = Comment(CommentOf(*service.descriptor),
                             {service.rpcs.empty() ? absl::StrCat("The base class of actors that serve ", name, ".")
                                                   : absl::StrCat("The base class of actors that serve ", name,
                                                                  ", with a mailbox for each rpc.")},
                             "");
  absl::StrAppend(&text, absl::Substitute(R"(class $0 : public virtual $1::Actor {
 public:
  using Ref = $2;
  using HandlesEveryMailboxOf = $0;
  static constexpr ::absl::string_view kService = "$3";
)",
                                          service.actor, kLibrary, service.ref, name));
  if (!service.rpcs.empty()) absl::StrAppend(&text, "\n protected:\n");
  for (const Rpc& rpc : service.rpcs) {
    absl::StrAppend(&text, rpc.is_optional ? OptionalMailbox(code, service, rpc) : Mailbox(code, rpc));
  }
  absl::StrAppend(&text, "};\n\n");
  return text;
}

}  // namespace

std::string ActorHeader(const FileCode& code) {
  if (code.services().empty()) return code.Header("actor.h", {.own = "ref.h"}, "");
  FileCode::Includes includes = {
      .absl = {"strings/string_view.h"},
      .understudy = {"actors/actor.h", "actors/mailbox.h", "actors/message.h", "transport/ref_proto.h"},
      .own = "ref.h",
  };
  std::string options;
  std::string classes;
  for (const Service& service : code.services()) {
    for (const Rpc& rpc : service.rpcs) absl::StrAppend(&options, absl::StrJoin(rpc.options, ","));
    absl::StrAppend(&classes, ActorClass(code, service));
  }
  if (!options.empty()) includes.understudy.insert("actors/mailbox_options.h");
  if (absl::StrContains(options, "size_t")) includes.system.insert("cstddef");
  if (absl::StrContains(options, "absl::")) includes.absl.insert("time/time.h");
  return code.Header("actor.h", includes, absl::StrCat(code.InNamespace(classes), "\n"));
}

}  // namespace understudy::generator
