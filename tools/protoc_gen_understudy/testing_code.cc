// x.testing.h: for tests, the probe and the mock of each service.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "understudy/tools/protoc_gen_understudy/file_code.h"

namespace understudy::generator {
namespace {

// `begin`, `parts` with commas between, and `end`: on one line if that is short enough, else each part on a line of its
// own behind `indent`.
std::string List(absl::string_view begin, const std::vector<std::string>& parts, absl::string_view end,
                 absl::string_view indent) {
  std::string line = absl::StrCat(begin, absl::StrJoin(parts, ", "), end);
  if (line.size() <= kColumnsMax) return line;
  return absl::StrCat(begin, "\n", indent, absl::StrJoin(parts, absl::StrCat(",\n", indent)), end);
}

// The member `name` of a class, where a function of the class has the parameters `hiding`.
std::string Member(const std::string& name, const std::set<std::string>& hiding) {
  return hiding.count(name) > 0 ? absl::StrCat("this->", name) : name;
}

std::string DoubleClass(const FileCode& code, const Service& service) {
  const std::string& name = service.descriptor->name();
  const std::string& full_name = service.descriptor->full_name();
  std::string doubles, initializers, optional;
  std::vector<std::string> arguments = {"std::move(options)"}, parameters, clauses = {"\"serving\""};
  std::set<std::string> handlers;  // parameters that may have the name of another rpc's mailbox
  for (const Rpc& rpc : service.rpcs) handlers.insert(absl::StrCat("on_", rpc.member));
  for (const Rpc& rpc : service.rpcs) {
    const std::string type = absl::StrCat("Double<", code.MessageOf(rpc), ">");
    absl::StrAppend(&doubles, Wrap(absl::StrCat("  ", type, " "), absl::StrCat(rpc.member, ";"), "      "), "\n");
    absl::StrAppend(&initializers,
                    Wrap(absl::StrCat(initializers.empty() ? "      : " : "        ", rpc.member, "(system, "),
                         absl::StrCat("\"", full_name, "/", rpc.method->name(), "\"),"), "            "),
                    "\n");
    arguments.push_back(absl::StrCat(Member(rpc.member, {"options", "system"}), ".handler()"));
    // With the eight columns of its indent.
    const std::string parameter =
        Wrap(absl::StrCat("        typename ", type, "::Handler "), absl::StrCat("on_", rpc.member), "            ");
    parameters.push_back(parameter.substr(8));
    clauses.push_back(absl::StrCat("On(", Member(rpc.member, handlers), ", on_", rpc.member, ")"));
    if (rpc.is_optional) absl::StrAppend(&optional, "    ", rpc.method->name(), "Mailbox ", rpc.member, "{this};\n");
  }
  return absl::Substitute(
      R"(// Serves $2 in a test.
// $0Probe shows what each rpc receives; Mock$0 answers as the test says.
template <template <class> class Double>
class $0Double {
 public:
  // `system` outlives it.
  explicit $0Double($1::TestSystem& system, $1::SpawnOptions options = {})
$3$4

  $5 Ref() const { return ref_; }

$6
 private:
  class Serving final : public $7 {
   public:
$8
$9
)",
      name, kLibrary, full_name, initializers,
      List("        ref_(system.Spawn<Serving>(", arguments, ")) {}", "            "), service.ref, doubles,
      service.actor, List("    explicit Serving(", parameters, ")", "        "),
      absl::StrCat(List("        : serving_(", clauses, ") {}", "              "), "\n\n   private:\n    ", kLibrary,
                   "::StartResult Start() override { return serving_; }\n\n", optional, "    ", kLibrary,
                   "::Behavior serving_;\n  };\n\n  const ", service.ref, " ref_;\n};\nusing ", name, "Probe = ", name,
                   "Double<", kLibrary, "::MailboxProbe>;\nusing Mock", name, " = ", name, "Double<", kLibrary,
                   "::MailboxMock>;\n"));
}

}  // namespace

std::string TestingHeader(const FileCode& code) {
  std::string classes;
  for (const Service& service : code.services()) {
    if (!service.rpcs.empty()) absl::StrAppend(&classes, DoubleClass(code, service));
  }
  if (classes.empty()) return code.Header("testing.h", {.own = "actor.h"}, "");
  const FileCode::Includes includes = {
      .system = {"utility"},
      .absl = {},
      .understudy = {"actors/actor.h", "actors/actor_spec.h", "actors/behavior.h", "actors/message.h",
                     "actors/test_system.h", "actors/testing/mailbox_mock.h", "actors/testing/mailbox_probe.h"},
      .own = "actor.h",
  };
  return code.Header("testing.h", includes, absl::StrCat(code.InNamespace(classes), "\n"));
}

}  // namespace understudy::generator
