// TreeChanges: what changed in a node's supervision tree from one look to the next, so that a page gets the supervisors
// that changed, and not the whole tree each second. A state machine: one thread, no clock.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_TREE_CHANGES_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_TREE_CHANGES_H_

#include <map>
#include <string>
#include <vector>

#include "understudy/proto/ops.pb.h"

namespace understudy::tool {

class TreeChanges {
 public:
  // The changes since the last look, as JSON for pages: {"whole":false,"more":…,"gone":[pid…],"supervisors":[…]}. None
  // if nothing has changed; several if they are long.
  std::vector<std::string> Look(const proto::GetTreeReply& tree);
  // The whole tree at the last look, for a page that begins. `whole` is true in the first part only.
  std::vector<std::string> All() const;

 private:
  std::vector<std::string> Parts(bool is_whole, const std::vector<std::string>& gone,
                                 const std::vector<const std::string*>& supervisors) const;

  std::map<std::string, std::string> supervisors_;  // JSON by pid
  bool has_more_ = false;
};

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_TREE_CHANGES_H_
