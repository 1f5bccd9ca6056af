// Replier<R>: the right to answer one call, now or later, from this actor or
// another.
//
//   void Add(const Entry& entry, Replier<Receipt> replier) {
//     waiting_.push_back(std::move(replier));            // answered after the commit
//   }
//   …
//   replier.Reply(Receipt());
//
// Move-only; it may travel in messages. Answered at most once; destroyed
// unused, it answers CalleeExited with the exit reason of the actor that held
// it and ended, else Unanswered. The fence of that actor answers at once, and
// what the Replier answers then comes too late. It is held by the actor in whose
// turn it was taken or moved last; in a message that was sent by nobody. Any
// thread, one at a time.
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

// Which call it is.
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

  // It can still answer.
  bool is_open() const { return is_open_; }
  // Who waits for it; of another node's actors the session vouches for the node.
  // For a plain thread, an actor that asks for it.
  Pid asker() const { return asker_; }

  // For Context::Forward: gives the right up, unanswered. CHECKs that it is open.
  CallInHand Release();

 protected:
  explicit ReplierBase(Activation& activation);
  void Post(absl::Status status, Payload payload);

 private:
  void Abandon();
  // Somebody else may hold it now.
  void Moved();
  // To the search for call cycles.
  void TellOfMove() const;

  bool is_open_ = false;
  Pid callee_;
  Pid asker_;
  uint64_t ask_ = 0;
  bool is_watched_ = false;
  std::shared_ptr<AnswerRight> right_;  // null: it was taken too late
  Pid holder_;                          // who answers when it is fenced; null for nobody
};

}  // namespace internal

template <class R>
class Replier : public internal::ReplierBase {
 public:
  // Takes the right to answer from the call in hand; for the library.
  explicit Replier(internal::Activation& activation) : ReplierBase(activation) {}

  // CHECKs that it is still open.
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
