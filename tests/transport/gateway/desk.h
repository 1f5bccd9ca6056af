// DeskKeeper: the actor behind desk.proto.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_DESK_H_
#define UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_DESK_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "google/protobuf/empty.pb.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/caller.h"
#include "understudy/actors/error.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/stream_writer.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.pb.h"

namespace understudy {

// What a test waits for: the first of each.
struct DeskEvents {
  absl::Notification waits;      // a call of Wait has reached the desk
  absl::Notification cancelled;  // it was cancelled there
  absl::Notification expired;    // its deadline passed there
  absl::Notification unwritten;  // a write of Count failed
  std::atomic<int> written{0};   // the items that Count has written
  absl::Notification noted;      // a Note was handled
  absl::Status noted_for;        // what its handler got for its caller, before `noted`
};

// Takes asks and does not answer them.
class Silence final : public Actor {
 public:
  Mailbox<"ask", Call<int, int>> ask{this};
  StartResult Start() override { return silent_; }

 private:
  void Keep(int, Replier<int> replier) { kept_.push_back(std::move(replier)); }

  std::vector<Replier<int>> kept_;
  Behavior silent_{"silent", On(ask, &Silence::Keep)};
};

class DeskKeeper final : public desk::DeskActor {
 public:
  explicit DeskKeeper(DeskEvents* events) : events_(*events) {}

 private:
  StartResult Start() override {
    silence_ = context().Spawn<Silence>();
    return open_;
  }

  desk::Text Echo(const desk::Text& request) { return request; }
  void Note(const desk::Text&) {
    if (events_.noted.HasBeenNotified()) return;
    events_.noted_for = context().Caller().status();
    events_.noted.Notify();
  }
  absl::StatusOr<std::string> CallerText() {
    const absl::StatusOr<std::shared_ptr<const Caller>> caller = context().Caller();
    if (!caller.ok()) return caller.status();
    std::string text = absl::StrCat("names:", absl::StrJoin((*caller)->names, ","), "\ndeadline:");
    if ((*caller)->deadline.is_infinite()) {
      text += "none";
    } else {
      absl::StrAppend(&text, absl::ToInt64Hours(absl::Ceil((*caller)->deadline - context().Now(), absl::Hours(1))),
                      "h");
    }
    for (const auto& [key, value] : (*caller)->metadata) absl::StrAppend(&text, "\n", key, "=", value);
    return text;
  }
  Task<absl::StatusOr<desk::Text>> Who(const desk::Text&) {
    auto pause = context().Sleep(absl::ZeroDuration());
    (void)co_await pause;
    absl::StatusOr<std::string> text = CallerText();
    if (!text.ok()) co_return text.status();
    desk::Text reply;
    reply.set_text(*std::move(text));
    co_return reply;
  }
  Task<> Whose(const desk::Text&, StreamWriter<desk::Text> writer) {
    absl::StatusOr<std::string> text = CallerText();
    if (!text.ok()) co_return writer.Finish(text.status());
    desk::Text item;
    item.set_text(*std::move(text));
    auto writing = writer.Write(std::move(item), absl::Hours(1));
    const absl::Status written = co_await writing;
    writer.Finish(written);
  }
  google::protobuf::Empty Open(const desk::OpenRequest& request) {
    Become(request.is_open() ? open_ : closed_);
    return {};
  }
  Task<absl::StatusOr<desk::Text>> Wait(const desk::Text& request) {
    auto asked = silence_[&Silence::ask].Ask(0, absl::Hours(1));
    NotifyOnce(events_.waits);
    const absl::StatusOr<int> answer = co_await asked;
    if (understudy::IsCancelled(answer.status())) NotifyOnce(events_.cancelled);
    if (IsExpired(answer.status())) NotifyOnce(events_.expired);
    if (!answer.ok()) co_return answer.status();
    co_return request;
  }
  Task<> Count(const desk::CountRequest& request, StreamWriter<desk::Text> writer) {
    const absl::Duration within =
        request.write_within_ms() == 0 ? absl::Hours(1) : absl::Milliseconds(request.write_within_ms());
    for (int i = 0; i < request.items(); ++i) {
      desk::Text item;
      item.set_text(absl::StrCat(i, " "));
      item.mutable_text()->resize(std::max<size_t>(item.text().size(), request.item_bytes()), '.');
      auto writing = writer.Write(std::move(item), within);
      const absl::Status written = co_await writing;
      if (!written.ok()) {
        NotifyOnce(events_.unwritten);
        if (understudy::IsCancelled(written)) NotifyOnce(events_.cancelled);
        co_return writer.Finish(written);
      }
      ++events_.written;
    }
    if (request.stay()) {
      auto asked = silence_[&Silence::ask].Ask(0, absl::Hours(1));
      NotifyOnce(events_.waits);
      const absl::StatusOr<int> answer = co_await asked;
      if (understudy::IsCancelled(answer.status())) NotifyOnce(events_.cancelled);
      co_return writer.Finish(answer.status());
    }
    const desk::Provocation& end = request.end();
    if (end.crash()) {
      Fail(absl::DataLossError("the desk broke"));
    } else if (!end.drop()) {
      writer.Finish(absl::Status(static_cast<absl::StatusCode>(end.code()), end.text()));
    }
  }
  absl::Status Provoke(const desk::Provocation& request, Replier<desk::Text> replier) {
    if (request.crash()) return Fail(absl::DataLossError("the desk broke"));
    if (!request.drop()) replier.Reply(absl::Status(static_cast<absl::StatusCode>(request.code()), request.text()));
    return absl::OkStatus();
  }
  static void NotifyOnce(absl::Notification& event) {
    if (!event.HasBeenNotified()) event.Notify();
  }

  DeskEvents& events_;
  understudy::Ref<Silence> silence_;  // Ref alone is DeskRef here
  Behavior open_{"open",
                 On(echo, &DeskKeeper::Echo),
                 On(note, &DeskKeeper::Note),
                 On(open, &DeskKeeper::Open),
                 On(wait, &DeskKeeper::Wait).Interleaved(),
                 On(count, &DeskKeeper::Count).Interleaved(),
                 On(who, &DeskKeeper::Who).Interleaved(),
                 On(whose, &DeskKeeper::Whose),
                 On(provoke, &DeskKeeper::Provoke)};
  Behavior closed_{"closed", On(echo, &DeskKeeper::Echo), On(open, &DeskKeeper::Open)};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_DESK_H_
