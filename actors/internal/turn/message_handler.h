// MessageHandler: a type-erased handler of one kind of message or event, in 24 bytes: a pointer to its type's
// operations, and the callable itself if it is no larger than a pointer to a member, else a pointer to it.
//
// handler.h wraps a callable in a Body:
//
//   struct Body {
//     static constexpr bool kAwaits = …;           // it is a coroutine
//     void Run(Actor& self, Activation& activation);
//   };
//
// Move-only. Owner's turn only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_MESSAGE_HANDLER_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_MESSAGE_HANDLER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"

namespace understudy {

class Actor;

namespace internal {

class Activation;

class MessageHandler {
 public:
  enum class Form : uint8_t {
    kRuns,
    kAwaits,   // a coroutine: it may still run when Run has returned
    kRefuses,  // nothing runs: calls are answered with refusal()
    kDrops,    // nothing runs
  };

  template <class Body>
  static MessageHandler Of(Body body) {
    MessageHandler made(kKindOf<Body>);
    made.Put(std::move(body));
    return made;
  }
  static MessageHandler Refusing(absl::Status status) {
    MessageHandler made(kRefusal);
    made.Put(std::move(status));
    return made;
  }
  static MessageHandler Dropping() { return MessageHandler(kNothing); }

  MessageHandler(MessageHandler&& other) noexcept : kind_(other.kind_), held_(other.held_) { TakeFrom(other); }
  MessageHandler& operator=(MessageHandler&& other) noexcept {
    if (this != &other) {
      Destroy();
      kind_ = other.kind_;
      held_ = other.held_;
      TakeFrom(other);
    }
    return *this;
  }
  ~MessageHandler() { Destroy(); }

  Form form() const { return kind_->form; }
  bool awaits() const { return kind_->form == Form::kAwaits; }
  // Runs the handler on `self`, or, if it is a coroutine, makes it the activation's root task. Requires that form() is
  // kRuns or kAwaits.
  void Run(Actor& self, Activation& activation) { kind_->run(held_.data(), self, activation); }
  // The status with which calls are answered. Requires form() == kRefuses.
  const absl::Status& refusal() const { return Held<absl::Status>(const_cast<unsigned char*>(held_.data())); }

 private:
  static constexpr size_t kInsideBytes = 2 * sizeof(void*);
  template <class T>
  static constexpr bool kIsInside =
      sizeof(T) <= kInsideBytes && alignof(T) <= alignof(void*) && std::is_nothrow_move_constructible_v<T>;

  // The operations of one type of callable. There is one Kind for each type.
  struct Kind {
    Form form;
    void (*run)(unsigned char* held, Actor& self, Activation& activation);  // null: nothing runs
    void (*move)(unsigned char* to, unsigned char* from);                   // null: its bytes are copied
    void (*destroy)(unsigned char* held);                                   // null: nothing to do
  };

  explicit MessageHandler(const Kind& kind) : kind_(&kind) {}

  template <class T>
  static T& Held(unsigned char* held) {
    if constexpr (kIsInside<T>) {
      return *std::launder(reinterpret_cast<T*>(held));
    } else {
      return **std::launder(reinterpret_cast<T**>(held));
    }
  }
  template <class T>
  void Put(T value) {
    if constexpr (kIsInside<T>) {
      new (held_.data()) T(std::move(value));
    } else {
      new (held_.data()) T*(std::make_unique<T>(std::move(value)).release());
    }
  }
  template <class T>
  static constexpr Kind MakeKind(Form form) {
    Kind kind{.form = form, .run = nullptr, .move = nullptr, .destroy = nullptr};
    if constexpr (!kIsInside<T>) {
      kind.destroy = [](unsigned char* held) { delete &Held<T>(held); };
    } else if constexpr (!std::is_trivially_copyable_v<T>) {
      kind.move = [](unsigned char* to, unsigned char* from) {
        new (to) T(std::move(Held<T>(from)));
        Held<T>(from).~T();
      };
      kind.destroy = [](unsigned char* held) { Held<T>(held).~T(); };
    }
    return kind;
  }
  template <class Body>
  static constexpr Kind MakeKindOfBody() {
    Kind kind = MakeKind<Body>(Body::kAwaits ? Form::kAwaits : Form::kRuns);
    kind.run = [](unsigned char* held, Actor& self, Activation& activation) { Held<Body>(held).Run(self, activation); };
    return kind;
  }
  template <class Body>
  static constexpr Kind kKindOf = MakeKindOfBody<Body>();
  static const Kind kNothing;
  static const Kind kRefusal;

  // Moves the callable of `other` here. `other` becomes a handler of the form kDrops.
  void TakeFrom(MessageHandler& other) {
    if (kind_->move != nullptr) kind_->move(held_.data(), other.held_.data());
    other.kind_ = &kNothing;
  }
  void Destroy() {
    if (kind_->destroy != nullptr) kind_->destroy(held_.data());
  }

  const Kind* kind_;
  alignas(void*) std::array<unsigned char, kInsideBytes> held_{};
};
static_assert(sizeof(MessageHandler) == 24);

inline constexpr MessageHandler::Kind MessageHandler::kNothing = {
    .form = Form::kDrops, .run = nullptr, .move = nullptr, .destroy = nullptr};
inline constexpr MessageHandler::Kind MessageHandler::kRefusal = MakeKind<absl::Status>(Form::kRefuses);

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_MESSAGE_HANDLER_H_
