#include "understudy/actors/internal/asks/wait_graph.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace understudy {

std::string CallCycle::ToString(MonotonicTime now) const {
  std::string text = absl::StrCat("call cycle of ", waits.size(), waits.size() == 1 ? " actor:" : " actors:");
  for (size_t i = 0; i < waits.size(); ++i) {
    const CallWait& wait = waits[i];
    absl::StrAppend(&text,
                    i == 0   ? " "
                    : i == 1 ? "; while "
                             : ", ",
                    wait.waiter.ToString(), " in its handler of ", wait.handler, " waits for ", wait.holder.ToString(),
                    ", which it asked in mailbox ", wait.asked, " ",
                    now == wait.since ? "just now" : absl::StrCat(absl::FormatDuration(now - wait.since), " ago"));
  }
  absl::StrAppend(&text, "; only their deadlines end it");
  return text;
}

namespace internal {

void WaitGraph::Asked(uint64_t ask, CallWait call) {
  const Pid asker = call.waiter;
  calls_[{asker, ask}] = {.wait = std::move(call)};
}

CallCycle WaitGraph::Awaits(Pid asker, uint64_t ask, std::string handler) {
  const auto found = calls_.find({asker, ask});
  if (found == calls_.end()) return {};
  found->second.wait.handler = std::move(handler);
  found->second.is_awaited = true;
  return CycleThrough(found->second);
}

CallCycle WaitGraph::Moved(Pid asker, uint64_t ask, Pid holder) {
  const auto found = calls_.find({asker, ask});
  if (found == calls_.end() || found->second.wait.holder == holder) return {};
  found->second.wait.holder = holder;
  return CycleThrough(found->second);
}

void WaitGraph::IsInHand(Pid asker, uint64_t ask) {
  const auto found = calls_.find({asker, ask});
  if (found != calls_.end()) found->second.in_hand_of = found->second.wait.holder;
}

CallCycle WaitGraph::WaitsAgain(Pid asker, uint64_t ask) {
  const auto found = calls_.find({asker, ask});
  if (found == calls_.end() || std::exchange(found->second.in_hand_of, Pid()).is_null()) return {};
  return CycleThrough(found->second);
}

void WaitGraph::ForgetAll(Pid asker) {
  calls_.erase(calls_.lower_bound({asker, 0}), calls_.upper_bound({asker, UINT64_MAX}));
}

// Searches breadth first from the holder of `closing` to its waiter, so the cycle is a shortest one.
CallCycle WaitGraph::CycleThrough(const Call& closing) const {
  if (!closing.holds()) return {};
  const Pid target = closing.wait.waiter;
  std::map<Pid, const Call*> reached_by = {{closing.wait.holder, &closing}};
  std::deque<Pid> next = {closing.wait.holder};
  while (!next.empty() && !reached_by.contains(target)) {
    const Pid waiter = next.front();
    next.pop_front();
    for (auto call = calls_.lower_bound({waiter, 0}); call != calls_.end() && call->first.first == waiter; ++call) {
      if (!call->second.holds()) continue;
      if (reached_by.emplace(call->second.wait.holder, &call->second).second) next.push_back(call->second.wait.holder);
    }
  }
  CallCycle cycle;
  auto last = reached_by.find(target);
  if (last == reached_by.end()) return cycle;
  const Call* call = last->second;
  cycle.waits.push_back(call->wait);
  while (call != &closing) {
    call = reached_by.at(call->wait.waiter);
    cycle.waits.push_back(call->wait);
  }
  std::reverse(cycle.waits.begin(), cycle.waits.end());
  return cycle;
}

}  // namespace internal
}  // namespace understudy
