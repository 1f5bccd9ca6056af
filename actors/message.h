// Messages and signals between actors: message types, payloads, mailbox names.
//
// A message type is any movable C++ type. A *wire message* has the members of a
// generated protobuf class that the concept WireMessage names; only wire messages
// cross nodes. This library does not include protobuf: it calls only those
// members.
//
// Threads: payloads, messages and signals are values with one owner at a time.
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
#include "understudy/actors/internal/send/wire_name.h"
#include "understudy/actors/message_bytes.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/actors/trace.h"

namespace understudy {

// The message type of a mailbox for calls, whose senders get a typed reply:
// Mailbox<"balance", Call<BalanceRequest, Balance>>.
template <class RequestT, class ReplyT>
struct Call {
  using Request = RequestT;
  using Reply = ReplyT;
};

// The reply of a call whose answer comes in items of type M (stream.h), and the request of a call whose request does
// (upload.h): Call<WatchRequest, Stream<Price>>, Call<Stream<Chunk>, Receipt>, Call<Stream<Question>, Stream<Answer>>.
template <class M>
class Stream;

namespace internal {

// The message that an upload puts into its mailbox. It says nothing: the items come later, to the handler that takes
// it.
template <class ItemT>
struct UploadCall {};
// If the items may cross nodes, the call may too: as no bytes.
template <WireMessage ItemT>
struct UploadCall<ItemT> {
  static auto descriptor() { return ItemT::descriptor(); }
  static bool SerializeToString(std::string* out) {
    out->clear();
    return true;
  }
  static bool ParseFromArray(const void* /*data*/, int /*size*/) { return true; }
  static size_t ByteSizeLong() { return 0; }
};

template <class M>
struct MessageTraits {
  using Request = M;
  using Reply = void;
  using UploadItem = void;
  static constexpr bool kIsCall = false;
  static constexpr bool kIsStream = false;
  static constexpr bool kIsUpload = false;
};
template <class RequestT, class ReplyT>
struct MessageTraits<Call<RequestT, ReplyT>> : MessageTraits<RequestT> {
  using Reply = ReplyT;
  static constexpr bool kIsCall = true;
};
template <class RequestT, class ItemT>
struct MessageTraits<Call<RequestT, Stream<ItemT>>> : MessageTraits<Call<RequestT, ItemT>> {
  static constexpr bool kIsStream = true;  // Reply is the type of the items
};
template <class ItemT, class ReplyT>
struct MessageTraits<Call<Stream<ItemT>, ReplyT>> : MessageTraits<Call<UploadCall<ItemT>, ReplyT>> {
  using UploadItem = ItemT;
  static constexpr bool kIsUpload = true;
};
template <class ItemT, class ReplyT>
struct MessageTraits<Call<Stream<ItemT>, Stream<ReplyT>>> : MessageTraits<Call<Stream<ItemT>, ReplyT>> {
  static constexpr bool kIsStream = true;
};

// Describes one message type. A program has one MessageType for each type, so
// they are compared by address.
struct MessageType {
  // The protobuf full name of a wire message, and the C++ name of any other type.
  const std::string& name() const { return get_name(); }

  const std::string& (*get_name)();
  size_t size;
  size_t alignment;
  bool is_wire;
  bool is_boxed;                             // too large or over-aligned for a block
  uint8_t small_bytes;                       // SmallBytes<M>()
  uint8_t units[2];                          // size of its block: [0] for a tell, [1] for a call
  bool moves_safely;                         // its move constructor does not throw
  void (*move)(void* to, void* from);        // move-constructs `to`; `from` still has to be destroyed
  void (*copy)(void* to, const void* from);  // null if the type cannot be copied
  void (*destroy)(void* value);              // null if the type is trivially destructible
  size_t (*bytes)(const void* value);        // the size that a mailbox bounded in bytes counts
  // Both are null unless is_wire.
  bool (*serialize)(const void* value, std::string* out);
  bool (*parse)(absl::string_view bytes, void* to);  // constructs `to`; returns false, without a value, if it cannot
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

// While an object of this class lives, this thread moves a value into a message, or,
// with `comes_back`, out of a refused message back to its sender. A Replier in the
// value reads this when it is moved, to know whether an actor still holds it
// (ReplierBase::Moved).
class TransferScope {
 public:
  explicit TransferScope(bool comes_back = false) : outer_(state_) {
    state_ = static_cast<uint8_t>(state_ | (comes_back ? kComesBack : kGoes));
  }
  ~TransferScope() { state_ = outer_; }
  TransferScope(const TransferScope&) = delete;
  TransferScope& operator=(const TransferScope&) = delete;
  // True if this thread moves a value into a message.
  static bool IsUnderWay() { return state_ == kGoes; }

 private:
  static constexpr uint8_t kGoes = 1;
  static constexpr uint8_t kComesBack = 2;
  static inline constinit thread_local uint8_t state_ __attribute__((tls_model("initial-exec"))) = 0;

  const uint8_t outer_;
};

// A copyable type cannot contain a Replier, which is move-only, so moving it needs no
// TransferScope.
template <class M>
void MoveMessage(void* to, void* from) {
  if constexpr (std::is_copy_constructible_v<M>) {
    new (to) M(std::move(*static_cast<M*>(from)));
  } else {
    const TransferScope mode;
    new (to) M(std::move(*static_cast<M*>(from)));
  }
}

// Returns the size of M if M is small: trivially copyable and at most four words. A small value is copied into a tell's
// block as bytes, and is not destroyed. Returns 0 for any other type, whose values are moved and destroyed through
// MessageType.
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

// The serialized value of a message or reply from another node, until it is parsed. The bytes lie directly behind this
// object if both fit into one pooled block; otherwise this object owns them.
class WireBytes {
 public:
  // Refers to `size` bytes that the caller writes directly behind this object.
  explicit WireBytes(size_t size) : data_(reinterpret_cast<const char*>(this + 1)), size_(size) {}
  explicit WireBytes(std::string bytes)
      : own_(std::make_unique<const std::string>(std::move(bytes))), data_(own_->data()), size_(own_->size()) {}
  // Copies bytes that lie behind `other`: there may be no room for them behind the new object.
  WireBytes(WireBytes&& other) noexcept
      : own_(other.own_ != nullptr ? std::move(other.own_) : std::make_unique<const std::string>(other.bytes())),
        data_(own_->data()),
        size_(own_->size()) {}
  WireBytes& operator=(WireBytes&&) = delete;

  absl::string_view bytes() const { return {data_, size_}; }

 private:
  std::unique_ptr<const std::string> own_;  // null if the bytes lie behind this object
  const char* data_;
  size_t size_;
};
inline size_t MessageBytes(const WireBytes& value) { return value.bytes().size(); }

// Owns a block that holds a typed value, or the bytes (WireBytes) of a value that has
// not been parsed yet. A default-constructed payload has no block and no value.
class Payload {
 public:
  Payload() = default;
  // Takes ownership of a block that has a value, or into which the caller constructs one.
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
  // Like Of, in a block that may be put into a mailbox as a message, because it has a call part.
  template <class M>
  static Payload ForMailbox(M value) {
    return With(Envelope::Make(EnvelopeKind::kMessage, TypeOf<M>(), /*has_call_part=*/true), std::move(value));
  }
  // Like ForMailbox. If this thread's code belongs to a trace, so does the message.
  template <class M>
  static Payload ForForward(M value) {
    return With(MakeForForward(TypeOf<M>()), std::move(value));
  }
  // Moves `value` into `block`, which must have no value yet and be large enough. Takes ownership of the block.
  template <class M>
  static Payload With(Envelope* block, M value) {
    Payload payload(block);
    new (block->value()) M(std::move(value));
    block->SetMade();
    return payload;
  }
  // A payload of unparsed bytes, in a block that may be put into a mailbox as a message.
  static Payload OfWireBytes(std::string bytes) { return ForMailbox(WireBytes(std::move(bytes))); }
  // Like OfWireBytes, for a copy of `bytes`. Few bytes are copied into the block itself, which saves an allocation.
  static Payload CopyOfWireBytes(absl::string_view bytes);
  // Like CopyOfWireBytes, for a message of a trace.
  static Payload CopyOfTracedWireBytes(absl::string_view bytes, const TraceContext& trace);

  bool is_typed() const { return block_ != nullptr && !is_wire_bytes(); }
  bool is_wire_bytes() const { return block_ != nullptr && block_->type == &TypeOf<WireBytes>(); }
  // The type of the value. Null if the payload has no value or is unparsed bytes.
  const MessageType* type() const { return is_typed() ? block_->type : nullptr; }
  // Requires is_typed().
  const void* value() const { return block_->value(); }
  // Requires is_wire_bytes(). Valid until the payload is changed or destroyed.
  absl::string_view wire_bytes() const { return static_cast<const WireBytes*>(block_->value())->bytes(); }
  // The size that a mailbox bounded in bytes counts; 0 without a value.
  size_t bytes() const;
  // The block, or null without a value.
  Envelope* block() const { return block_; }
  // Like block(), but passes ownership to the caller.
  Envelope* Release() { return std::exchange(block_, nullptr); }

  // Parses the bytes into a value of `type`; a payload without a value counts as no
  // bytes. Returns OK if the payload already is of `type`. Returns InvalidArgument if it
  // is of another type, the bytes do not parse, or `type` is not a wire message; the
  // payload is then unchanged.
  absl::Status ParseAs(const MessageType& type);

  // Requires a typed payload of exactly that type.
  template <class M>
  M& As() {
    UNDERSTUDY_CHECK(type() == &TypeOf<M>(), "the payload is a ", TypeText(), ", not a ", TypeOf<M>().name());
    return *static_cast<M*>(block_->value());
  }

 private:
  static Envelope* MakeForForward(const MessageType& type);
  std::string TypeText() const;

  Envelope* block_ = nullptr;
};

// A message from another node, as a transport delivers it.
struct Message {
  Pid from;  // null if a plain thread sent it
  Pid to;
  uint32_t mailbox = 0;  // hash of the wire name
  uint64_t ask = 0;      // the asker's id of this call; 0 for a tell
  // The asker's deadline, at which the call expires. Infinite for a tell.
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  Payload payload;
  Admission admission = Admission::kAllowance;
};

}  // namespace internal

// The wire protocol uses the same numbers. Besides `from` and `to`, each kind uses the fields of Signal that its
// comment names.
enum class SignalKind : uint8_t {
  kExit = 1,  // `reason`; `is_link` if it comes along a link
  kKill = 2,
  kLink = 3,
  kUnlink = 4,         // `id`; the receiver acknowledges it with kUnlinkAck
  kUnlinkAck = 5,      // `id`
  kMonitor = 6,        // `id`
  kDemonitor = 7,      // `id`
  kDown = 8,           // `id`, `reason`
  kRequestStop = 9,    // `reason`
  kCancel = 10,        // `id` of the ask that its asker gave up; `status` says why if it has items and its asker ended
  kReply = 11,         // `id` of the ask; `status`, and `payload` if it is OK
  kItem = 12,          // `id` of the ask, which is a stream; `payload`
  kStreamCredit = 13,  // `id` of the ask; `payload` is a StreamCredit
  // The signals of an upload, whose items go in the other direction: `id` is that of an ask which is an upload.
  kUploadItem = 14,  // from the asker; `payload`
  kUploadCredit =
      15,           // from the callee; `payload` is a StreamCredit. The first one says that a handler reads the items
  kUploadEnd = 16,  // from the asker, behind the items; `status`
  kUploadCancel = 17,  // from the callee, which reads no more; `status` says why unless its program wants no more
};

namespace internal {

// The reader of a stream has taken `items` more of its items, so the writer may write as many more (StreamLedger).
struct StreamCredit {
  uint64_t items = 0;
};

}  // namespace internal

// A signal acts on the actor itself, such as an exit or a reply; it does not go to a mailbox.
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

namespace internal {

// Requires a kStreamCredit or kUploadCredit.
inline uint64_t ItemsOfCredit(const Signal& signal) {
  return static_cast<const StreamCredit*>(signal.payload.value())->items;
}

}  // namespace internal

// Returns the name of the kind in logs: "exit", "kill", and so on.
absl::string_view SignalKindName(SignalKind kind);

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_MESSAGE_H_
