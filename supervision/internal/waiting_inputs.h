// WaitingInputs: the requests and exits that a supervisor does not handle yet, in the order in which it will.
//
// An input about a child that is starting or stopping may be *deferred*: it waits with that child, out of the way of
// inputs about other children, and is the next in turn when the child has settled.
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
    kExit,  // the child `key` has ended, and its exit is to be judged
    kDue,   // the group of the child `key` is to be started
    kStart,
    kTerminate,
    kRestart,
    kDelete,
  };
  Kind kind = Kind::kExit;
  // Of kExit and kDue: the child, and its life when the input came. Of a later life the input says nothing.
  ChildTable::Key key = 0;
  ChildTable::LifeId life = 0;
  ExitReason reason;  // of kExit
  // Of the others, which are requests.
  std::string id;
  ChildTable::RequestId request = 0;
  std::shared_ptr<const ChildSpec> spec;  // of kStart
  bool is_member = false;                 // of kStart: the spec is that of a pool's template
};

class WaitingInputs {
 public:
  using Key = ChildTable::Key;

  void Push(WaitingInput input) { queue_.push_back(std::move(input)); }
  // Removes and returns the input whose turn it is; nullopt if there is none but deferred ones.
  absl::optional<WaitingInput> Pop() {
    if (queue_.empty()) return absl::nullopt;
    absl::optional<WaitingInput> first(std::move(queue_.front()));
    queue_.pop_front();
    return first;
  }
  // Puts the input with that child, behind those that wait with it already.
  void Defer(Key child, WaitingInput input) {
    deferred_[child].push_back(std::move(input));
    ++deferred_count_;
  }
  // The child neither starts nor stops any more: what waits with it is next.
  void Settled(Key child) {
    auto found = deferred_.extract(child);
    if (found.empty()) return;
    deferred_count_ -= found.mapped().size();
    queue_.insert(queue_.begin(), std::make_move_iterator(found.mapped().begin()),
                  std::make_move_iterator(found.mapped().end()));
  }
  // Removes and returns everything: those in turn first, then the deferred ones in the order of their children.
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

  // Whether Pop would return an input.
  bool has_next() const { return !queue_.empty(); }
  // Deferred inputs are counted too.
  size_t size() const { return queue_.size() + deferred_count_; }

 private:
  std::deque<WaitingInput> queue_;
  std::map<Key, std::vector<WaitingInput>> deferred_;
  size_t deferred_count_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_WAITING_INPUTS_H_
