// CodeWriter: the text of <name>.actor.h and <name>.actor.cc. One thread at a time.
#ifndef UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_CODE_WRITER_H_
#define UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_CODE_WRITER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "understudy/tools/protoc_gen_understudy/service.h"

namespace understudy::generator {

class CodeWriter {
 public:
  // `file` and `services`, which are those of the file, outlive it.
  CodeWriter(const google::protobuf::FileDescriptor& file, const std::vector<Service>& services);

  std::string Header() const;
  std::string Source() const;

 private:
  std::string HeaderIncludes() const;
  std::string ActorClass(const Service& service) const;
  std::string RefClass(const Service& service) const;
  // The class of an optional rpc's mailbox, or the mailbox itself.
  std::string OptionalMailbox(const Service& service, const Rpc& rpc) const;
  std::string Mailbox(const Rpc& rpc) const;
  std::string ChannelFunction(const Service& service, const Rpc& rpc) const;
  // The ref's static function that visits all rpcs.
  std::string RpcVisitor(const Service& service) const;
  std::string RefFunctions(const Service& service) const;
  // `code` within the file's namespace.
  std::string InNamespace(absl::string_view code) const;

  // `begin`, a call's beginning with its bracket and first argument, with the rpc's MailboxOptions as the last argument
  // and `end`: on one line if that is short enough, else each option on a line.
  std::string WithOptions(const Rpc& rpc, absl::string_view begin, absl::string_view end) const;
  // The message of the rpc's mailbox: "Offer", or "understudy::Call<Offer, OfferResult>".
  std::string MessageOf(const Rpc& rpc) const;
  std::string NameIn(const google::protobuf::Descriptor& type,
                     const google::protobuf::ServiceDescriptor& service) const;
  std::string Qualified(absl::string_view class_name) const;

  const google::protobuf::FileDescriptor& file_;
  const std::vector<Service>& services_;
  // "understudy", or "::understudy" where the package has a namespace of that name.
  const std::string library_;
};

}  // namespace understudy::generator

#endif  // UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_CODE_WRITER_H_
