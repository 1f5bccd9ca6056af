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

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/message_bytes.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"

namespace understudy {

// The message of a mailbox whose sender gets a typed reply:
// Mailbox<"balance", Call<BalanceRequest, Balance>>.
template <class RequestT, class ReplyT>
struct Call {
  using Request = RequestT;
  using Reply = ReplyT;
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
  // A protobuf full name, else a C++ name.
  const std::string& name() const { return get_name(); }

  const std::string& (*get_name)();
  size_t size;
  size_t alignment;
  bool is_wire;
  bool is_boxed;                             // too large or over-aligned for a block
  uint8_t small_bytes;                       // SmallBytes
  uint8_t units[2];                          // of a block for a tell, and for a call
  bool moves_safely;                         // its move does not throw
  void (*move)(void* to, void* from);        // makes `to` of `from`, which stays
  void (*copy)(void* to, const void* from);  // null when it cannot be copied
  void (*destroy)(void* value);              // null when there is nothing to do
  size_t (*bytes)(const void* value);
  // Null unless is_wire.
  bool (*serialize)(const void* value, std::string* out);
  bool (*parse)(absl::string_view bytes, void* to);  // makes `to`, or answers false
};

inline Envelope* Envelope::Make(EnvelopeKind kind) {
  auto* envelope = new (AllocateBlock(1)) Envelope;
  envelope->kind = kind;
  return envelope;
}

inline Envelope* Envelope::Make(EnvelopeKind kind, const MessageType& type, bool has_call_part) {
  return Make(kind, type, has_call_part, type.units[has_call_part ? 1 : 0]);
}

inline Envelope* Envelope::Make(EnvelopeKind kind, const MessageType& type, bool has_call_part, uint8_t units) {
  const uint8_t flags = has_call_part ? kHasCallPart : 0;
  auto* envelope = new (AllocateBlock(units)) Envelope{.kind = kind, .flags = flags, .units = units, .type = &type};
  if (has_call_part) new (&envelope->call()) CallPart;
  if (ABSL_PREDICT_FALSE(type.is_boxed)) envelope->Box(type);
  return envelope;
}

inline void Envelope::Delete(Envelope* envelope) {
  if (envelope->type != nullptr && (envelope->type->destroy != nullptr || envelope->has(kIsBoxed))) {
    envelope->DropValue();
  }
  FreeBlock(envelope, envelope->units);
}

std::string DemangledName(const char* mangled);

template <class M>
const std::string& TypeName() {
  static const std::string* const name = [] {
    if constexpr (WireMessage<M>) {
      return new std::string(M::descriptor()->full_name());
    } else {
      return new std::string(DemangledName(typeid(M).name()));
    }
  }();
  return *name;
}

// While it lives, what this thread moves goes into a message, or with `comes_back`
// out of one that was refused.
class TransferScope {
 public:
  explicit TransferScope(bool comes_back = false) : outer_(state_) {
    state_ = static_cast<uint8_t>(state_ | (comes_back ? kComesBack : kGoes));
  }
  ~TransferScope() { state_ = outer_; }
  TransferScope(const TransferScope&) = delete;
  TransferScope& operator=(const TransferScope&) = delete;
  static bool IsUnderWay() { return state_ == kGoes; }

 private:
  static constexpr uint8_t kGoes = 1;
  static constexpr uint8_t kComesBack = 2;
  static inline constinit thread_local uint8_t state_ __attribute__((tls_model("initial-exec"))) = 0;

  const uint8_t outer_;
};

// Only what cannot be copied may have a Replier in it.
template <class M>
void MoveMessage(void* to, void* from) {
  if constexpr (std::is_copy_constructible_v<M>) {
    new (to) M(std::move(*static_cast<M*>(from)));
  } else {
    const TransferScope mode;
    new (to) M(std::move(*static_cast<M*>(from)));
  }
}

// A small message: plain data of few bytes, which is copied into a tell's block as bytes and needs no end. Its size; 0
// for others, which are moved and destroyed by their type.
template <class M>
constexpr uint8_t SmallBytes() {
  constexpr size_t kSmallMax = 4 * sizeof(uint64_t);
  return std::is_trivially_copyable_v<M> && !IsBoxed(sizeof(M), alignof(M)) && sizeof(M) <= kSmallMax
             ? static_cast<uint8_t>(sizeof(M))
             : 0;
}

template <class M>
constexpr MessageType MakeMessageType() {
  MessageType type{.get_name = &TypeName<M>,
                   .size = sizeof(M),
                   .alignment = alignof(M),
                   .is_wire = WireMessage<M>,
                   .is_boxed = IsBoxed(sizeof(M), alignof(M)),
                   .small_bytes = SmallBytes<M>(),
                   .units = {BlockUnits(sizeof(M), alignof(M), false), BlockUnits(sizeof(M), alignof(M), true)},
                   .moves_safely = std::is_nothrow_move_constructible_v<M>,
                   .move = MoveMessage<M>,
                   .copy = nullptr,
                   .destroy = nullptr,
                   .bytes = [](const void* value) { return BytesOf(*static_cast<const M*>(value)); },
                   .serialize = nullptr,
                   .parse = nullptr};
  if constexpr (std::is_copy_constructible_v<M>) {
    type.copy = [](void* to, const void* from) { new (to) M(*static_cast<const M*>(from)); };
  }
  if constexpr (!std::is_trivially_destructible_v<M>) {
    type.destroy = [](void* value) { static_cast<M*>(value)->~M(); };
  }
  if constexpr (WireMessage<M>) {
    type.serialize = [](const void* value, std::string* out) {
      return static_cast<const M*>(value)->SerializeToString(out);
    };
    type.parse = [](absl::string_view bytes, void* to) {
      M* made = new (to) M;
      if (made->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return true;
      made->~M();
      return false;
    };
  }
  return type;
}

template <class M>
inline constexpr MessageType kMessageType = MakeMessageType<M>();

template <class M>
const MessageType& TypeOf() {
  static_assert(std::is_same_v<M, std::remove_cvref_t<M>>, "a message type is neither a reference nor const");
  static_assert(std::is_move_constructible_v<M>, "a message must be movable: it moves into its mailbox");
  return kMessageType<M>;
}

// The value of what came from another node and has not been parsed yet: its bytes, which lie behind it in its block if
// the block is a pooled one, else in memory of their own.
class WireBytes {
 public:
  // Of bytes that lie directly behind this object.
  explicit WireBytes(size_t size) : data_(reinterpret_cast<const char*>(this + 1)), size_(size) {}
  explicit WireBytes(std::string bytes)
      : own_(std::make_unique<const std::string>(std::move(bytes))), data_(own_->data()), size_(own_->size()) {}
  WireBytes(WireBytes&& other) noexcept
      : own_(other.own_ != nullptr ? std::move(other.own_) : std::make_unique<const std::string>(other.bytes())),
        data_(own_->data()),
        size_(own_->size()) {}
  WireBytes& operator=(WireBytes&&) = delete;

  absl::string_view bytes() const { return {data_, size_}; }

 private:
  std::unique_ptr<const std::string> own_;  // null when they lie behind this object
  const char* data_;
  size_t size_;
};
inline size_t MessageBytes(const WireBytes& value) { return value.bytes().size(); }

// Nothing, a typed value, or the bytes of one that has not been parsed yet; in
// a block of its own.
class Payload {
 public:
  Payload() = default;
  // Takes a block that has a value, or is to get one.
  explicit Payload(Envelope* block) : block_(block) {}
  Payload(Payload&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Payload& operator=(Payload&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Payload() {
    if (block_ != nullptr) Envelope::Delete(block_);
  }

  template <class M>
  static Payload Of(M value) {
    return With(Envelope::Make(EnvelopeKind::kReply, TypeOf<M>(), /*has_call_part=*/false), std::move(value));
  }
  // In a block that may become a message of a mailbox: it has a call part.
  template <class M>
  static Payload ForMailbox(M value) {
    return With(Envelope::Make(EnvelopeKind::kMessage, TypeOf<M>(), /*has_call_part=*/true), std::move(value));
  }
  // In that block, which has room for it and no value.
  template <class M>
  static Payload With(Envelope* block, M value) {
    Payload payload(block);
    new (block->value()) M(std::move(value));
    block->SetMade();
    return payload;
  }
  // They may become a message of a mailbox.
  static Payload OfWireBytes(std::string bytes) { return ForMailbox(WireBytes(std::move(bytes))); }
  // The same of a copy, which needs no memory but the block when the bytes are few.
  static Payload CopyOfWireBytes(absl::string_view bytes);

  bool is_typed() const { return block_ != nullptr && !is_wire_bytes(); }
  bool is_wire_bytes() const { return block_ != nullptr && block_->type == &TypeOf<WireBytes>(); }
  // Null for nothing and for bytes.
  const MessageType* type() const { return is_typed() ? block_->type : nullptr; }
  // Requires a typed payload.
  const void* value() const { return block_->value(); }
  // Requires bytes.
  absl::string_view wire_bytes() const { return static_cast<const WireBytes*>(block_->value())->bytes(); }
  size_t bytes() const;
  // The block, or null for nothing.
  Envelope* block() const { return block_; }
  // The same, whose owner the caller becomes.
  Envelope* Release() { return std::exchange(block_, nullptr); }

  // Makes a typed value of wire bytes. InvalidArgument when they do not parse
  // or `type` does not cross nodes; the payload is then unchanged.
  absl::Status ParseAs(const MessageType& type);

  // Requires a typed payload of exactly that type.
  template <class M>
  M& As() {
    UNDERSTUDY_CHECK(type() == &TypeOf<M>(), "the payload is a ", TypeText(), ", not a ", TypeOf<M>().name());
    return *static_cast<M*>(block_->value());
  }

 private:
  std::string TypeText() const;

  Envelope* block_ = nullptr;
};

// FNV-1a (Fowler, Noll, Vo), 32 bits.
constexpr uint32_t Fnv1a(absl::string_view text, uint32_t hash = 2166136261U) {
  for (const char c : text) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  }
  return hash;
}

// Hash of a mailbox's wire name; channels carry it. The names behind hashes
// are kept in one process-wide table, because streams carry the full name. Any
// thread.
class MailboxNames {
 public:
  // Of one that is declared, or stands in the program. Two such names with one
  // hash CHECK.
  static uint32_t Intern(absl::string_view wire_name);
  // Of one that a sender means; its name may come from data. 0, which is the
  // hash of none, when another name has its hash. At most
  // limits::kMailboxNamesMeantMax of them are kept.
  static uint32_t Meant(absl::string_view wire_name);
  // The name behind `hash`, or empty. Valid for ever.
  static absl::string_view Find(uint32_t hash);
};

// A message that comes from another node, as a transport delivers it.
struct Message {
  Pid from;  // null when a plain thread sent it
  Pid to;
  uint32_t mailbox = 0;  // hash of the wire name
  uint64_t ask = 0;      // the asker's id of this call; 0 for a tell
  // The asker's deadline; the call expires then. Infinite for a tell.
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  Payload payload;
  Admission admission = Admission::kAllowance;
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
