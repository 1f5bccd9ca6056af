// WaitingInputs: a queue of the requests and exits that a supervisor does not handle yet.
//
// An input about a child that is starting or stopping may be *deferred*: it leaves the queue, so that inputs about
// other children need not wait, and returns to the front of the queue when the child has settled.
//
// Owner only. The owner bounds how many requests wait, by size().
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_WAITING_INPUTS_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_WAITING_INPUTS_H_

#include <cstddef>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_table.h"

namespace understudy {

struct WaitingInput {
  enum class Kind {
    kExit,  // the child `key` has ended: decide whether it is restarted
    kDue,   // start the group of the child `key`
    kStart,
    kTerminate,
    kRestart,
    kDelete,
  };
  Kind kind = Kind::kExit;
  // For kExit and kDue: the child, and its life when the input came. If the child has a later life by now, the input is
  // ignored.
  ChildTable::Key key = 0;
  ChildTable::LifeId life = 0;
  ExitReason reason;  // for kExit
  // For the other kinds, which are requests.
  std::string id;
  ChildTable::RequestId request = 0;
  std::shared_ptr<const ChildSpec> spec;  // for kStart
  bool is_member = false;                 // for kStart: the spec was made from a pool's template (StartMember)
};

class WaitingInputs {
 public:
  using Key = ChildTable::Key;

  void Push(WaitingInput input) { queue_.push_back(std::move(input)); }
  // Removes and returns the first input of the queue; nullopt if there is none, apart from deferred ones.
  absl::optional<WaitingInput> Pop() {
    if (queue_.empty()) return absl::nullopt;
    absl::optional<WaitingInput> first(std::move(queue_.front()));
    queue_.pop_front();
    return first;
  }
  // Defers the input until that child has settled, behind the inputs that are deferred for it already.
  void Defer(Key child, WaitingInput input) {
    deferred_[child].push_back(std::move(input));
    ++deferred_count_;
  }
  // Call when the child neither starts nor stops any more. Its deferred inputs become the first of the queue.
  void Settled(Key child) {
    auto found = deferred_.extract(child);
    if (found.empty()) return;
    deferred_count_ -= found.mapped().size();
    queue_.insert(queue_.begin(), std::make_move_iterator(found.mapped().begin()),
                  std::make_move_iterator(found.mapped().end()));
  }
  // Removes and returns all inputs: first the queued ones, then the deferred ones in the order of their children.
  std::vector<WaitingInput> TakeAll() {
    std::vector<WaitingInput> all(std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.end()));
    for (auto& [child, inputs] : deferred_) {
      all.insert(all.end(), std::make_move_iterator(inputs.begin()), std::make_move_iterator(inputs.end()));
    }
    queue_.clear();
    deferred_.clear();
    deferred_count_ = 0;
    return all;
  }

  // True if Pop would return an input.
  bool has_next() const { return !queue_.empty(); }
  // The number of all inputs, deferred ones included.
  size_t size() const { return queue_.size() + deferred_count_; }

 private:
  std::deque<WaitingInput> queue_;
  std::map<Key, std::vector<WaitingInput>> deferred_;
  size_t deferred_count_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_WAITING_INPUTS_H_
