// TreeChanges: what changed in a node's supervision tree from one look to the next, so that a page gets the children
// and supervisors that changed, and not the whole tree each second. A state machine: one thread, no clock.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_TREE_CHANGES_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_TREE_CHANGES_H_

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "understudy/proto/ops.pb.h"

namespace understudy::tool {

class TreeChanges {
 public:
  // The changes since the last look, as JSON for pages: {"whole":false,"more":…,"clock":…,"gone":[pid…],
  // "supervisors":[…],"own":[…],"children":[{"of":pid,"at":…,"child":…}…]}. A supervisor that is new, or has other
  // children than before, is in "supervisors" with all its children. Any other supervisor that has changed is in "own",
  // without its children, and each child that has changed is in "children", with its place among its siblings. Returns
  // no text if nothing has changed, and several texts if the changes are long.
  std::vector<std::string> Look(proto::GetTreeReply tree);
  // The whole tree at the last look, for a page that begins. `whole` is true in the first part only.
  std::vector<std::string> All() const;

 private:
  using Children = google::protobuf::RepeatedPtrField<proto::ChildDetails>;
  struct Known {
    proto::SupervisorDetails own;  // without the children
    Children children;
  };
  // JSON of each.
  struct Changes {
    std::vector<std::string> gone;
    std::vector<std::string> supervisors;
    std::vector<std::string> own;
    std::vector<std::string> children;
  };

  static std::string WholeJson(const Known& supervisor);
  static void AddChanges(const Known& before, const Known& now, Changes& changes);
  std::vector<std::string> Parts(bool is_whole, const Changes& changes) const;

  std::map<std::string, Known> supervisors_;  // by pid
  bool has_more_ = false;
  int64_t clock_nanos_ = 0;  // the node's, at the last look
};

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_TREE_CHANGES_H_
