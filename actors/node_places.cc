#include "understudy/actors/node_places.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace understudy::internal {

absl::StatusOr<NodePlaces::Taken> NodePlaces::Take(const Key& key, Source source) {
  const auto found = known_.find(key);
  if (found != known_.end()) {
    if (source == Source::kMet) Meet(key, found->second);
    return Taken{.place = found->second.place};
  }
  if (source == Source::kRef && learned_from_refs_ >= bounds_.learned_from_refs) {
    return absl::ResourceExhaustedError(absl::StrCat("refs have named ", bounds_.learned_from_refs,
                                                     " incarnations of nodes that were never met; no more are kept"));
  }
  const absl::optional<NodePlace> place = PlaceFor(source);
  if (!place.has_value()) {
    return absl::ResourceExhaustedError(
        source == Source::kSystem
            ? absl::StrCat("the table of nodes is full: this process has ", bounds_.systems,
                           " actor systems, the most that it may have, and no place for ", key.name)
            : absl::StrCat("the table of nodes is full: all ", bounds_.peers, " places are of incarnations that may ",
                           "live, or have named ", bounds_.generations,
                           " incarnations each; restart the process to meet node ", key.name));
  }
  known_.emplace(key, Known{.place = *place, .source = source});
  if (source == Source::kMet) living_.insert(key);
  if (source == Source::kRef) ++learned_from_refs_;
  return Taken{.place = *place, .is_new = true};
}

absl::optional<NodePlace> NodePlaces::PlaceFor(Source source) {
  if (source == Source::kSystem) {
    if (systems_used_ < bounds_.systems) return NodePlace(++systems_used_);  // index 0 is no node
    if (ended_systems_.empty()) return absl::nullopt;
    const uint16_t index = ended_systems_.front();
    ended_systems_.pop_front();
    return NodePlace(index);
  }
  if (peers_used_ < bounds_.peers) return NodePlace(static_cast<uint16_t>(bounds_.systems + ++peers_used_));
  if (free_.empty()) return absl::nullopt;
  const FreePlace oldest = std::move(free_.begin()->second);
  free_.erase(free_.begin());
  if (oldest.of.has_value()) known_.erase(*oldest.of);
  return NodePlace(oldest.place.index, static_cast<uint8_t>(oldest.place.generation + 1));
}

void NodePlaces::Free(NodePlace place, uint64_t died, absl::optional<Key> of) {
  if (place.generation + 1U >= bounds_.generations) return;  // the index is retired for good
  free_[died] = {.place = place, .of = std::move(of)};
}

void NodePlaces::Meet(const Key& key, Known& known) {
  if (known.source == Source::kRef) --learned_from_refs_;
  known.source = Source::kMet;
  if (known.died != 0) free_.erase(std::exchange(known.died, 0));
  living_.insert(key);
}

void NodePlaces::MarkDead(const void* system, absl::string_view name, absl::optional<uint64_t> alive) {
  auto living = living_.lower_bound({.system = system, .name = std::string(name)});
  while (living != living_.end() && living->system == system && living->name == name) {
    if (living->incarnation == alive) {
      ++living;
      continue;
    }
    Known& dead = known_.find(*living)->second;
    dead.died = ++deaths_;
    Free(dead.place, dead.died, *living);
    living = living_.erase(living);
  }
}

bool NodePlaces::IsDead(const Key& key) const {
  const auto known = known_.find(key);
  return known != known_.end() && known->second.died != 0;
}

std::vector<NodePlace> NodePlaces::Retire(const void* system) {
  std::vector<NodePlace> places;
  auto known = known_.lower_bound({.system = system});
  while (known != known_.end() && known->first.system == system) {
    const Known& ended = known->second;
    places.push_back(ended.place);
    if (ended.source == Source::kSystem) {
      ended_systems_.push_back(ended.place.index);
    } else {
      if (ended.source == Source::kRef) --learned_from_refs_;
      Free(ended.place, ended.died != 0 ? ended.died : ++deaths_, absl::nullopt);
    }
    living_.erase(known->first);
    known = known_.erase(known);
  }
  return places;
}

}  // namespace understudy::internal
