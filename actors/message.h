// What travels between actors: a typed payload with addresses, and signals.
//
// A message type is any movable C++ type. A *wire message* is one that a
// generated protobuf class could be (concept WireMessage); only these cross
// nodes. This library never includes protobuf: it calls the members named in
// the concept.
//
// Threads: values, one owner at a time.
#ifndef UNDERSTUDY_ACTORS_MESSAGE_H_
#define UNDERSTUDY_ACTORS_MESSAGE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"

namespace understudy {

// The message of a mailbox whose sender gets a typed reply:
// Mailbox<"balance", Call<BalanceRequest, Balance>>.
template <class RequestT, class ReplyT>
struct Call {
  using Request = RequestT;
  using Reply = ReplyT;
};

template <class M>
concept WireMessage = requires(const M& message, M& mutable_message, std::string* out) {
  { M::descriptor()->full_name() } -> std::convertible_to<std::string>;
  { message.SerializeToString(out) } -> std::same_as<bool>;
  { mutable_message.ParseFromArray(nullptr, 0) } -> std::same_as<bool>;
  message.ByteSizeLong();
};

// A type may say how many bytes it holds, for mailboxes bounded in bytes, by a
// function that argument-dependent lookup finds: size_t MessageBytes(const M&).
template <class M>
concept HasMessageBytes = requires(const M& message) {
  { MessageBytes(message) } -> std::convertible_to<size_t>;
};

namespace internal {

template <class M>
struct MessageTraits {
  using Request = M;
  using Reply = void;
  static constexpr bool kIsCall = false;
};
template <class RequestT, class ReplyT>
struct MessageTraits<Call<RequestT, ReplyT>> {
  using Request = RequestT;
  using Reply = ReplyT;
  static constexpr bool kIsCall = true;
};

// What the library needs to know about one message type. One per type and
// program; compared by address.
struct MessageType {
  std::string name;  // a protobuf full name, else a C++ name
  bool is_wire;
  size_t (*bytes)(const void* value);
  void (*destroy)(void* value);
  // Null unless is_wire.
  bool (*serialize)(const void* value, std::string* out);
  void* (*parse)(absl::string_view bytes);  // null when malformed
};

std::string DemangledName(const char* mangled);

template <class M>
size_t BytesOf(const M& message) {
  if constexpr (HasMessageBytes<M>) {
    return MessageBytes(message);
  } else if constexpr (WireMessage<M>) {
    return message.ByteSizeLong();
  } else {
    return sizeof(M);
  }
}

template <class M>
const MessageType& TypeOf() {
  static_assert(std::is_same_v<M, std::remove_cvref_t<M>>, "a message type is neither a reference nor const");
  static_assert(std::is_move_constructible_v<M>, "a message must be movable: it moves into its mailbox");
  static const MessageType* const type = [] {
    auto* made = new MessageType{.name = "",
                                 .is_wire = WireMessage<M>,
                                 .bytes = [](const void* v) { return BytesOf(*static_cast<const M*>(v)); },
                                 .destroy = [](void* v) { delete static_cast<M*>(v); },
                                 .serialize = nullptr,
                                 .parse = nullptr};
    if constexpr (WireMessage<M>) {
      made->name = std::string(M::descriptor()->full_name());
      made->serialize = [](const void* v, std::string* out) {
        return static_cast<const M*>(v)->SerializeToString(out);
      };
      made->parse = [](absl::string_view bytes) -> void* {
        auto* value = new M;
        if (value->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
          return value;
        }
        delete value;
        return nullptr;
      };
    } else {
      made->name = DemangledName(typeid(M).name());
    }
    return made;
  }();
  return *type;
}

// Nothing, a typed value, or the bytes of one that has not been parsed yet.
class Payload {
 public:
  Payload() = default;
  Payload(Payload&& other) noexcept
      : type_(std::exchange(other.type_, nullptr)),
        value_(std::exchange(other.value_, nullptr)),
        is_wire_bytes_(std::exchange(other.is_wire_bytes_, false)),
        wire_bytes_(std::move(other.wire_bytes_)) {}
  Payload& operator=(Payload&& other) noexcept {
    if (this != &other) {
      this->~Payload();
      new (this) Payload(std::move(other));
    }
    return *this;
  }
  ~Payload() {
    if (value_ != nullptr) type_->destroy(value_);
  }

  template <class M>
  static Payload Of(M value) {
    Payload payload;
    payload.type_ = &TypeOf<M>();
    payload.value_ = new M(std::move(value));
    return payload;
  }
  static Payload OfWireBytes(std::string bytes) {
    Payload payload;
    payload.is_wire_bytes_ = true;
    payload.wire_bytes_ = std::move(bytes);
    return payload;
  }

  bool is_typed() const { return value_ != nullptr; }
  bool is_wire_bytes() const { return is_wire_bytes_; }
  const MessageType* type() const { return type_; }
  const void* value() const { return value_; }
  const std::string& wire_bytes() const { return wire_bytes_; }
  size_t bytes() const { return is_typed() ? type_->bytes(value_) : wire_bytes_.size(); }

  // Makes a typed value of wire bytes. InvalidArgument when they do not parse
  // or `type` does not cross nodes; the payload is then unchanged.
  absl::Status ParseAs(const MessageType& type);

  // Requires a typed payload of exactly that type.
  template <class M>
  M& As() {
    UNDERSTUDY_CHECK(type_ == &TypeOf<M>(), "the payload is a ", type_ == nullptr ? "nothing" : type_->name, ", not a ",
                     TypeOf<M>().name);
    return *static_cast<M*>(value_);
  }

 private:
  const MessageType* type_ = nullptr;
  void* value_ = nullptr;
  bool is_wire_bytes_ = false;
  std::string wire_bytes_;
};

// FNV-1a (Fowler, Noll, Vo), 32 bits.
constexpr uint32_t Fnv1a(absl::string_view text, uint32_t hash = 2166136261U) {
  for (const char c : text) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  }
  return hash;
}

// Hash of a mailbox's wire name; channels carry it. The names behind hashes
// are kept in one process-wide table, because streams carry the full name. Two
// names with one hash CHECK. Any thread.
class MailboxNames {
 public:
  static uint32_t Intern(absl::string_view wire_name);
  // The name behind `hash`, or empty. Valid for ever.
  static absl::string_view Find(uint32_t hash);
};

// A message on its way, from acceptance to the end of its handler.
struct Message {
  Pid from;  // null when a plain thread sent it
  Pid to;
  uint32_t mailbox = 0;  // hash of the wire name
  uint64_t ask = 0;      // the asker's id of this call; 0 for a tell
  // The asker's deadline; the call expires then. Infinite for a tell.
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  // When it was accepted, where its mailbox has a time to live.
  MonotonicTime accepted;
  Payload payload;
};

}  // namespace internal

// The numbers are also the wire's.
enum class SignalKind : uint8_t {
  kExit = 1,  // `reason`; `is_link` when it comes along a link
  kKill = 2,
  kLink = 3,
  kUnlink = 4,       // `id`, acknowledged
  kUnlinkAck = 5,    // `id`
  kMonitor = 6,      // `id`
  kDemonitor = 7,    // `id`
  kDown = 8,         // `id`, `reason`
  kRequestStop = 9,  // `reason`
  kCancel = 10,      // `id` of the ask that its asker gave up
  kReply = 11,       // `id` of the ask; `status`, or `payload` when it is OK
};

// What acts on an actor rather than going to a mailbox.
struct Signal {
  SignalKind kind = SignalKind::kExit;
  Pid from;
  Pid to;
  uint64_t id = 0;
  bool is_link = false;
  ExitReason reason;
  absl::Status status;
  internal::Payload payload;
};

// "exit", "kill", …
absl::string_view SignalKindName(SignalKind kind);

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_MESSAGE_H_
