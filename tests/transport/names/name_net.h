// NameNet: name tables that tell each other names over sessions, in order in each direction; the test says which
// message arrives next. It is a value: a copy is independent. Node i is called 'a' + i, and its pids have the index i +
// 1 on every node.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_NAMES_NAME_NET_H_
#define UNDERSTUDY_TESTS_TRANSPORT_NAMES_NAME_NET_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/names/name_table.h"

namespace understudy {

class NameNet {
 public:
  // Whether `owner` is granted a name on `node`.
  using Grants = std::function<bool(absl::string_view node, absl::string_view owner, absl::string_view name)>;
  // Sees each message that leaves; false drops it.
  using Sent = std::function<bool(NameNet& net, int from, int to, proto::NameChanges& changes)>;

  static MonotonicTime At(int64_t nanos) { return MonotonicTime::FromNanos(nanos); }
  static std::string NodeOf(int node) { return std::string(1, static_cast<char>('a' + node)); }

  explicit NameNet(int nodes, const Grants& grants = nullptr) {
    for (int i = 0; i < nodes; ++i) {
      tables_.emplace_back(NodeOf(i), [grants, node = NodeOf(i)](absl::string_view owner, absl::string_view name) {
        return grants == nullptr || grants(node, owner, name);
      });
    }
  }

  // Sets a function that is applied to every message, for models of a wrong rule.
  void SetSent(Sent sent) { sent_ = std::move(sent); }

  NameTable& table(int node) { return tables_[node]; }

  absl::Status Claim(int node, absl::string_view name, uint64_t serial, int64_t at = 100) {
    kept_.erase({node, std::string(name)});
    const absl::Status claimed = tables_[node].Claim(name, Pid(static_cast<uint16_t>(node + 1), 1, serial), At(at), {});
    Tell();
    return claimed;
  }
  // True when it had an owner here.
  bool Release(int node, absl::string_view name) {
    const absl::optional<NameEntry> entry = tables_[node].Find(name);
    if (!entry.has_value() || entry->node != NodeOf(node)) return false;
    tables_[node].Release(name, entry->pid);
    Tell();
    return true;
  }
  void Vacate(int node, absl::string_view name) {
    const absl::optional<NameEntry> entry = tables_[node].Find(name);
    const bool is_own = entry.has_value() && entry->node == NodeOf(node);
    tables_[node].Vacate(name, is_own ? entry->pid : Pid());
    kept_.emplace(node, name);
    Tell();
  }
  void Free(int node, absl::string_view name) {
    tables_[node].Free(name);
    kept_.erase({node, std::string(name)});
    Tell();
  }
  // Returns whether the node keeps the name vacant.
  bool Keeps(int node, absl::string_view name) const { return kept_.contains({node, std::string(name)}); }
  bool Owns(int node, absl::string_view name) {
    const absl::optional<NameEntry> entry = tables_[node].Find(name);
    return entry.has_value() && entry->node == NodeOf(node);
  }

  bool IsJoined(int i, int j) const { return joined_.contains(std::minmax(i, j)); }
  // A session begins; by the nodes' clocks, at these times.
  void Join(int i, int j, int64_t at_i = 200, int64_t at_j = 200) {
    joined_.insert(std::minmax(i, j));
    tables_[i].OnSessionBegun(NodeOf(j), static_cast<uint16_t>(j + 1), At(at_i));
    tables_[j].OnSessionBegun(NodeOf(i), static_cast<uint16_t>(i + 1), At(at_j));
    Tell();
  }
  void Cut(int i, int j) {
    joined_.erase(std::minmax(i, j));
    queues_.erase({i, j});
    queues_.erase({j, i});
    tables_[i].OnSessionEnded(NodeOf(j));
    tables_[j].OnSessionEnded(NodeOf(i));
    Tell();
  }

  // Which (from, to) have a message on its way.
  std::vector<std::pair<int, int>> Ready() const {
    std::vector<std::pair<int, int>> ready;
    for (const auto& [pair, queue] : queues_) {
      if (!queue.empty()) ready.push_back(pair);
    }
    return ready;
  }
  void Deliver(int from, int to) {
    const std::string bytes = queues_[{from, to}].front();
    queues_[{from, to}].pop_front();
    const absl::Status taken = tables_[to].OnChanges(NodeOf(from), bytes);
    EXPECT_TRUE(taken.ok()) << taken;
    tables_[to].OnChangesEntered(NodeOf(from));
    Tell();
  }
  void DeliverAll() {
    for (auto ready = Ready(); !ready.empty(); ready = Ready()) Deliver(ready.front().first, ready.front().second);
  }
  // Puts the messages that the tables have to send on their way.
  void Tell() {
    const int nodes = static_cast<int>(tables_.size());
    for (bool told = true; told;) {
      told = false;
      for (int i = 0; i < nodes; ++i) {
        for (int j = 0; j < nodes; ++j) {
          while (absl::optional<NameFeed::Part> part = tables_[i].TakePart(NodeOf(j))) {
            TellPart(i, j, part->changes);
            told = true;
          }
        }
      }
    }
  }

  // "show name node", "hide name", "lost name node-that-won", …
  std::vector<std::string> Changes(int node) {
    std::vector<std::string> out;
    for (const NameTable::Change& change : tables_[node].TakeChanges()) out.push_back(TextOf(change));
    return out;
  }

  // All that the future depends on.
  std::string DebugString() const {
    std::string text;
    for (const NameTable& table : tables_) absl::StrAppend(&text, table.DebugString(), "\n");
    for (const auto& [pair, queue] : queues_) {
      if (queue.empty()) continue;
      absl::StrAppend(&text, pair.first, ">", pair.second);
      for (const std::string& bytes : queue) absl::StrAppend(&text, " (", bytes, ")");
    }
    return text;
  }

  static std::string TextOf(const NameTable::Change& change) {
    switch (change.kind) {
      case NameTable::Change::Kind::kShow:
        return absl::StrCat("show ", change.name, " ", change.entry.node);
      case NameTable::Change::Kind::kHide:
        return absl::StrCat("hide ", change.name);
      case NameTable::Change::Kind::kVacant:
        return absl::StrCat("vacant ", change.name);
      case NameTable::Change::Kind::kNotVacant:
        return absl::StrCat("not vacant ", change.name);
      case NameTable::Change::Kind::kLost:
        return absl::StrCat("lost ", change.name, " to ", change.peer);
      case NameTable::Change::Kind::kForbidden:
        return absl::StrCat("forbidden ", change.name, " by ", change.peer);
      case NameTable::Change::Kind::kRefused:
        return absl::StrCat("refused ", change.name, " by ", change.peer);
      case NameTable::Change::Kind::kNotGranted:
        return absl::StrCat("not granted ", change.name, " to ", change.peer);
      case NameTable::Change::Kind::kTooMany:
        return absl::StrCat("too many ", change.name, " of ", change.peer);
    }
    return "?";
  }

 private:
  void TellPart(int from, int to, proto::NameChanges& changes) {
    if (sent_ != nullptr && !sent_(*this, from, to, changes)) return;
    const std::string bytes = changes.SerializeAsString();
    const bool only_acknowledges =
        changes.changes_size() == 0 && changes.definitions_size() == 0 && changes.descriptions_size() == 0;
    if (only_acknowledges) {
      // Flow control is tested elsewhere: an acknowledgement takes no time.
      EXPECT_TRUE(tables_[to].OnChanges(NodeOf(from), bytes).ok());
    } else {
      queues_[{from, to}].push_back(bytes);
    }
  }

  std::vector<NameTable> tables_;
  std::set<std::pair<int, std::string>> kept_;
  std::set<std::pair<int, int>> joined_;
  std::map<std::pair<int, int>, std::deque<std::string>> queues_;
  Sent sent_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_NAMES_NAME_NET_H_
