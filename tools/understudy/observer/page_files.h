// The files of the page, which the build puts into the program. Constant; any thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_PAGE_FILES_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_PAGE_FILES_H_

#include "absl/strings/string_view.h"

namespace understudy::tool {

struct PageFile {
  absl::string_view name;  // "page.html"
  absl::string_view content;
};

// The file of that name, or null.
const PageFile* FindPageFile(absl::string_view name);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_PAGE_FILES_H_
