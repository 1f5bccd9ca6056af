// NodeWatch: watches one node over its operator's service for the pages of the observer.
//
// While a page is open, it asks the node in each limits::kObserverAsksEvery and follows its streams; else it asks
// nothing. A page gets all that is known first, and then what changes, as these events of its EventStream, each with
// the data {"number":NUMBER,"body":BODY}:
//   node     {"socket":…,"error":…,"node":NodeDetails}   `error` is not empty while the node does not answer
//   peers    ListPeersReply      top      ListActorsReply      workers  ListWorkersReply
//   tree     see TreeChanges     events, letters  see EntryLog, with EventEntry and DeadLetterEntry
// Threads: any; a thread of its own asks the node and calls the callbacks. The destructor waits for the answer that is
// under way, at most limits::kObserverAnswersWithin.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_NODE_WATCH_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_NODE_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/clock.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/observer/entry_follower.h"
#include "understudy/tools/understudy/observer/entry_log.h"
#include "understudy/tools/understudy/observer/tree_changes.h"
#include "understudy/tools/understudy/ops_channel.h"
#include "understudy/transport/http/event_stream.h"

namespace understudy::tool {

class NodeWatch {
 public:
  // Asks the node something and returns the answer as JSON. Runs on the watch's thread.
  using Question = std::function<absl::StatusOr<std::string>(OpsChannel& channel)>;
  using OnAnswer = std::function<void(absl::StatusOr<std::string> answer)>;

  // `number` is the place of the node on the page, `target` says where its operator's service is. Of its tree as much
  // is shown as has `tree_bytes_max` bytes (TreeBounds).
  NodeWatch(size_t number, OpsTarget target, size_t tree_bytes_max);
  ~NodeWatch();
  NodeWatch(const NodeWatch&) = delete;
  NodeWatch& operator=(const NodeWatch&) = delete;

  // `page` gets the events above, until it is not open any more.
  void AddPage(std::shared_ptr<internal::EventStream> page);
  // The answer comes soon, between two looks. ResourceExhausted: limits::kObserverQuestionsMax wait already, and
  // `on_answer` is not called.
  absl::Status Ask(Question question, OnAnswer on_answer);

 private:
  struct Waiting {
    Question question;
    OnAnswer on_answer;
  };
  using Life = std::pair<uint64_t, int64_t>;  // a node's incarnation and process

  // All below runs on the thread.
  void Run();
  void AnswerQuestions();
  void Follow();
  void FollowAnew();
  void Unfollow();
  void Welcome(const std::vector<std::shared_ptr<internal::EventStream>>& pages);
  void LookAtNode();
  absl::Status LookAtTree();
  void TellEntries();
  // Asks `method`, and then the questions that came meanwhile.
  template <class Request, class Reply>
  absl::StatusOr<Reply> AskNode(OpsChannel::Method<Request, Reply> method, const Request& request);
  // Asks `method`, and tells the pages the answer as `event` if it has changed.
  template <class Request, class Reply>
  absl::Status Look(absl::string_view event, OpsChannel::Method<Request, Reply> method, const Request& request);
  void TellNode();
  // Sends `body` to all pages and keeps it for pages opened later. Does nothing if the last `body` was the same.
  void TellState(absl::string_view event, std::string body);
  void Tell(absl::string_view event, absl::string_view body) const;
  void TellOne(internal::EventStream& page, absl::string_view event, absl::string_view body) const;
  // `body` with the number of the node that it is of.
  std::string Numbered(absl::string_view body) const;

  const size_t number_;
  const OpsTarget target_;
  const size_t tree_bytes_max_;
  OpsChannel channel_;
  EntryLog events_;
  EntryLog letters_;

  absl::Mutex mu_;
  std::deque<Waiting> questions_ ABSL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<internal::EventStream>> new_pages_ ABSL_GUARDED_BY(mu_);
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;

  // The thread's.
  std::vector<std::shared_ptr<internal::EventStream>> pages_;
  std::map<std::string, std::string> told_;  // bodies by event
  std::string node_;                         // NodeDetails, as the node told last
  std::optional<Life> life_;                 // of the node that told it
  std::string error_;                        // why the last look failed; empty if it did not
  TreeChanges tree_;
  // The streams of the node, while a page is open.
  std::optional<EntryFollower<proto::EventEntry>> follows_events_;
  std::optional<EntryFollower<proto::DeadLetterEntry>> follows_letters_;
  MonotonicTime look_at_;
  std::thread thread_;
};

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_NODE_WATCH_H_
