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
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "google/protobuf/empty.pb.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/caller.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/stream_writer.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.pb.h"

namespace understudy {

// Events that a test can wait for. Each notification tells of the first event of its kind.
struct DeskEvents {
  absl::Notification waits;               // a call of Wait has reached the desk
  absl::Notification cancelled;           // it was cancelled there
  absl::Notification expired;             // its deadline passed there
  absl::Notification unwritten;           // a write of Count failed
  std::atomic<int> written{0};            // the items that Count has written
  absl::Notification noted;               // a Note was handled
  absl::Status noted_for;                 // what its handler got for its caller, before `noted`
  std::atomic<int> parcels{0};            // those that Collect and Converse have taken
  std::atomic<int> complete{0};           // the streams of parcels that came to their end
  std::atomic<int> broken{0};             // those that ended with an error
  absl::Notification ends;                // the desk is ending, and
  absl::Notification* may_end = nullptr;  // waits for this, unless it is null
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
  void OnExit(const ExitReason&) override {
    if (events_.may_end == nullptr) return;
    NotifyOnce(events_.ends);
    events_.may_end->WaitForNotification();
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
      absl::StrAppend(&text, absl::ToInt64Hours((*caller)->deadline - context().Now() + absl::Minutes(30)), "h");
    }
    for (const auto& [key, value] : (*caller)->metadata) absl::StrAppend(&text, "\n", key, "=", value);
    return text;
  }
  absl::StatusOr<desk::Text> CallerReply() {
    absl::StatusOr<std::string> text = CallerText();
    if (!text.ok()) return text.status();
    desk::Text reply;
    reply.set_text(*std::move(text));
    return reply;
  }
  Task<absl::StatusOr<desk::Text>> Who(const desk::Text&) {
    auto pause = context().Sleep(absl::ZeroDuration());
    (void)co_await pause;
    co_return CallerReply();
  }
  Task<> Whose(const desk::Text&, StreamWriter<desk::Text> writer) {
    absl::StatusOr<desk::Text> item = CallerReply();
    if (!item.ok()) co_return writer.Finish(item.status());
    auto writing = writer.Write(*std::move(item), absl::Hours(1));
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
      writer.Finish(StatusOf(end));
    }
  }
  // The next parcel; none at the end, or after it was told to leave the rest.
  Task<absl::StatusOr<absl::optional<desk::Parcel>>> NextParcel(const Stream<desk::Parcel>& parcels, int number) {
    auto next = parcels.Next(absl::Hours(1));
    absl::StatusOr<absl::optional<desk::Parcel>> parcel = co_await next;
    if (!parcel.ok()) {
      ++events_.broken;
      if (understudy::IsCancelled(parcel.status())) NotifyOnce(events_.cancelled);
    } else if (!parcel->has_value()) {
      ++events_.complete;
    } else if (!absl::StartsWith((*parcel)->text(), absl::StrCat(number, " "))) {
      co_return absl::DataLossError(absl::StrCat("'", (*parcel)->text(), "' is not number ", number));
    } else {
      ++events_.parcels;
    }
    if (parcel.ok() && parcel->has_value() && (*parcel)->stay()) {
      auto asked = silence_[&Silence::ask].Ask(0, absl::Hours(1));
      NotifyOnce(events_.waits);
      const absl::StatusOr<int> answer = co_await asked;
      if (understudy::IsCancelled(answer.status())) NotifyOnce(events_.cancelled);
      co_return answer.status();
    }
    co_return parcel;
  }
  static absl::Status StatusOf(const desk::Provocation& end) {
    return absl::Status(static_cast<absl::StatusCode>(end.code()), end.text());
  }
  Task<> Collect(Stream<desk::Parcel> parcels, Replier<desk::Text> replier) {
    desk::Text reply;
    for (int number = 0;; ++number) {
      auto next = NextParcel(parcels, number);
      absl::StatusOr<absl::optional<desk::Parcel>> parcel = co_await next;
      if (!parcel.ok()) co_return replier.Reply(parcel.status());
      if (parcel->has_value() && (*parcel)->who()) co_return replier.Reply(CallerReply());
      if (parcel->has_value() && !(*parcel)->has_end()) continue;
      reply.set_text(absl::StrCat(number, " parcels"));
      if (!parcel->has_value()) break;
      const desk::Provocation& end = (*parcel)->end();
      if (end.crash()) co_return (void) Fail(absl::DataLossError("the desk broke"));
      if (end.drop()) co_return;
      if (end.code() != 0) co_return replier.Reply(StatusOf(end));
      break;
    }
    replier.Reply(reply);
  }
  Task<> Converse(Stream<desk::Parcel> parcels, StreamWriter<desk::Text> writer) {
    for (int number = 0;; ++number) {
      auto next = NextParcel(parcels, number);
      absl::StatusOr<absl::optional<desk::Parcel>> parcel = co_await next;
      if (!parcel.ok() || !parcel->has_value()) co_return writer.Finish(parcel.status());
      if ((*parcel)->has_end()) co_return writer.Finish(StatusOf((*parcel)->end()));
      desk::Text answer;
      answer.set_text((*parcel)->text());
      auto writing = writer.Write(std::move(answer), absl::Hours(1));
      const absl::Status written = co_await writing;
      if (!written.ok()) co_return writer.Finish(written);
    }
  }
  absl::Status Provoke(const desk::Provocation& request, Replier<desk::Text> replier) {
    if (request.crash()) return Fail(absl::DataLossError("the desk broke"));
    if (!request.drop()) replier.Reply(StatusOf(request));
    return absl::OkStatus();
  }
  static void NotifyOnce(absl::Notification& event) {
    if (!event.HasBeenNotified()) event.Notify();
  }

  ConverseMailbox converse{this};
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
                 On(collect, &DeskKeeper::Collect).Interleaved(),
                 On(converse, &DeskKeeper::Converse).Interleaved(),
                 On(provoke, &DeskKeeper::Provoke)};
  Behavior closed_{"closed", On(echo, &DeskKeeper::Echo), On(open, &DeskKeeper::Open)};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_DESK_H_
