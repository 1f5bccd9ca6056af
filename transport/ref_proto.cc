#include "understudy/transport/ref_proto.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/check.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/ref.pb.h"
#include "understudy/transport/codec/frame_codec.h"

namespace understudy {

proto::Ref ToProto(Pid pid) {
  proto::Ref ref;
  if (pid.is_null()) return ref;
  const internal::NodeEntry* node = internal::NodeTable::FindEver(pid.place());
  UNDERSTUDY_CHECK(node != nullptr, "a pid without a node: ", pid.ToString());
  ref.set_node(node->name);
  ref.set_incarnation(node->incarnation.bits);
  const ActorAddress address = internal::AddressOf(pid);
  ref.set_cell(address.cell);
  ref.set_serial(address.serial);
  return ref;
}

absl::StatusOr<Pid> PidFromProto(const proto::Ref& ref, Pid local) {
  const internal::NodeEntry* own = internal::NodeTable::At(local.node());
  UNDERSTUDY_CHECK(own != nullptr, "not a pid of an actor system: ", local.ToString());
  if (ref.incarnation() == 0 && ref.serial() == 0) return Pid();
  const ActorAddress address{.cell = ref.cell(), .serial = ref.serial()};
  if (ref.incarnation() == 0 || address.serial == 0 || address.serial >= ActorAddress::kSerialEnd ||
      address.cell >= ActorAddress::kCellEnd) {
    return absl::InvalidArgumentError(absl::StrCat("a Ref with incarnation ", ref.incarnation(), ", cell ", ref.cell(),
                                                   " and serial ", ref.serial(), " names no actor"));
  }
  absl::Status named = ValidateNodeName(ref.node());
  if (!named.ok()) return named;
  if (ref.incarnation() == own->incarnation.bits && own->is_local) return internal::PidAt(local.node(), address);

  const absl::StatusOr<NodePlace> place = internal::NodeTable::InternFromRef(
      {.system = own->system, .name = ref.node(), .incarnation = {ref.incarnation()}, .is_local = false});
  if (!place.ok()) return place.status();
  return internal::PidAt(*place, address);
}

}  // namespace understudy
