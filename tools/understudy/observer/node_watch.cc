#include "understudy/tools/understudy/observer/node_watch.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/printable_text.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/observer/json.h"
#include "understudy/tools/understudy/observer/observer_limits.h"
#include "understudy/tools/understudy/tree_pages.h"
#include "understudy/transport/sockets/thread.h"

namespace understudy::tool {
namespace {

using internal::EventStream;
using Stub = proto::Ops::Stub;

}  // namespace

NodeWatch::NodeWatch(size_t number, OpsTarget target, size_t tree_bytes_max)
    : number_(number), target_(std::move(target)), tree_bytes_max_(tree_bytes_max), channel_(target_) {
  thread_ = internal::StartThread([this] { Run(); });
}

NodeWatch::~NodeWatch() {
  {
    absl::MutexLock lock(&mu_);
    is_stopping_ = true;
  }
  thread_.join();
}

void NodeWatch::AddPage(std::shared_ptr<EventStream> page) {
  absl::MutexLock lock(&mu_);
  new_pages_.push_back(std::move(page));
}

absl::Status NodeWatch::Ask(Question question, OnAnswer on_answer) {
  absl::MutexLock lock(&mu_);
  if (questions_.size() >= limits::kObserverQuestionsMax) {
    return absl::ResourceExhaustedError(absl::StrCat(questions_.size(), " requests wait for this node already"));
  }
  questions_.push_back({.question = std::move(question), .on_answer = std::move(on_answer)});
  return absl::OkStatus();
}

void NodeWatch::Run() {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return is_stopping_ || !questions_.empty() || !new_pages_.empty();
  };
  while (true) {
    std::vector<std::shared_ptr<EventStream>> new_pages;
    {
      absl::MutexLock lock(&mu_);
      if (pages_.empty()) {
        mu_.Await(absl::Condition(&has_work));
      } else {
        (void)mu_.AwaitWithTimeout(absl::Condition(&has_work), limits::kObserverTellsEvery);
      }
      if (is_stopping_) break;
      new_pages = std::exchange(new_pages_, {});
    }
    AnswerQuestions();
    std::erase_if(pages_, [](const std::shared_ptr<EventStream>& page) { return !page->is_open(); });
    if (!new_pages.empty()) Welcome(new_pages);
    if (pages_.empty()) {
      Unfollow();
      continue;
    }
    if (Clock::Real().Now() >= look_at_) {
      LookAtNode();
      look_at_ = Clock::Real().Now() + limits::kObserverAsksEvery;
    }
    TellEntries();
  }
  Unfollow();
}

void NodeWatch::AnswerQuestions() {
  std::deque<Waiting> questions;
  {
    absl::MutexLock lock(&mu_);
    questions.swap(questions_);
  }
  for (const Waiting& waiting : questions) {
    absl::StatusOr<std::string> answer = waiting.question(channel_);
    if (!answer.ok()) {
      answer = absl::Status(answer.status().code(), PrintableText(answer.status().message(), Backslashes::kKeep));
    }
    waiting.on_answer(std::move(answer));
  }
}

void NodeWatch::Welcome(const std::vector<std::shared_ptr<EventStream>>& pages) {
  TellEntries();
  if (!follows_events_.has_value()) Follow();
  for (const std::shared_ptr<EventStream>& page : pages) {
    if (node_.empty())
      TellOne(*page, "node",
              absl::StrCat("{\"socket\":", ToJson(PrintableText(target_.address, Backslashes::kKeep)), "}"));
    for (const auto& [event, body] : told_) TellOne(*page, event, body);
    for (const std::string& part : tree_.All()) TellOne(*page, "tree", part);
    TellOne(*page, "events", events_.All());
    TellOne(*page, "letters", letters_.All());
    pages_.push_back(page);
  }
}

void NodeWatch::Follow() {
  look_at_ = MonotonicTime();  // what is known may be old
  follows_events_.emplace(
      channel_, &Stub::FollowEvents, [this] { events_.Begin(); },
      [this](const proto::EventEntry& entry) { events_.Add(ToJson(entry)); });
  follows_letters_.emplace(
      channel_, &Stub::FollowDeadLetters, [this] { letters_.Begin(); },
      [this](const proto::DeadLetterEntry& entry) { letters_.Add(ToJson(entry)); });
}

// The streams of the life before may have told entries that this one does not have.
void NodeWatch::FollowAnew() {
  Unfollow();
  events_.Begin();
  letters_.Begin();
  Follow();
}

void NodeWatch::Unfollow() {
  follows_events_.reset();
  follows_letters_.reset();
}

template <class Request, class Reply>
absl::StatusOr<Reply> NodeWatch::AskNode(OpsChannel::Method<Request, Reply> method, const Request& request) {
  absl::StatusOr<Reply> reply = channel_.Ask(method, request, limits::kObserverAnswersWithin);
  AnswerQuestions();
  return reply;
}

template <class Request, class Reply>
absl::Status NodeWatch::Look(absl::string_view event, OpsChannel::Method<Request, Reply> method,
                             const Request& request) {
  const absl::StatusOr<Reply> reply = AskNode(method, request);
  if (!reply.ok()) return reply.status();
  TellState(event, ToJson(*reply));
  return absl::OkStatus();
}

void NodeWatch::LookAtNode() {
  const absl::StatusOr<proto::NodeDetails> node = AskNode(&Stub::GetNode, proto::GetNodeRequest());
  absl::Status status = node.status();
  if (node.ok()) {
    node_ = ToJson(*node);
    TellNode();
    const Life life{node->incarnation(), node->pid()};
    if (std::exchange(life_, life).value_or(life) != life) FollowAnew();
    proto::TopActorsRequest top;
    top.set_at_most(limits::kObserverActorsMax);
    status.Update(Look("peers", &Stub::ListPeers, proto::ListPeersRequest()));
    status.Update(Look("workers", &Stub::ListWorkers, proto::ListWorkersRequest()));
    status.Update(Look("top", &Stub::TopActors, top));
    status.Update(LookAtTree());
  }
  error_.clear();
  if (!status.ok()) {
    // The file system knows better why a connection cannot be made.
    const absl::Status reachable = CheckTarget(target_);
    error_ = PrintableText(reachable.ok() ? status.message() : reachable.message(), Backslashes::kKeep);
  }
  TellNode();
}

absl::Status NodeWatch::LookAtTree() {
  absl::StatusOr<proto::GetTreeReply> tree =
      AllTreePages({.entries_max = limits::kObserverTreeEntriesMax, .bytes_max = tree_bytes_max_},
                   [this](const auto& request) { return AskNode(&Stub::GetTree, request); });
  if (!tree.ok()) return tree.status();
  for (const std::string& part : tree_.Look(*std::move(tree))) Tell("tree", part);
  return absl::OkStatus();
}

void NodeWatch::TellEntries() {
  if (const std::string fresh = events_.TakeFresh(); !fresh.empty()) Tell("events", fresh);
  if (const std::string fresh = letters_.TakeFresh(); !fresh.empty()) Tell("letters", fresh);
}

void NodeWatch::TellNode() {
  TellState("node", absl::StrCat("{\"socket\":", ToJson(PrintableText(target_.address, Backslashes::kKeep)),
                                 ",\"error\":", ToJson(error_), ",\"node\":", node_.empty() ? "null" : node_, "}"));
}

void NodeWatch::TellState(absl::string_view event, std::string body) {
  std::string& told = told_[std::string(event)];
  if (told == body) return;
  Tell(event, body);
  told = std::move(body);
}

void NodeWatch::Tell(absl::string_view event, absl::string_view body) const {
  const std::string numbered = Numbered(body);
  for (const std::shared_ptr<EventStream>& page : pages_) page->Send(event, numbered);
}

void NodeWatch::TellOne(EventStream& page, absl::string_view event, absl::string_view body) const {
  page.Send(event, Numbered(body));
}

std::string NodeWatch::Numbered(absl::string_view body) const {
  return absl::StrCat("{\"number\":", number_, ",\"body\":", body, "}");
}

}  // namespace understudy::tool
