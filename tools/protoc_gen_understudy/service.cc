#include "understudy/tools/protoc_gen_understudy/service.h"

#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.pb.h"
#include "understudy/proto/options.pb.h"
#include "understudy/tools/protoc_gen_understudy/limits.h"
#include "understudy/tools/protoc_gen_understudy/names.h"
#include "understudy/tools/protoc_gen_understudy/rpc_options.h"

namespace understudy::generator {
namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::MethodDescriptorProto;
using google::protobuf::ServiceDescriptor;

constexpr absl::string_view kEmpty = "google.protobuf.Empty";

class ServiceReader {
 public:
  ServiceReader(const FileDescriptor& file, Complaints& complaints) : file_(file), complaints_(complaints) {}

  std::vector<Service> Read() {
    std::vector<Service> services;
    if (file_.service_count() > 0) CheckPackage();
    for (int i = 0; i < file_.service_count(); ++i) services.push_back(ReadService(*file_.service(i)));
    return services;
  }

 private:
  void CheckPackage() {
    if (file_.package().empty()) return;
    for (const absl::string_view part : absl::StrSplit(file_.package(), '.')) {
      if (!IsCppKeyword(part)) continue;
      complaints_.AddAtPackage(absl::StrCat("package ", file_.package(), ": '", part,
                                            "' is a C++ keyword and cannot name a namespace: rename that part"));
    }
  }

  Service ReadService(const ServiceDescriptor& descriptor) {
    Service service{.descriptor = &descriptor,
                    .actor = absl::StrCat(descriptor.name(), "Actor"),
                    .ref = absl::StrCat(descriptor.name(), "Ref"),
                    .rpcs = {}};
    const std::string& name = descriptor.name();
    for (const std::string& made : {service.actor, service.ref, absl::StrCat(name, "Double"),
                                    absl::StrCat(name, "Probe"), absl::StrCat("Mock", name)}) {
      CheckClassName(descriptor, made);
    }
    if (descriptor.method_count() > kRpcsPerServiceMax) {
      complaints_.AddAtName(descriptor, absl::StrCat("service ", descriptor.name(), " has ", descriptor.method_count(),
                                                     " rpcs: expected at most ", kRpcsPerServiceMax,
                                                     ", because an actor has at most so many mailboxes"));
    }
    std::map<std::string, const MethodDescriptor*> members;
    for (int i = 0; i < descriptor.method_count(); ++i) {
      Rpc rpc = ReadRpc(*descriptor.method(i));
      const auto [first, is_new] = members.emplace(rpc.member, rpc.method);
      if (!is_new) {
        complaints_.AddAtName(*rpc.method,
                              absl::StrCat("rpc ", NameOf(*rpc.method), ": its member would be '", rpc.member,
                                           "', as that of ", NameOf(*first->second), ": rename one of them"));
      }
      service.rpcs.push_back(std::move(rpc));
    }
    return service;
  }

  // A class that is generated must not have the name of what protoc makes of a message, an enum or a value of an enum
  // beside it, nor of a class of another service.
  void CheckClassName(const ServiceDescriptor& descriptor, const std::string& made) {
    const std::string name = file_.package().empty() ? made : absl::StrCat(file_.package(), ".", made);
    const google::protobuf::DescriptorPool& pool = *file_.pool();
    std::string other;
    const auto [first, is_new] = classes_.emplace(made, descriptor.name());
    if (!is_new) {
      other = absl::StrCat("a class of the service ", first->second);
    } else if (pool.FindMessageTypeByName(name) != nullptr || pool.FindEnumTypeByName(name) != nullptr) {
      other = absl::StrCat("the type ", name);
    } else if (pool.FindEnumValueByName(name) != nullptr) {
      other = absl::StrCat("the enum value ", name);
    } else {
      return;
    }
    complaints_.AddAtName(descriptor,
                          absl::StrCat("service ", descriptor.name(), ": the class ", made,
                                       " that is generated has the name of ", other, ": rename one of them"));
  }

  Rpc ReadRpc(const MethodDescriptor& method) {
    const google::protobuf::MethodOptions& options = method.options();
    Rpc rpc{.method = &method,
            .member = SnakeCase(method.name()),
            .is_cast = options.GetExtension(options::cast),
            .is_optional = options.GetExtension(options::optional_rpc),
            .options = ReadMailboxOptions(method, complaints_)};
    CheckStreams(method);
    CheckMember(rpc);
    CheckWireName(method);
    if (rpc.is_cast && method.output_type()->full_name() != kEmpty) {
      complaints_.AddAtOption(method, options::cast.number(),
                              absl::StrCat("rpc ", NameOf(method), ": a cast has no reply, so it returns ", kEmpty,
                                           ", not ", method.output_type()->full_name()));
    }
    return rpc;
  }

  void CheckStreams(const MethodDescriptor& method) {
    if (!method.options().GetExtension(options::cast)) return;
    if (method.client_streaming()) {
      complaints_.AddAt(
          method, MethodDescriptorProto::kClientStreamingFieldNumber,
          absl::StrCat("rpc ", NameOf(method), ": a cast is one message, so it takes one, and no stream"));
    }
    if (method.server_streaming()) {
      complaints_.AddAt(
          method, MethodDescriptorProto::kServerStreamingFieldNumber,
          absl::StrCat("rpc ", NameOf(method), ": a cast has no reply, so it returns ", kEmpty, ", and no stream"));
    }
  }

  void CheckMember(const Rpc& rpc) {
    absl::string_view what;
    if (IsCppKeyword(rpc.member)) {
      what = "is a C++ keyword";
    } else if (IsReservedMember(rpc.member)) {
      what = "means something else in an actor, a ref or the C library";
    } else {
      return;
    }
    complaints_.AddAtName(*rpc.method, absl::StrCat("rpc ", NameOf(*rpc.method), ": its member would be '", rpc.member,
                                                    "', which ", what, ": rename the rpc"));
  }

  void CheckWireName(const MethodDescriptor& method) {
    const std::string name = absl::StrCat(method.service()->full_name(), "/", method.name());
    if (name.size() > kWireNameBytesMax) {
      complaints_.AddAtName(method, absl::StrCat("rpc ", NameOf(method), ": its wire name has ", name.size(),
                                                 " bytes: expected at most ", kWireNameBytesMax));
    }
    const auto [first, is_new] = hashes_.emplace(WireNameHash(name), name);
    if (!is_new) {
      complaints_.AddAtName(
          method, absl::StrCat("rpc ", NameOf(method), ": its wire name ", name, " has the same 32-bit hash as ",
                               first->second, ": rename one of them"));
    }
  }

  const FileDescriptor& file_;
  Complaints& complaints_;
  std::map<uint32_t, std::string> hashes_;      // wire names by their hash
  std::map<std::string, std::string> classes_;  // the services of the classes that are generated
};

}  // namespace

std::vector<Service> ReadServices(const FileDescriptor& file, Complaints& complaints) {
  return ServiceReader(file, complaints).Read();
}

}  // namespace understudy::generator
