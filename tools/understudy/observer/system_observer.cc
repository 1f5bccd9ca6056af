#include "understudy/tools/understudy/observer/system_observer.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace understudy::tool {

absl::StatusOr<std::unique_ptr<SystemObserver>> SystemObserver::Start(ActorSystem& system, Node* node,
                                                                      const std::string& folder) {
  std::string made;
  if (folder.empty()) {
    std::error_code error;
    made = absl::StrCat(std::filesystem::temp_directory_path(error).string(), "/observe.XXXXXX");
    if (mkdtemp(made.data()) == nullptr) {
      return absl::UnavailableError(absl::StrCat("cannot make the folder ", made, ": errno ", errno));
    }
  }
  std::unique_ptr<SystemObserver> started(new SystemObserver(made));
  const std::string socket = absl::StrCat(folder.empty() ? made : folder, "/ops");
  absl::StatusOr<std::unique_ptr<Ops>> ops =
      Ops::Start(system, {.listen = absl::StrCat("unix:", socket), .node = node});
  if (!ops.ok()) return ops.status();
  started->ops_ = *std::move(ops);
  absl::StatusOr<std::unique_ptr<Observer>> observer = Observer::Start({.nodes = {socket}});
  if (!observer.ok()) return observer.status();
  started->observer_ = *std::move(observer);
  return started;
}

SystemObserver::~SystemObserver() {
  observer_ = nullptr;
  ops_ = nullptr;
  std::error_code ignored;
  if (!made_folder_.empty()) std::filesystem::remove(made_folder_, ignored);
}

}  // namespace understudy::tool
