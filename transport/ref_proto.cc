#include "understudy/transport/ref_proto.h"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/check.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/ref.pb.h"
#include "understudy/transport/frame_codec.h"

namespace understudy {
namespace {

using NodeKey = std::tuple<const void*, std::string, uint64_t>;

// Which nodes refs have named, so that their number has a bound.
struct Learned {
  absl::Mutex mu;
  std::map<NodeKey, uint16_t> indices ABSL_GUARDED_BY(mu);
};

// Whether the index still means that; it may be another's since its system has
// ended.
bool Means(uint16_t index, const NodeKey& key) {
  const internal::NodeEntry* entry = internal::NodeTable::Find(index);
  return entry != nullptr && NodeKey(entry->system, entry->name, entry->incarnation.bits) == key;
}

Learned& GetLearned() {
  static Learned* const learned = new Learned;
  return *learned;
}

}  // namespace

proto::Ref ToProto(Pid pid) {
  proto::Ref ref;
  if (pid.is_null()) return ref;
  const internal::NodeEntry* node = internal::NodeTable::Find(pid.node());
  UNDERSTUDY_CHECK(node != nullptr, "a pid without a node: ", pid.ToString());
  ref.set_node(node->name);
  ref.set_incarnation(node->incarnation.bits);
  ref.set_cell(pid.cell());
  ref.set_serial(pid.serial());
  return ref;
}

absl::StatusOr<Pid> PidFromProto(const proto::Ref& ref, Pid local) {
  const internal::NodeEntry* own = internal::NodeTable::Find(local.node());
  UNDERSTUDY_CHECK(own != nullptr, "not a pid of an actor system: ", local.ToString());
  if (ref.incarnation() == 0 && ref.serial() == 0) return Pid();
  if (ref.incarnation() == 0 || ref.serial() == 0 || ref.serial() >= uint64_t{1} << 48) {
    return absl::InvalidArgumentError(
        absl::StrCat("a Ref with incarnation ", ref.incarnation(), " and serial ", ref.serial(), " names no actor"));
  }
  absl::Status named = ValidateNodeName(ref.node());
  if (!named.ok()) return named;
  if (ref.incarnation() == own->incarnation.bits && own->is_local) return Pid(local.node(), ref.cell(), ref.serial());

  Learned& learned = GetLearned();
  absl::MutexLock lock(&learned.mu);
  const NodeKey key(own->system, ref.node(), ref.incarnation());
  auto known = learned.indices.find(key);
  const bool is_stale = known != learned.indices.end() && !Means(known->second, key);
  if (is_stale || learned.indices.size() >= limits::kNodesLearnedFromRefsMax) {
    std::erase_if(learned.indices, [](const auto& entry) { return !Means(entry.second, entry.first); });
    known = learned.indices.find(key);
  }
  if (known == learned.indices.end()) {
    if (learned.indices.size() >= limits::kNodesLearnedFromRefsMax) {
      return absl::ResourceExhaustedError(absl::StrCat("refs have named ", limits::kNodesLearnedFromRefsMax,
                                                       " incarnations of nodes; no more are kept"));
    }
    const uint16_t index = internal::NodeTable::Intern(
        {.system = own->system, .name = ref.node(), .incarnation = {ref.incarnation()}, .is_local = false});
    known = learned.indices.emplace(key, index).first;
  }
  return Pid(known->second, ref.cell(), ref.serial());
}

}  // namespace understudy
