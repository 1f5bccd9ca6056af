// From any callable of the allowed forms to a MessageHandler.
//
// A tell's handler takes `const M&`, M (or M&&) or nothing, and returns void, Status,
// Behavior, StatusOr<Behavior>, or a Task of one of these. A call's takes
// `const M&` or M and returns Reply, StatusOr<Reply>, or a Task of one; or it
// takes a Replier<Reply> second and returns what a tell's does. Anything else
// does not compile, and says so.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_HANDLER_H_
#define UNDERSTUDY_ACTORS_INTERNAL_HANDLER_H_

#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/internal/activation.h"
#include "understudy/actors/internal/message_handler.h"
#include "understudy/actors/internal/own_class.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/task.h"

namespace understudy::internal {

// A member function of some actor class, or a callable.
template <class F>
struct HandlerClass {
  using type = void;
};
template <class A, class R, class... Args>
struct HandlerClass<R (A::*)(Args...)> {
  using type = A;
};
template <class A, class R, class... Args>
struct HandlerClass<R (A::*)(Args...) const> {
  using type = A;
};
template <class A, class R, class... Args>
struct HandlerClass<R (A::*)(Args...) noexcept> {
  using type = A;
};
template <class A, class R, class... Args>
struct HandlerClass<R (A::*)(Args...) const noexcept> {
  using type = A;
};

// The type of its first parameter; void when it has none, or when that is a
// template's.
template <class F>
struct FirstParameter {
  using type = void;
};
template <class R, class First, class... Rest>
struct FirstParameter<R (*)(First, Rest...)> {
  using type = First;
};
template <class A, class R, class First, class... Rest>
struct FirstParameter<R (A::*)(First, Rest...)> {
  using type = First;
};
template <class A, class R, class First, class... Rest>
struct FirstParameter<R (A::*)(First, Rest...) const> {
  using type = First;
};
template <class A, class R, class First, class... Rest>
struct FirstParameter<R (A::*)(First, Rest...) noexcept> {
  using type = First;
};
template <class A, class R, class First, class... Rest>
struct FirstParameter<R (A::*)(First, Rest...) const noexcept> {
  using type = First;
};
template <class F>
  requires requires { &F::operator(); }
struct FirstParameter<F> {
  using type = typename FirstParameter<decltype(&F::operator())>::type;
};

// As what it is given the message: to be moved from if it takes just that, or may, being a template. What takes
// something else, made from the message, leaves it as it is.
template <class F, class Request>
using HandedAs = std::conditional_t<std::is_void_v<typename FirstParameter<F>::type> ||
                                        std::is_same_v<std::remove_cvref_t<typename FirstParameter<F>::type>, Request>,
                                    Request&&, const Request&>;

// Calling it leaves the message moved from: it takes M, or M&&.
template <class F, class Request>
inline constexpr bool kMovesMessage =
    !std::is_trivially_copyable_v<Request> && (std::is_same_v<typename FirstParameter<F>::type, Request> ||
                                               std::is_same_v<typename FirstParameter<F>::type, Request&&>);

// Calls `handler` on `self` with `args`.
template <class F, class... Args>
decltype(auto) CallHandler(F& handler, Actor& self, Args&&... args) {
  using A = typename HandlerClass<F>::type;
  if constexpr (std::is_void_v<A>) {
    return handler(std::forward<Args>(args)...);
  } else {
    return (AsOwnClass<A>(self).*handler)(std::forward<Args>(args)...);
  }
}

template <class F, class... Args>
constexpr bool CanCallHandler() {
  using A = typename HandlerClass<F>::type;
  if constexpr (std::is_void_v<A>) {
    return std::is_invocable_v<F&, Args...>;
  } else {
    return std::is_invocable_v<F, A&, Args...>;
  }
}

// What CallHandler returns.
template <class F, class... Args>
using HandlerResult = decltype(CallHandler(std::declval<F&>(), std::declval<Actor&>(), std::declval<Args>()...));

// Not void, so that Replier of it is a type.
template <class Traits>
using ReplyOf = std::conditional_t<Traits::kIsCall, typename Traits::Reply, int>;

template <class T>
struct TaskResult {
  using type = T;
};
template <class T>
struct TaskResult<Task<T>> {
  using type = T;
};

template <class R>
constexpr bool kTellResult = std::is_void_v<R> || std::is_same_v<R, absl::Status> || std::is_same_v<R, Behavior> ||
                             std::is_same_v<R, absl::StatusOr<Behavior>> || std::is_same_v<R, Failure>;

template <class R, class Reply>
constexpr bool kCallResult = std::is_same_v<R, Reply> || std::is_same_v<R, absl::StatusOr<Reply>>;

inline void FinishTell(Activation& activation, const absl::Status& status) { activation.FinishTell(status); }
inline void FinishTell(Activation& activation, const Failure& failed) { activation.FinishTell(failed.status()); }
inline void FinishTell(Activation& activation, const Behavior& next) { activation.FinishTell(next.table()); }
inline void FinishTell(Activation& activation, const absl::StatusOr<Behavior>& next) {
  if (next.ok()) {
    activation.FinishTell(next->table());
  } else {
    activation.FinishTell(next.status());
  }
}

template <class Reply>
void FinishCall(Activation& activation, Reply reply) {
  activation.AnswerValue<Reply>(std::move(reply));
}
template <class Reply>
void FinishCall(Activation& activation, absl::StatusOr<Reply> reply) {
  if (reply.ok()) {
    activation.AnswerValue<Reply>(*std::move(reply));
  } else {
    activation.AnswerStatus(reply.status());
  }
}

// GCC 12 warns of this template's frame when T lies in an anonymous namespace,
// as types in tests do; the frame is then local too, and that is sound.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
template <bool kAnswers, class T>
RootTask DriveTask(Activation& activation, Task<T> task) {
  if constexpr (std::is_void_v<T>) {
    co_await task;
  } else if constexpr (kAnswers) {
    T result = co_await task;
    FinishCall(activation, std::move(result));
  } else {
    T result = co_await task;
    FinishTell(activation, std::move(result));
  }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

// Runs `call`, a handler bound to its arguments, and finishes the activation
// with what it returns.
template <bool kAnswers, class Fn>
void RunAndFinish(Activation& activation, Fn call) {
  using R = decltype(call());
  if constexpr (IsTask<R>::value) {
    activation.SetRoot(DriveTask<kAnswers>(activation, call()));
  } else if constexpr (std::is_void_v<R>) {
    call();
  } else if constexpr (kAnswers) {
    FinishCall(activation, call());
  } else {
    FinishTell(activation, call());
  }
}

template <class M, class F>
class TypedHandler {
 public:
  using Traits = MessageTraits<M>;
  using Request = typename Traits::Request;
  using Reply = typename Traits::Reply;
  using Handed = HandedAs<F, Request>;

  explicit TypedHandler(F handler) : handler_(std::move(handler)) {}

  void Run(Actor& self, Activation& activation) {
    Request& request = activation.As<Request>();
    if constexpr (kMovesMessage<F, Request>) activation.SetMoved();
    if constexpr (CanCallHandler<F, Handed>()) {
      using R = decltype(CallHandler(handler_, self, static_cast<Handed>(request)));
      using Result = typename TaskResult<R>::type;
      if constexpr (Traits::kIsCall) {
        static_assert(kCallResult<Result, Reply>,
                      "a call's handler returns Reply, StatusOr<Reply>, or a Task of one of these");
      } else {
        static_assert(kTellResult<Result>,
                      "a tell's handler returns void, Status, Behavior, StatusOr<Behavior>, or a Task of one of these");
      }
      RunAndFinish<Traits::kIsCall>(activation,
                                    [&]() -> R { return CallHandler(handler_, self, static_cast<Handed>(request)); });
    } else if constexpr (Traits::kIsCall) {
      static_assert(CanCallHandler<F, Handed, Replier<Reply>>(),
                    "a call's handler takes the mailbox's request (const M& or M), and perhaps a Replier<Reply>");
      using R = decltype(CallHandler(handler_, self, static_cast<Handed>(request), Replier<Reply>(activation)));
      static_assert(kTellResult<typename TaskResult<R>::type>,
                    "a handler with a Replier returns void or Status, or a Task of one of these");
      RunAndFinish<false>(activation, [&]() -> R {
        return CallHandler(handler_, self, static_cast<Handed>(request), Replier<Reply>(activation));
      });
    } else {
      static_assert(CanCallHandler<F>(), "a handler takes the mailbox's message (const M& or M), or nothing");
      using R = decltype(CallHandler(handler_, self));
      static_assert(kTellResult<typename TaskResult<R>::type>,
                    "a tell's handler returns void, Status, Behavior, StatusOr<Behavior>, or a Task of one of these");
      RunAndFinish<false>(activation, [&]() -> R { return CallHandler(handler_, self); });
    }
    if constexpr (!kAwaits && !std::is_trivially_destructible_v<Request>) activation.DropMessage();
  }

 private:
  static constexpr bool Awaits() {
    if constexpr (CanCallHandler<F, Handed>()) {
      return IsTask<HandlerResult<F, Handed>>::value;
    } else if constexpr (Traits::kIsCall && CanCallHandler<F, Handed, Replier<ReplyOf<Traits>>>()) {
      return IsTask<HandlerResult<F, Handed, Replier<ReplyOf<Traits>>>>::value;
    } else if constexpr (CanCallHandler<F>()) {
      return IsTask<HandlerResult<F>>::value;
    } else {
      return false;  // does not compile anyway: Run says why
    }
  }
  F handler_;

 public:
  static constexpr bool kAwaits = Awaits();
};

template <class M, class F>
MessageHandler MakeHandler(F handler) {
  return MessageHandler::Of(TypedHandler<M, F>(std::move(handler)));
}
// For what several may hold: events, timers, signals. The last of them may be
// kernel code.
class SharedHandler final : public MessageHandler {
 public:
  explicit SharedHandler(MessageHandler handler) : MessageHandler(std::move(handler)) {}
  SharedHandler(const SharedHandler&) = delete;
  SharedHandler& operator=(const SharedHandler&) = delete;
  ~SharedHandler() { LetGo(std::move(*this)); }

 private:
  static void LetGo(MessageHandler&& handler);
};

template <class M, class F>
std::shared_ptr<MessageHandler> MakeSharedHandler(F handler) {
  return std::make_shared<SharedHandler>(MakeHandler<M>(std::move(handler)));
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_HANDLER_H_
