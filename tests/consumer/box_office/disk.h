// Disk: the data that outlives the nodes of the box office. A program would have a database here.
#ifndef BOX_OFFICE_DISK_H_
#define BOX_OFFICE_DISK_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "box_office/box_office.pb.h"

namespace consumer::box_office {

// The safe's.
struct Accounts {
  std::map<std::string, int64_t> cents = {{"till", 0}};
  std::set<std::string> known;  // the ids of all changes
};

// The paymaster's: the payments that have begun and are not known to be finished.
using Journal = std::map<std::string, PayRequest>;

}  // namespace consumer::box_office

#endif  // BOX_OFFICE_DISK_H_
