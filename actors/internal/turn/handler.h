// MakeHandler: from any callable of the forms that Actor::On (actor.h) allows to a
// MessageHandler. Anything else does not compile, and the error says what is allowed.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_HANDLER_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_HANDLER_H_

#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/message_handler.h"
#include "understudy/actors/internal/turn/own_class.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/stream_writer.h"
#include "understudy/actors/task.h"

namespace understudy::internal {

// The actor class of which F is a member function; void if F is another callable.
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

// The type of F's first parameter. void if F has no parameter, or its call operator is a template or overloaded.
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

// The type as which F is given the message: an rvalue if F's parameter is of the message's own type or may be, being a
// template's. A handler whose parameter is of another type, converted from the message, gets a const reference.
template <class F, class Request>
using HandedAs = std::conditional_t<std::is_void_v<typename FirstParameter<F>::type> ||
                                        std::is_same_v<std::remove_cvref_t<typename FirstParameter<F>::type>, Request>,
                                    Request&&, const Request&>;

// True if calling F leaves the message moved from, because F takes M or M&&.
template <class F, class Request>
inline constexpr bool kMovesMessage =
    !std::is_trivially_copyable_v<Request> && (std::is_same_v<typename FirstParameter<F>::type, Request> ||
                                               std::is_same_v<typename FirstParameter<F>::type, Request&&>);

// The type of F's first argument for a message of M: the message, or the stream of an upload's items.
template <class M, class F>
struct HandedOfMessage {
  using type = HandedAs<F, typename MessageTraits<M>::Request>;
};
template <class M, class F>
  requires MessageTraits<M>::kIsUpload
struct HandedOfMessage<M, F> {
  using type = Stream<typename MessageTraits<M>::UploadItem>;
};
template <class M, class F>
using HandedOf = typename HandedOfMessage<M, F>::type;

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

// A callable, or a member function of an actor.
template <class F>
constexpr bool kCanBeHandler =
    std::is_void_v<typename HandlerClass<F>::type> || kIsActorClass<typename HandlerClass<F>::type>;

template <class F, class... Args>
constexpr bool CanCallHandler() {
  using A = typename HandlerClass<F>::type;
  if constexpr (std::is_void_v<A>) {
    return std::is_invocable_v<F&, Args...>;
  } else if constexpr (!kCanBeHandler<F>) {
    return false;
  } else {
    return std::is_invocable_v<F, A&, Args...>;
  }
}

// The type that CallHandler returns for F and these arguments.
template <class F, class... Args>
using HandlerResult = decltype(CallHandler(std::declval<F&>(), std::declval<Actor&>(), std::declval<Args>()...));

// The type of a call's reply. int, not void, for tells, so that Replier<ReplyOf<…>> is a type for them too.
template <class Traits>
using ReplyOf = std::conditional_t<Traits::kIsCall, typename Traits::Reply, int>;
// The type of the second argument of a call's handler. If a stream answers the call, the handler must take the
// argument; otherwise the handler may leave it out.
template <class Traits>
using AnswererOf = std::conditional_t<Traits::kIsStream, StreamWriter<ReplyOf<Traits>>, Replier<ReplyOf<Traits>>>;

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

// How a handler F is called for messages of M, and what it returns, without the Task around it.
enum class HandlerForm { kNone, kMessage, kMessageAndReplier, kNothing };
template <class M, class F>
constexpr HandlerForm FormOf() {
  using Traits = MessageTraits<M>;
  using Handed = HandedOf<M, F>;
  if constexpr (!Traits::kIsStream && CanCallHandler<F, Handed>()) {
    return HandlerForm::kMessage;
  } else if constexpr (Traits::kIsCall) {
    return CanCallHandler<F, Handed, AnswererOf<Traits>>() ? HandlerForm::kMessageAndReplier : HandlerForm::kNone;
  } else {
    return CanCallHandler<F>() ? HandlerForm::kNothing : HandlerForm::kNone;
  }
}
template <class M, class F, HandlerForm kForm = FormOf<M, F>()>
struct HandlerReturns {
  using type = void;
};
template <class M, class F>
struct HandlerReturns<M, F, HandlerForm::kMessage> {
  using type = HandlerResult<F, HandedOf<M, F>>;
};
template <class M, class F>
struct HandlerReturns<M, F, HandlerForm::kMessageAndReplier> {
  using type = HandlerResult<F, HandedOf<M, F>, AnswererOf<MessageTraits<M>>>;
};
template <class M, class F>
struct HandlerReturns<M, F, HandlerForm::kNothing> {
  using type = HandlerResult<F>;
};

// Does not compile unless F is a handler for M, and says why.
template <class M, class F>
struct HandlerCheck {
  using Traits = MessageTraits<M>;
  static constexpr HandlerForm kForm = FormOf<M, F>();
  using Returned = typename HandlerReturns<M, F>::type;
  using Result = typename TaskResult<Returned>::type;
  static constexpr bool kAnswers = Traits::kIsCall && kForm == HandlerForm::kMessage;
  static constexpr bool kTakesGood = kForm != HandlerForm::kNone;
  static constexpr bool kReturnsGood =
      !kTakesGood || (kAnswers ? kCallResult<Result, ReplyOf<Traits>> : kTellResult<Result>);
  static_assert(kCanBeHandler<F>,
                "a handler is a member function of a class derived from Actor, or a callable such as a lambda");
  static_assert(kTakesGood || Traits::kIsCall || !kCanBeHandler<F>,
                "a handler takes the mailbox's message (const M& or M), or nothing");
  static constexpr bool kTakesBad = !kTakesGood && kCanBeHandler<F>;
  static_assert(!kTakesBad || !Traits::kIsStream || Traits::kIsUpload,
                "a stream's handler takes the mailbox's request (const M& or M), and a StreamWriter<Item>");
  static_assert(!kTakesBad || !Traits::kIsUpload || Traits::kIsStream,
                "an upload's handler takes a Stream<Item>, and perhaps a Replier<Reply>");
  static_assert(
      !kTakesBad || !Traits::kIsUpload || !Traits::kIsStream,
      "the handler of an upload whose answer is a stream takes a Stream<Item>, and a StreamWriter<ReplyItem>");
  static_assert(!kTakesBad || !Traits::kIsCall || Traits::kIsStream || Traits::kIsUpload,
                "a call's handler takes the mailbox's request (const M& or M), and perhaps a Replier<Reply>");
  static_assert(kReturnsGood || !kAnswers,
                "a call's handler returns Reply, StatusOr<Reply>, or a Task of one of these");
  static_assert(kReturnsGood || Traits::kIsCall,
                "a tell's handler returns void, Status, Behavior, StatusOr<Behavior>, or a Task of one of these");
  static_assert(kReturnsGood || kAnswers || !Traits::kIsCall,
                "a handler with a Replier or StreamWriter returns void or Status, or a Task of one of these");
};

template <class M, class F>
class TypedHandler {
 public:
  using Traits = MessageTraits<M>;
  using Request = typename Traits::Request;
  using Handed = HandedOf<M, F>;
  using Check = HandlerCheck<M, F>;
  static constexpr bool kAwaits = IsTask<typename Check::Returned>::value;

  explicit TypedHandler(F handler) : handler_(std::move(handler)) {}

  void Run(Actor& self, Activation& activation) {
    [[maybe_unused]] Request& request = activation.As<Request>();
    if constexpr (kMovesMessage<F, Request>) activation.SetMoved();
    const auto handed = [&]() -> Handed {
      if constexpr (Traits::kIsUpload) {
        return Handed(activation);
      } else {
        return static_cast<Handed>(request);
      }
    };
    using R = typename Check::Returned;
    if constexpr (!Check::kReturnsGood || !Check::kTakesGood) {
      // HandlerCheck has reported the error.
    } else if constexpr (Check::kForm == HandlerForm::kMessage) {
      RunAndFinish<Traits::kIsCall>(activation, [&]() -> R { return CallHandler(handler_, self, handed()); });
    } else if constexpr (Check::kForm == HandlerForm::kMessageAndReplier) {
      RunAndFinish<false>(activation,
                          [&]() -> R { return CallHandler(handler_, self, handed(), AnswererOf<Traits>(activation)); });
    } else {
      RunAndFinish<false>(activation, [&]() -> R { return CallHandler(handler_, self); });
    }
    if constexpr (!kAwaits && !std::is_trivially_destructible_v<Request>) activation.DropMessage();
  }

 private:
  F handler_;
};

// `auto`, as all between this and the line that gives a handler: compilers look at such functions where they are
// called, and so lead from the error to that line.
template <class M, class F>
auto MakeHandler(F handler) {
  static_assert(alignof(HandlerCheck<M, F>) > 0);
  return MessageHandler::Of(TypedHandler<M, F>(std::move(handler)));
}
// A handler with several holders, such as events, timers and signals. If the last holder is kernel code, the callable
// is destroyed later, as user code.
class SharedHandler final : public MessageHandler {
 public:
  explicit SharedHandler(MessageHandler handler) : MessageHandler(std::move(handler)) {}
  SharedHandler(const SharedHandler&) = delete;
  SharedHandler& operator=(const SharedHandler&) = delete;
  ~SharedHandler() { DestroyLater(std::move(*this)); }

 private:
  static void DestroyLater(MessageHandler&& handler);
};

template <class M, class F>
auto MakeSharedHandler(F handler) {
  return std::shared_ptr<MessageHandler>(std::make_shared<SharedHandler>(MakeHandler<M>(std::move(handler))));
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_HANDLER_H_
