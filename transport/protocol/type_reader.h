// TypeReader: describes messages and enums, as Protocol Buffers' descriptors declare them, in a Protocol. One thread
// at a time.
#ifndef UNDERSTUDY_TRANSPORT_PROTOCOL_TYPE_READER_H_
#define UNDERSTUDY_TRANSPORT_PROTOCOL_TYPE_READER_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "understudy/transport/protocol/protocol.pb.h"

namespace understudy::actor_protocol {

class TypeReader {
 public:
  // Is told where each part of the protocol is declared: in `file`, at `place` unless that is null.
  using OnPart = std::function<void(const google::protobuf::Message& part, const google::protobuf::FileDescriptor& file,
                                    const google::protobuf::SourceLocation* place)>;

  explicit TypeReader(OnPart on_part = nullptr) : on_part_(std::move(on_part)) {}

  // Adds the message, and all messages and enums that its fields reach. Those of google.protobuf are left out.
  void Add(const google::protobuf::Descriptor& message);
  // Writes the added types into `protocol`, in the order of their names. Call once.
  void WriteTo(Protocol& protocol);

 private:
  void AddTypesOf(const google::protobuf::Descriptor& message);
  void Write(const google::protobuf::Descriptor& descriptor, MessageType& message);
  void Write(const google::protobuf::FieldDescriptor& descriptor, Field& field);
  void Write(const google::protobuf::EnumDescriptor& descriptor, EnumType& type);
  template <class D>
  void Report(const D& descriptor, const google::protobuf::FileDescriptor& file,
              const google::protobuf::Message& part) const;

  const OnPart on_part_;
  // By full name. Messages whose fields are not looked at yet wait.
  std::map<std::string, const google::protobuf::Descriptor*> messages_;
  std::map<std::string, const google::protobuf::EnumDescriptor*> enums_;
  std::vector<const google::protobuf::Descriptor*> waiting_;
};

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TRANSPORT_PROTOCOL_TYPE_READER_H_
