#include "understudy/tools/understudy/tree_pages.h"

#include <google/protobuf/message.h>
#include <google/protobuf/repeated_field.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/proto/ops.pb.h"

namespace understudy::tool {
namespace {

constexpr uint32_t kEntriesPerPage = 10'000;  // as many as a node gives
constexpr uint32_t kActorsPerPage = 1000;

bool IsAfter(const proto::TreePlace& a, const proto::TreePlace& b) {
  return std::pair(a.supervisor(), a.child()) > std::pair(b.supervisor(), b.child());
}

// Appends the supervisors of `page`, of which the first may be the last one of `all` with its further children. Returns
// false if there is more in the page than `bytes_left`, from which it takes what is appended.
bool Append(proto::GetTreeReply& page, size_t& bytes_left, proto::GetTreeReply& all) {
  const auto take = [&bytes_left](const google::protobuf::Message& entry) {
    const size_t bytes = entry.ByteSizeLong();
    if (bytes > bytes_left) return false;
    bytes_left -= bytes;
    return true;
  };
  all.set_clock_nanos(page.clock_nanos());
  for (proto::SupervisorDetails& supervisor : *page.mutable_supervisors()) {
    google::protobuf::RepeatedPtrField<proto::ChildDetails> children;
    children.Swap(supervisor.mutable_children());
    const int last = all.supervisors_size() - 1;
    if (last < 0 || all.supervisors(last).pid() != supervisor.pid()) {
      if (!take(supervisor)) return false;
      *all.add_supervisors() = std::move(supervisor);
    }
    proto::SupervisorDetails& into = *all.mutable_supervisors(all.supervisors_size() - 1);
    for (proto::ChildDetails& child : children) {
      if (!take(child)) return false;
      *into.add_children() = std::move(child);
    }
  }
  return true;
}

}  // namespace

absl::Status PageBound::Add(const google::protobuf::Message& page) {
  ++pages_;
  bytes_ += page.ByteSizeLong();
  if (pages_ <= kPagesMax && bytes_ <= kBytesMax) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the node's answer does not end: expected at most ", kPagesMax,
                                                   " pages and ", kBytesMax >> 20, " MiB"));
}

absl::StatusOr<proto::GetTreeReply> AllTreePages(const TreeBounds& bounds, AskTree ask) {
  proto::GetTreeRequest request;
  request.set_at_most(kEntriesPerPage);
  proto::GetTreeReply all;
  PageBound pages;
  size_t bytes_left = bounds.bytes_max;
  for (size_t entries = 0;;) {
    absl::StatusOr<proto::GetTreeReply> page = ask(request);
    if (!page.ok()) return page.status();
    if (absl::Status bounded = pages.Add(*page); !bounded.ok()) return bounded;
    for (const proto::SupervisorDetails& supervisor : page->supervisors()) {
      entries += 1 + static_cast<size_t>(supervisor.children_size());
    }
    const bool is_appended = Append(*page, bytes_left, all);
    if (!is_appended) *all.mutable_next() = page->next();
    if (!is_appended || !page->has_next()) break;
    if (!IsAfter(page->next(), request.from())) {
      return absl::InternalError("the node does not say where its tree goes on");
    }
    *request.mutable_from() = page->next();
    if (entries < bounds.entries_max) continue;
    *all.mutable_next() = page->next();
    break;
  }
  return all;
}

absl::StatusOr<std::vector<proto::ActorDetails>> AllActorPages(proto::ListActorsRequest request, AskActors ask) {
  request.set_at_most(kActorsPerPage);
  std::vector<proto::ActorDetails> actors;
  PageBound pages;
  while (true) {
    absl::StatusOr<proto::ListActorsReply> page = ask(request);
    if (!page.ok()) return page.status();
    if (absl::Status bounded = pages.Add(*page); !bounded.ok()) return bounded;
    for (proto::ActorDetails& actor : *page->mutable_actors()) actors.push_back(std::move(actor));
    if (page->next() == 0) return actors;
    if (page->next() <= request.after()) {
      return absl::InternalError("the node does not say where its actors go on");
    }
    request.set_after(page->next());
  }
}

absl::StatusOr<proto::ListNamesReply> AllNamePages(absl::string_view prefix, AskNames ask) {
  proto::ListNamesRequest request;
  request.set_prefix(std::string(prefix));
  proto::ListNamesReply all;
  PageBound pages;
  while (true) {
    absl::StatusOr<proto::ListNamesReply> page = ask(request);
    if (!page.ok()) return page.status();
    if (absl::Status bounded = pages.Add(*page); !bounded.ok()) return bounded;
    for (proto::NameDetails& name : *page->mutable_names()) *all.add_names() = std::move(name);
    if (!page->has_more()) return all;
    if (page->next() <= request.page()) {
      return absl::InternalError("the node does not say where its names go on");
    }
    request.set_page(page->next());
  }
}

void MoveClock(int64_t clock_nanos, proto::GetTreeReply& tree) {
  // Durations do not overflow.
  const absl::Duration by = absl::Nanoseconds(clock_nanos) - absl::Nanoseconds(tree.clock_nanos());
  const auto moved = [by](int64_t nanos) {
    return nanos == 0 ? 0 : absl::ToInt64Nanoseconds(absl::Nanoseconds(nanos) + by);
  };
  tree.set_clock_nanos(clock_nanos);
  for (proto::SupervisorDetails& supervisor : *tree.mutable_supervisors()) {
    for (proto::ChildDetails& child : *supervisor.mutable_children()) {
      child.set_starts_at_nanos(moved(child.starts_at_nanos()));
      child.set_exited_at_nanos(moved(child.exited_at_nanos()));
    }
  }
}

}  // namespace understudy::tool
