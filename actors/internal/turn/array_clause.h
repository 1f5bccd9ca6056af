// The clauses of a MailboxArray: one for each of its mailboxes, written as one.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ARRAY_CLAUSE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ARRAY_CLAUSE_H_

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/handler.h"
#include "understudy/actors/replier.h"

namespace understudy::internal {

// Binds the element (the place or the label of the message's mailbox in its array) to a handler, as one callable. It
// refers to the element, which must therefore outlive the handler's coroutine, if it is one.
template <class F, class Element>
class BoundToElement {
 public:
  BoundToElement(F& handler, Actor& self, const Element& element) : handler_(handler), self_(self), element_(element) {}

  template <class... Args>
    requires(CanCallHandler<F, Args..., const Element&>())
  decltype(auto) operator()(Args&&... args) const {
    return CallHandler(handler_, self_, std::forward<Args>(args)..., element_);
  }

 private:
  F& handler_;
  Actor& self_;
  const Element& element_;
};

template <class F, class Element>
struct FirstParameter<BoundToElement<F, Element>> : FirstParameter<F> {};

// True if F can be called with the message, perhaps a Replier or StreamWriter, and then an Element.
template <class M, class F, class Element>
constexpr bool TakesElement() {
  using Traits = MessageTraits<M>;
  if constexpr (CanCallHandler<F, HandedOf<M, F>, const Element&>()) {
    return true;
  } else if constexpr (Traits::kIsCall) {
    return CanCallHandler<F, HandedOf<M, F>, AnswererOf<Traits>, const Element&>();
  } else {
    return false;
  }
}

// True if F, which TakesElement, is a coroutine.
template <class M, class F, class Element>
constexpr bool AwaitsWithElement() {
  using Traits = MessageTraits<M>;
  if constexpr (CanCallHandler<F, HandedOf<M, F>, const Element&>()) {
    return IsTask<HandlerResult<F, HandedOf<M, F>, const Element&>>::value;
  } else {
    return IsTask<HandlerResult<F, HandedOf<M, F>, AnswererOf<Traits>, const Element&>>::value;
  }
}

// A handler that gets the place or the label of the message's mailbox as its last argument.
template <class M, class F>
class ElementHandler {
 public:
  static constexpr bool kAwaits =
      AwaitsWithElement<M, F, std::conditional_t<TakesElement<M, F, size_t>(), size_t, absl::string_view>>();

  ElementHandler(F handler, size_t place, std::string label)
      : handler_(std::move(handler)), place_(place), label_(std::move(label)) {}
  ElementHandler(ElementHandler&& other) noexcept
      : ElementHandler(std::move(other.handler_), other.place_, std::move(other.label_)) {}

  void Run(Actor& self, Activation& activation) {
    if constexpr (TakesElement<M, F, size_t>()) {
      RunBound<size_t>(self, activation, place_);
    } else {
      RunBound<absl::string_view>(self, activation, label_view_);
    }
  }

 private:
  // `bound` may be destroyed while the handler's coroutine still runs: it only refers to the element and the lambda
  // with its captures, which are members of this ElementHandler.
  template <class Element>
  void RunBound(Actor& self, Activation& activation, const Element& element) {
    TypedHandler<M, BoundToElement<F, Element>> bound({handler_, self, element});
    bound.Run(self, activation);
  }

  F handler_;
  const size_t place_;
  std::string label_;
  const absl::string_view label_view_ = label_;
};

template <class M, class F>
auto MakeElementHandler(F handler, size_t place, const std::string& label) {
  if constexpr (TakesElement<M, F, size_t>() || TakesElement<M, F, absl::string_view>()) {
    return MessageHandler::Of(ElementHandler<M, F>(std::move(handler), place, label));
  } else {
    return MakeHandler<M>(std::move(handler));
  }
}

}  // namespace understudy::internal

namespace understudy {

// The result of On, Refuse and Drop for a MailboxArray. It has MailboxClause's options, and applies each to the clauses
// of all its mailboxes.
template <class Request>
class ArrayClause {
 public:
  explicit ArrayClause(std::vector<MailboxClause<Request>> clauses) : clauses_(std::move(clauses)) {}

  // One guard for all mailboxes: a const member function, or a captureless callable that takes `const Self&`.
  template <class A>
  ArrayClause When(bool (A::*guard)() const) && {
    return std::move(*this).Each([&](MailboxClause<Request>& clause) { clause = std::move(clause).When(guard); });
  }
  template <class F>
  ArrayClause When(F guard) && {
    return std::move(*this).Each([&](MailboxClause<Request>& clause) { clause = std::move(clause).When(guard); });
  }
  template <class A>
  ArrayClause When(bool (A::*guard)() const noexcept) && {
    return std::move(*this).When(static_cast<bool (A::*)() const>(guard));
  }
  // One guard for each mailbox: a const member function that takes the mailbox's place.
  template <class A>
  ArrayClause When(bool (A::*guard)(size_t place) const) && {
    size_t place = 0;
    return std::move(*this).Each(
        [&](MailboxClause<Request>& clause) { clause = std::move(clause).WhenElement(guard, place++); });
  }
  template <class A>
  ArrayClause When(bool (A::*guard)(size_t place) const noexcept) && {
    return std::move(*this).When(static_cast<bool (A::*)(size_t) const>(guard));
  }
  template <class F>
    requires std::is_invocable_r_v<bool, F, const Request&>
  ArrayClause If(F predicate) && {
    return std::move(*this).Each([&](MailboxClause<Request>& clause) { clause = std::move(clause).If(predicate); });
  }
  ArrayClause Rank(int rank) && {
    return std::move(*this).Each([&](MailboxClause<Request>& clause) { clause = std::move(clause).Rank(rank); });
  }
  // Gives each mailbox its place as its rank, so later mailboxes are handled first.
  ArrayClause RankByPlace() && {
    int place = 0;
    return std::move(*this).Each([&](MailboxClause<Request>& clause) { clause = std::move(clause).Rank(place++); });
  }
  ArrayClause Quota(int messages) && {
    return std::move(*this).Each([&](MailboxClause<Request>& clause) { clause = std::move(clause).Quota(messages); });
  }
  ArrayClause Interleaved() && {
    return std::move(*this).Each([&](MailboxClause<Request>& clause) { clause = std::move(clause).Interleaved(); });
  }

  std::vector<internal::ClauseDraft> TakeEntry() && {
    std::vector<internal::ClauseDraft> entries;
    entries.reserve(clauses_.size());
    for (MailboxClause<Request>& clause : clauses_) entries.push_back(std::move(clause).TakeEntry());
    return entries;
  }

 private:
  template <class Change>
  ArrayClause Each(Change change) && {
    for (MailboxClause<Request>& clause : clauses_) change(clause);
    return std::move(*this);
  }

  std::vector<MailboxClause<Request>> clauses_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ARRAY_CLAUSE_H_
