// Actors that open an upload at a desk, and the notes that they keep about it.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_CLIENT_UPLOADER_H_
#define UNDERSTUDY_TESTS_TRANSPORT_CLIENT_UPLOADER_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/upload.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/front.h"

namespace understudy {

// How an asker ends its items.
enum class UploadEnd { kFinish, kFail, kDrop, kCancel, kStay };

// The parcels that an asker writes: `parcels` of them with `bytes` each, but at index `special_at` a copy of `special`.
struct UploadPlan {
  int parcels = 0;
  size_t bytes = 0;
  absl::optional<desk::Parcel> special;
  int special_at = 0;
  UploadEnd end = UploadEnd::kFinish;     // after the parcels
  absl::Duration timeout = kWithin;       // of the call, unless its answer is a stream
  absl::Duration write_within = kWithin;  // of each write
};

// Returns a parcel after which the server stops reading.
inline desk::Parcel StayingParcel() {
  desk::Parcel parcel;
  parcel.set_stay(true);
  return parcel;
}
// A parcel after which the server ends the call.
inline desk::Parcel EndingParcel(int code, const std::string& text) {
  desk::Parcel parcel;
  parcel.mutable_end()->set_code(code);
  parcel.mutable_end()->set_text(text);
  return parcel;
}

class UploadNotes {
 public:
  void NoteWrite(const absl::Status& written) {
    absl::MutexLock lock(&mu_);
    if (written.ok()) ++written_;
    if (!written.ok()) write_error_ = written;
  }
  void NoteAnswer(const std::string& text) {
    absl::MutexLock lock(&mu_);
    ++answers_;
    last_ = text;
  }
  void NoteEnd(const absl::Status& end) {
    absl::MutexLock lock(&mu_);
    end_ = end;
  }

  int written() const {
    absl::MutexLock lock(&mu_);
    return written_;
  }
  absl::Status write_error() const {
    absl::MutexLock lock(&mu_);
    return write_error_;
  }
  int answers() const {
    absl::MutexLock lock(&mu_);
    return answers_;
  }
  // The answer that came last.
  std::string last() const {
    absl::MutexLock lock(&mu_);
    return last_;
  }
  bool has_ended() const {
    absl::MutexLock lock(&mu_);
    return end_.has_value();
  }
  // Waits for the end of the call.
  absl::Status End() const {
    if (!Eventually([&] { return has_ended(); })) return absl::UnknownError("the upload goes on");
    absl::MutexLock lock(&mu_);
    return *end_;
  }

 private:
  mutable absl::Mutex mu_;
  int written_ ABSL_GUARDED_BY(mu_) = 0;
  int answers_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status write_error_ ABSL_GUARDED_BY(mu_);
  std::string last_ ABSL_GUARDED_BY(mu_);
  absl::optional<absl::Status> end_ ABSL_GUARDED_BY(mu_);
};

// Uploader: writes the parcels of its plan, and meanwhile reads the answers.
class Uploader : public Actor {
 public:
  Mailbox<"write", int> write{this};
  Mailbox<"read", int> read{this};
  Mailbox<"end", UploadEnd> end{this};

 protected:
  Uploader(desk::DeskRef desk, UploadPlan plan, std::shared_ptr<UploadNotes> notes)
      : desk_(desk), plan_(std::move(plan)), notes_(std::move(notes)) {}

  void Begin() {
    context().Tell(write, 0);
    context().Tell(read, 0);
  }
  desk::Parcel ParcelOf(int number) const {
    desk::Parcel parcel = plan_.special.has_value() && number == plan_.special_at ? *plan_.special : desk::Parcel();
    parcel.set_text(absl::StrCat(number, " "));
    parcel.mutable_text()->resize(std::max(parcel.text().size(), plan_.bytes), '.');
    return parcel;
  }
  template <class Answer>
  Task<> WriteTo(Upload<desk::Parcel, Answer>& upload) {
    for (int i = 0; i < plan_.parcels; ++i) {
      auto writing = upload.items.Write(ParcelOf(i), plan_.write_within);
      const absl::Status written = co_await writing;
      notes_->NoteWrite(written);
      if (!written.ok()) co_return;
    }
    EndBy(upload, plan_.end);
  }
  template <class Answer>
  void EndBy(Upload<desk::Parcel, Answer>& upload, UploadEnd how) {
    switch (how) {
      case UploadEnd::kFinish:
        return upload.items.Finish(absl::OkStatus());
      case UploadEnd::kFail:
        return upload.items.Finish(absl::DataLossError("the parcels are lost"));
      case UploadEnd::kDrop: {
        const StreamWriter<desk::Parcel> dropped = std::move(upload.items);
        return;
      }
      case UploadEnd::kCancel:
        is_cancelled_ = true;
        return upload.answer.Cancel();
      case UploadEnd::kStay:
        return;
    }
  }

  const desk::DeskRef desk_;
  const UploadPlan plan_;
  const std::shared_ptr<UploadNotes> notes_;
  bool is_cancelled_ = false;
};

// By Collect.
class Collector final : public Uploader {
 public:
  Collector(desk::DeskRef desk, UploadPlan plan, std::shared_ptr<UploadNotes> notes)
      : Uploader(desk, std::move(plan), std::move(notes)) {}

 private:
  StartResult Start() override {
    upload_.emplace(desk_.collect().Open(plan_.timeout));
    Begin();
    return uploading_;
  }
  Task<> Write(int /*go*/) { return WriteTo(*upload_); }
  void End(UploadEnd how) { EndBy(*upload_, how); }
  Task<> Read(int /*go*/) {
    const absl::StatusOr<desk::Text> reply = co_await upload_->answer;
    if (reply.ok()) notes_->NoteAnswer(reply->text());
    notes_->NoteEnd(reply.status());
  }

  absl::optional<Upload<desk::Parcel, Pending<desk::Text>>> upload_;
  Behavior uploading_{"uploading", On(write, &Collector::Write).Interleaved(), On(read, &Collector::Read).Interleaved(),
                      On(end, &Collector::End)};
};

// By Converse.
class Converser final : public Uploader {
 public:
  Converser(desk::DeskRef desk, UploadPlan plan, std::shared_ptr<UploadNotes> notes)
      : Uploader(desk, std::move(plan), std::move(notes)) {}

 private:
  StartResult Start() override {
    upload_.emplace(desk_.converse().Open());
    Begin();
    return uploading_;
  }
  Task<> Write(int /*go*/) { return WriteTo(*upload_); }
  void End(UploadEnd how) { EndBy(*upload_, how); }
  Task<> Read(int /*go*/) {
    while (!is_cancelled_) {
      auto next = upload_->answer.Next(kWithin);
      const absl::StatusOr<absl::optional<desk::Text>> answer = co_await next;
      if (!answer.ok() || !answer->has_value()) co_return notes_->NoteEnd(answer.status());
      notes_->NoteAnswer((*answer)->text());
    }
    notes_->NoteEnd(MakeError(ErrorKind::kCancelled, "between two answers"));
  }

  absl::optional<Upload<desk::Parcel, Stream<desk::Text>>> upload_;
  Behavior uploading_{"uploading", On(write, &Converser::Write).Interleaved(), On(read, &Converser::Read).Interleaved(),
                      On(end, &Converser::End)};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_CLIENT_UPLOADER_H_
