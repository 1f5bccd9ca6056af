// All, Any, FirstOk, Quorum: await several answers at once. AskAll: asks several
// actors the same.
//
//   auto asked = AskAll(replicas, Read(key), absl::Seconds(1));   // a Pending for each
//   auto first = FirstOk(asked);
//   absl::StatusOr<Row> row = co_await first;                     // a second statement, always
//
// | All(a, b, …)     | a tuple of all answers                                         |
// | All(vector)      | a vector of the answers, in the order of the pendings          |
// | Any(vector)      | index and answer of the first that is answered; the others stay |
// |                  | pending, and may be awaited or cancelled                       |
// | FirstOk(v)     | the first OK answer; the others are cancelled                  |
// | Quorum(n, v)     | the first n OK answers, in the order of answering; the others  |
// |                  | are cancelled                                                  |
//
// FirstOk and Quorum give an error as soon as they can no longer succeed. The error
// lists the failures; its code is theirs if all failed with the same code, else
// Unavailable. Without pendings, All gives an empty result at once, and Any, FirstOk
// and Quorum give InvalidArgument.
//
// Each pending may be awaited once, alone or in one group (CHECKed), and its entry in
// the asker's table is freed in every case (pending.h). Any takes only the answer that
// it gives; the other groups take or cancel all of their pendings.
// Owner's turn only. Lifetime: keep the group in a variable; it does not move.
#ifndef UNDERSTUDY_ACTORS_PENDING_GROUP_H_
#define UNDERSTUDY_ACTORS_PENDING_GROUP_H_

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pending.h"

namespace understudy {
namespace internal {

// Counts the answers that are there already. Returns true if the group need not wait for
// more. CHECKs that the group is awaited for the first time.
bool BeginGroup(absl::Span<const PendingId> pendings, GroupWait& wait);
void AwaitGroup(absl::Span<const PendingId> pendings, GroupWait& wait, std::coroutine_handle<> waiter);
// Ends the wait of a group for `pending`, whose answer stays in the table.
void StopWaiting(PendingId pending);
// The position in the order in which the actor's asks were answered, from 1. Returns 0
// if there is no answer yet or no entry.
uint64_t AnsweredAs(PendingId pending);
Pid CalleeOf(PendingId pending);
// The index of the pending that was answered first; one whose entry is gone precedes all
// others. Requires a pending for which IsAnswered is true.
size_t FirstAnswered(absl::Span<const PendingId> pendings);
// Returns all indices: first the answered pendings in the order of their answers, then the rest.
std::vector<size_t> ByAnswer(absl::Span<const PendingId> pendings);
// Cancels the asks and frees their entries.
void GiveUp(absl::Span<const PendingId> pendings);

// Collects the failures in a group, for the status of a group that failed.
class GroupFailures {
 public:
  void Add(size_t index, Pid callee, const absl::Status& why);
  absl::Status Status(size_t good, size_t needed, size_t asked) const;

 private:
  std::vector<absl::StatusCode> codes_;
  std::string text_;
};

// The base of all groups. `Ids` is a container of PendingId.
template <class Ids>
class PendingGroup {
 public:
  using UnderstudyAwaitable = void;
  PendingGroup(const PendingGroup&) = delete;
  PendingGroup& operator=(const PendingGroup&) = delete;
  ~PendingGroup() {
    if (is_waiting_) StopAll();
  }

 protected:
  // The wait is over when there are `answers` answers, or `good` that are OK, or `bad` that are not.
  PendingGroup(Ids ids, size_t answers, size_t good, size_t bad) : ids_(std::move(ids)) {
    wait_.answers_left = std::min(answers, ids_.size());
    wait_.good_left = good;
    wait_.bad_left = bad;
  }

  template <class Group>
  class Awaiter {
   public:
    explicit Awaiter(Group& group) : group_(group) {}
    bool await_ready() { return BeginGroup(group_.ids_, group_.wait_); }
    void await_suspend(std::coroutine_handle<> waiter) {
      group_.is_waiting_ = true;
      AwaitGroup(group_.ids_, group_.wait_, waiter);
    }
    auto await_resume() {
      if (group_.is_waiting_) group_.StopAll();
      return group_.Take();
    }

   private:
    Group& group_;
  };

  Ids ids_;

 private:
  void StopAll() {
    is_waiting_ = false;
    for (const PendingId& id : ids_) StopWaiting(id);
  }

  GroupWait wait_;
  bool is_waiting_ = false;
};

template <class R>
std::vector<PendingId> IdsOf(const std::vector<Pending<R>>& pendings) {
  std::vector<PendingId> ids;
  ids.reserve(pendings.size());
  for (const Pending<R>& pending : pendings) ids.push_back(pending.id());
  return ids;
}

// A count of good or bad answers that does not end a group's wait.
inline constexpr size_t kNeverReached = SIZE_MAX;

}  // namespace internal

template <class... R>
class [[nodiscard]] AllOf : public internal::PendingGroup<std::array<internal::PendingId, sizeof...(R)>> {
 public:
  using Answers = std::tuple<typename internal::AnswerOf<R>::type...>;
  explicit AllOf(Pending<R>... pendings)
      : Base({pendings.id()...}, sizeof...(R), internal::kNeverReached, internal::kNeverReached) {}

  auto operator co_await() & { return typename Base::template Awaiter<AllOf>(*this); }

 private:
  using Base = internal::PendingGroup<std::array<internal::PendingId, sizeof...(R)>>;
  friend Base;
  Answers Take() { return TakeEach(std::index_sequence_for<R...>()); }
  template <size_t... kPlaces>
  Answers TakeEach(std::index_sequence<kPlaces...> /*places*/) {
    return Answers{internal::ToAnswer<R>(internal::TakeAnswer(this->ids_[kPlaces]))...};
  }
};

template <class R>
class [[nodiscard]] AllOfMany : public internal::PendingGroup<std::vector<internal::PendingId>> {
 public:
  using Answers = std::vector<typename internal::AnswerOf<R>::type>;
  explicit AllOfMany(const std::vector<Pending<R>>& pendings)
      : PendingGroup(internal::IdsOf(pendings), pendings.size(), internal::kNeverReached, internal::kNeverReached) {}

  auto operator co_await() & { return Awaiter<AllOfMany>(*this); }

 private:
  friend PendingGroup;
  Answers Take() {
    Answers answers;
    answers.reserve(ids_.size());
    for (const internal::PendingId& id : ids_) answers.push_back(internal::ToAnswer<R>(internal::TakeAnswer(id)));
    return answers;
  }
};

// The result of Any: the first answer, and the index of its pending.
template <class R>
struct AnyAnswer {
  size_t index = 0;
  typename internal::AnswerOf<R>::type answer;
};

template <class R>
class [[nodiscard]] AnyOf : public internal::PendingGroup<std::vector<internal::PendingId>> {
 public:
  explicit AnyOf(const std::vector<Pending<R>>& pendings)
      : PendingGroup(internal::IdsOf(pendings), 1, internal::kNeverReached, internal::kNeverReached) {}

  auto operator co_await() & { return Awaiter<AnyOf>(*this); }

 private:
  friend PendingGroup;
  AnyAnswer<R> Take() {
    if (ids_.empty()) {
      return {.answer = absl::InvalidArgumentError("Any of an empty list: expected at least one Pending")};
    }
    const size_t first = internal::FirstAnswered(ids_);
    return {.index = first, .answer = internal::ToAnswer<R>(internal::TakeAnswer(ids_[first]))};
  }
};

template <class R>
class [[nodiscard]] QuorumOf : public internal::PendingGroup<std::vector<internal::PendingId>> {
 public:
  QuorumOf(size_t needed, const std::vector<Pending<R>>& pendings)
      : PendingGroup(internal::IdsOf(pendings), pendings.size(), needed,
                     needed > pendings.size() ? 0 : pendings.size() - needed + 1),
        needed_(needed) {}

  auto operator co_await() & { return Awaiter<QuorumOf>(*this); }

 protected:
  friend PendingGroup;
  absl::StatusOr<std::vector<R>> Take() {
    std::vector<R> good;
    internal::GroupFailures failures;
    for (const size_t index : internal::ByAnswer(ids_)) {
      const internal::PendingId id = ids_[index];
      const Pid callee = internal::CalleeOf(id);
      if (good.size() == needed_ || !internal::IsAnswered(id)) {
        internal::GiveUp({&id, 1});
        continue;
      }
      absl::StatusOr<R> answer = internal::ToAnswer<R>(internal::TakeAnswer(id));
      if (answer.ok()) {
        good.push_back(*std::move(answer));
      } else {
        failures.Add(index, callee, answer.status());
      }
    }
    if (ids_.empty() || needed_ == 0 || needed_ > ids_.size()) {
      return absl::InvalidArgumentError(absl::StrCat(needed_, " good answers of ", ids_.size(),
                                                     " pendings cannot be waited for; ask for 1 or more, and no more ",
                                                     "than there are"));
    }
    if (good.size() < needed_) return failures.Status(good.size(), needed_, ids_.size());
    return good;
  }

 private:
  const size_t needed_;
};

template <class R>
class [[nodiscard]] FirstOkOf : public QuorumOf<R> {
 public:
  explicit FirstOkOf(const std::vector<Pending<R>>& pendings) : QuorumOf<R>(1, pendings) {}

  auto operator co_await() & { return typename FirstOkOf::PendingGroup::template Awaiter<FirstOkOf>(*this); }

 private:
  friend typename FirstOkOf::PendingGroup;
  absl::StatusOr<R> Take() {
    absl::StatusOr<std::vector<R>> good = QuorumOf<R>::Take();
    if (!good.ok()) return good.status();
    return std::move(good->front());
  }
};

template <class... R>
AllOf<R...> All(Pending<R>... pendings) {
  return AllOf<R...>(pendings...);
}
template <class R>
AllOfMany<R> All(const std::vector<Pending<R>>& pendings) {
  return AllOfMany<R>(pendings);
}
template <class R>
AnyOf<R> Any(const std::vector<Pending<R>>& pendings) {
  return AnyOf<R>(pendings);
}
template <class R>
FirstOkOf<R> FirstOk(const std::vector<Pending<R>>& pendings) {
  return FirstOkOf<R>(pendings);
}
template <class R>
QuorumOf<R> Quorum(size_t needed, const std::vector<Pending<R>>& pendings) {
  return QuorumOf<R>(needed, pendings);
}

// Sends a copy of `request` to each of `channels`, and returns a Pending for each, in the same order.
template <class Q, class R>
std::vector<Pending<R>> AskAll(const std::vector<Channel<Call<Q, R>>>& channels, const std::type_identity_t<Q>& request,
                               absl::Duration timeout) {
  static_assert(std::is_copy_constructible_v<Q>, "a request to a group is copied for each of it");
  std::vector<Pending<R>> asked;
  asked.reserve(channels.size());
  for (const Channel<Call<Q, R>>& channel : channels) asked.push_back(channel.Ask(request, timeout));
  return asked;
}

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_PENDING_GROUP_H_
