// The part of PlainDesk that handles the streams of parcels which clients send, as desk.proto describes. It uses gRPC
// only.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_CLIENT_PLAIN_UPLOADS_H_
#define UNDERSTUDY_TESTS_TRANSPORT_CLIENT_PLAIN_UPLOADS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "understudy/tests/transport/gateway/desk.pb.h"

namespace understudy {

struct UploadCounts {
  std::atomic<int> open{0};      // uploads whose call is not over
  std::atomic<int> parcels{0};   // taken
  std::atomic<int> stays{0};     // uploads of which no more is read
  std::atomic<int> complete{0};  // those whose client has said that these were all
  std::atomic<int> broken{0};    // those whose client has cancelled or gone before the answer
};

// Takes parcels until the client has sent its last one, or until a parcel asks to stop reading or to end the call.
template <class Reactor>
class TakingParcels : public Reactor {
 public:
  TakingParcels(UploadCounts& counts, const grpc::CallbackServerContext& context) : counts_(counts), context_(context) {
    ++counts_.open;
  }

  void OnReadDone(bool ok) override {
    if (!ok) return OnEnd();
    if (!absl::StartsWith(parcel_.text(), absl::StrCat(number_, " "))) {
      return End(grpc::Status(grpc::StatusCode::DATA_LOSS, absl::StrCat("a parcel is not number ", number_)));
    }
    ++counts_.parcels;
    if (parcel_.stay()) return Stay();
    if (parcel_.has_end()) {
      return End(grpc::Status(static_cast<grpc::StatusCode>(parcel_.end().code()), parcel_.end().text()));
    }
    ++number_;
    Take(parcel_);
  }
  void OnCancel() override {
    {
      absl::MutexLock lock(&mu_);
      is_cancelled_ = true;
      if (!is_staying_) return;  // the read or write that is under way fails
    }
    End(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 protected:
  ~TakingParcels() override { --counts_.open; }

  // A parcel that the call goes on after.
  virtual void Take(const desk::Parcel& parcel) = 0;
  virtual void SetReply(int /*parcels*/) {}
  void ReadParcel() { this->StartRead(&parcel_); }
  // Nothing of this object is used after it.
  void End(const grpc::Status& status) {
    {
      absl::MutexLock lock(&mu_);
      if (std::exchange(has_ended_, true)) return;
    }
    if (status.error_code() == grpc::StatusCode::CANCELLED) ++counts_.broken;
    SetReply(number_);
    this->Finish(status);
  }

 private:
  void OnEnd() {
    if (context_.IsCancelled()) return End(grpc::Status::CANCELLED);
    ++counts_.complete;
    End(grpc::Status::OK);
  }
  void Stay() {
    bool is_cancelled = false;
    {
      absl::MutexLock lock(&mu_);
      is_staying_ = true;
      is_cancelled = is_cancelled_;
    }
    ++counts_.stays;
    if (is_cancelled) End(grpc::Status::CANCELLED);
  }

  UploadCounts& counts_;
  const grpc::CallbackServerContext& context_;
  desk::Parcel parcel_;
  int number_ = 0;
  absl::Mutex mu_;
  bool is_cancelled_ ABSL_GUARDED_BY(mu_) = false;
  bool is_staying_ ABSL_GUARDED_BY(mu_) = false;
  bool has_ended_ ABSL_GUARDED_BY(mu_) = false;
};

// Answers with the number of the parcels.
class Collecting final : public TakingParcels<grpc::ServerReadReactor<desk::Parcel>> {
 public:
  Collecting(UploadCounts& counts, const grpc::CallbackServerContext& context, desk::Text& reply)
      : TakingParcels(counts, context), reply_(reply) {
    ReadParcel();
  }

 private:
  void Take(const desk::Parcel& /*parcel*/) override { ReadParcel(); }
  void SetReply(int parcels) override { reply_.set_text(absl::StrCat(parcels, " parcels")); }

  desk::Text& reply_;
};

// Answers each parcel with its text, before it reads the next one.
class Conversing final : public TakingParcels<grpc::ServerBidiReactor<desk::Parcel, desk::Text>> {
 public:
  Conversing(UploadCounts& counts, const grpc::CallbackServerContext& context) : TakingParcels(counts, context) {
    ReadParcel();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return End(grpc::Status::CANCELLED);
    ReadParcel();
  }

 private:
  void Take(const desk::Parcel& parcel) override {
    answer_.set_text(parcel.text());
    StartWrite(&answer_);
  }

  desk::Text answer_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_CLIENT_PLAIN_UPLOADS_H_
