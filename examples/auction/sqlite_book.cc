#include "understudy/examples/auction/sqlite_book.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/context.h"
#include "understudy/actors/ref.h"

namespace auction {
namespace {

// Bounds the wait of the first record in a batch, and what one commit writes.
constexpr size_t kBatchRecordsMax = 256;

}  // namespace

understudy::StartResult SqliteBook::Start() {
  absl::StatusOr<std::unique_ptr<LedgerStore>> store = LedgerStore::Open(path_);
  if (!store.ok()) return store.status();
  store_ = *std::move(store);
  return serving_;
}

absl::Status SqliteBook::Record(RecordRequest request, understudy::Replier<RecordReply> replier) {
  pending_.push_back(std::move(request));
  repliers_.push_back(std::move(replier));
  if (pending_.size() >= kBatchRecordsMax) return Flush();
  if (pending_.size() == 1) context().Tell(flush_, FlushNow());
  return absl::OkStatus();
}

absl::StatusOr<LotState> SqliteBook::Load(const LoadRequest& request) {
  absl::Status flushed = Flush();
  if (!flushed.ok()) return flushed;
  return store_->Load(request.lot());
}

absl::Status SqliteBook::Flush() {
  if (pending_.empty()) return absl::OkStatus();
  const std::vector<RecordRequest> batch = std::exchange(pending_, {});
  std::vector<understudy::Replier<RecordReply>> repliers = std::exchange(repliers_, {});
  absl::StatusOr<std::vector<absl::StatusOr<RecordReply>>> replies = store_->Commit(batch);
  for (size_t i = 0; i < repliers.size(); ++i) {
    repliers[i].Reply(replies.ok() ? std::move((*replies)[i]) : replies.status());
  }
  if (replies.ok()) return absl::OkStatus();
  if (absl::IsUnavailable(replies.status())) return replies.status();
  return Fail(replies.status());
}

}  // namespace auction
