// Replier<R>: the right to answer one call, now or later, from this actor or
// another.
//
//   void Add(const Entry& entry, Replier<Receipt> replier) {
//     waiting_.push_back(std::move(replier));            // answered after the commit
//   }
//   …
//   replier.Reply(Receipt());
//
// Move-only; it may travel in messages. It answers at most once. A Replier that is
// destroyed unused answers CalleeExited if it is destroyed by the end of an actor that
// held it, with that actor's exit reason. Otherwise it answers Unanswered, or, if the
// handler of its call destroys it, the error that the handler returns, if any.
//
// The actor in whose turn a Replier was made or last moved holds it; a Replier in a
// message on its way is held by no actor. If the holder is fenced, the fence answers the
// call at once, and a later Reply is ignored. Any thread, one at a time.
#ifndef UNDERSTUDY_ACTORS_REPLIER_H_
#define UNDERSTUDY_ACTORS_REPLIER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/internal/turn/answer_right.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace internal {

class SystemCore;
class Activation;

// Identifies a call: its asker, and the asker's id of it.
struct CallInHand {
  Pid asker;
  uint64_t ask = 0;
};

class ReplierBase {
 public:
  ReplierBase(ReplierBase&& other) noexcept
      : is_open_(std::exchange(other.is_open_, false)),
        callee_(other.callee_),
        asker_(other.asker_),
        ask_(other.ask_),
        is_watched_(other.is_watched_),
        right_(std::move(other.right_)),
        holder_(other.holder_) {
    if (is_open_) Moved();
  }
  ReplierBase& operator=(ReplierBase&& other) noexcept {
    if (this != &other) {
      Abandon();
      is_open_ = std::exchange(other.is_open_, false);
      callee_ = other.callee_;
      asker_ = other.asker_;
      ask_ = other.ask_;
      is_watched_ = other.is_watched_;
      right_ = std::move(other.right_);
      holder_ = other.holder_;
      if (is_open_) Moved();
    }
    return *this;
  }
  ~ReplierBase() { Abandon(); }

  // True if this object can still answer: it has not answered and was not moved from.
  bool is_open() const { return is_open_; }
  // The actor that waits for the answer. If it is of another node, the session proves only
  // the node, not the actor. If a plain thread asked, this is the actor that asked on its
  // behalf.
  Pid asker() const { return asker_; }

  // For Context::Forward: gives up the right to answer, without an answer. CHECKs is_open().
  CallInHand Release();

 protected:
  // A Replier without a call, which is not open.
  ReplierBase() = default;
  explicit ReplierBase(Activation& activation);
  void Post(absl::Status status, Payload payload);
  Pid callee() const { return callee_; }
  uint64_t ask() const { return ask_; }

 private:
  // Answers if this object is open, because it is about to be destroyed or overwritten.
  void Abandon();
  // Records who holds this object, which was just moved.
  void Moved();
  // Tells the search for call cycles (CallWatch) which actor the asker waits for now.
  void TellOfMove() const;

  bool is_open_ = false;
  Pid callee_;
  Pid asker_;
  uint64_t ask_ = 0;
  bool is_watched_ = false;
  std::shared_ptr<AnswerRight> right_;  // null if made by a fenced actor: the fence has answered
  Pid holder_;                          // the actor whose fence answers; null if no actor holds this object
};

}  // namespace internal

template <class R>
class Replier : public internal::ReplierBase {
 public:
  // Takes the right to answer from the call in hand; for the library.
  explicit Replier(internal::Activation& activation) : ReplierBase(activation) {}

  // Answers the call with a value or an error. CHECKs is_open().
  void Reply(absl::StatusOr<R> answer) {
    if (answer.ok()) {
      Post(absl::OkStatus(), internal::Payload::Of<R>(*std::move(answer)));
    } else {
      Post(std::move(answer).status(), {});
    }
  }
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_REPLIER_H_
