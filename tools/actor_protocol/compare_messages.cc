#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "understudy/tools/actor_protocol/comparison.h"
#include "understudy/tools/actor_protocol/ranges.h"
#include "understudy/tools/actor_protocol/value_type.h"

namespace understudy::actor_protocol {
namespace {

std::string TypeText(const Field& field) {
  if (field.label() == Field::MAP) return absl::StrCat("map<", field.key(), ", ", field.type(), ">");
  return absl::StrCat(field.label() == Field::REPEATED ? "repeated " : "", field.type());
}

bool IsRepeated(const Field& field) { return field.label() == Field::REPEATED || field.label() == Field::MAP; }

ValueType ValueTypeOf(const Field& field) {
  ValueType type = ParseValueType(field.type());
  type.is_repeated = field.label() == Field::REPEATED;
  return type;
}

std::string DefaultText(const Field& field) {
  return field.default_value().empty() ? "no default" : absl::StrCat("the default ", field.default_value());
}

// Returns both texts as sentences. `new_reads_old` says how a new peer misreads an old peer's messages, `old_reads_new`
// the reverse; each is empty if that peer reads them right.
std::string Sentences(const std::string& new_reads_old, const std::string& old_reads_new) {
  if (new_reads_old == old_reads_new && !new_reads_old.empty()) return absl::StrCat("Either way ", new_reads_old, ".");
  std::vector<std::string> sentences;
  if (!new_reads_old.empty()) {
    sentences.push_back(absl::StrCat("When an updated peer reads an old one's message, ", new_reads_old, "."));
  }
  if (!old_reads_new.empty()) {
    sentences.push_back(absl::StrCat("When an old peer reads an updated one's message, ", old_reads_new, "."));
  }
  return absl::StrJoin(sentences, " ");
}

class MessageComparison {
 public:
  MessageComparison(const MessageType& before, const MessageType& after, Comparison& comparison)
      : before_(before), after_(after), c_(comparison), role_(comparison.roles[before.name()]) {}

  void Run() {
    for (const Field& field : before_.field()) MatchField(field);
    for (const Field& field : after_.field()) {
      if (!known_.contains(&field)) FieldIsNew(field);
    }
    CompareOneofs();
    CompareReserved();
    CompareExtensions();
  }

 private:
  std::string NameOf(const Field& field) const { return absl::StrCat("field ", before_.name(), ".", field.name()); }

  void Add(Rule rule, const google::protobuf::Message& now, const google::protobuf::Message& then, std::string what,
           std::string breaks, Affected affected) {
    c_.Add({.rule = rule,
            .place = c_.after.PlaceOf(now),
            .what = std::move(what),
            .breaks = std::move(breaks),
            .affected = affected,
            .baseline = c_.before.PlaceOf(then)});
  }

  // ---- Which field is which ----

  // The field of after_ that `field` is now, perhaps with another name; null if it is gone or was renumbered.
  const Field* Now(const Field& field) const {
    const Field* const same_name = FindName(after_.field(), field.name());
    const Field* const same_number = FindNumber(after_.field(), field.number());
    return same_name == nullptr || same_name == same_number ? same_number : nullptr;
  }

  void MatchField(const Field& field) {
    const Field* const same_name = FindName(after_.field(), field.name());
    if (const Field* const now = Now(field)) {
      known_.insert(now);
      if (same_name == nullptr) FieldHasAnotherName(field, *now);
      CompareField(field, *now);
    } else if (same_name != nullptr) {
      known_.insert(same_name);
      const Field* const same_number = FindNumber(after_.field(), field.number());
      Add(Rule::kFieldRenumbered, *same_name, field,
          absl::StrCat(NameOf(field), " was renumbered from ", field.number(), " to ", same_name->number()),
          absl::StrCat("Only the number is in the bytes, so the field arrives as ",
                       same_number == nullptr ? "unset" : same_number->name(), "."),
          role_.Breaks(true, true));
    } else {
      FieldIsGone(field);
    }
  }

  void FieldHasAnotherName(const Field& before, const Field& after) {
    // A field that got this number by renumbering is reported as renumbered.
    if (FindName(before_.field(), after.name()) != nullptr) return;
    c_.AddNote(after, absl::StrCat(NameOf(before), " is called ", after.name(),
                                   " now: the bytes are the same, so it must mean the same"));
  }

  void FieldIsGone(const Field& field) {
    if (field.label() == Field::REQUIRED) {
      Add(Rule::kFieldRequired, after_, field, absl::StrCat(NameOf(field), ", which was required, was removed"),
          Sentences("", "it refuses every message without the field"), role_.Breaks(false, true));
    }
    if (Holds(after_.reserved(), field.number())) return;
    Add(Rule::kFieldRemoved, after_, field, absl::StrCat(NameOf(field), " was removed and its number is not reserved"),
        absl::StrCat(kNumberIsFree, "declare `reserved ", field.number(), ";`."), role_.Breaks(true, true));
  }

  void FieldIsNew(const Field& field) {
    if (field.label() == Field::REQUIRED) {
      Add(Rule::kFieldRequired, field, before_, absl::StrCat(NameOf(field), " is new and required"),
          Sentences("it refuses every message without the field", ""), role_.Breaks(true, false));
    } else {
      c_.AddNote(field, absl::StrCat(NameOf(field), " is not in the baseline yet"));
    }
  }

  // ---- One field ----

  void CompareField(const Field& before, const Field& after) {
    if (CompareTypes(before, after)) {
      CompareCardinality(before, after);
      CompareDefaults(before, after);
    }
    CompareRequired(before, after);
    ComparePresence(before, after);
  }

  // Returns whether the types are the same.
  bool CompareTypes(const Field& before, const Field& after) {
    std::string new_reads_old;
    std::string old_reads_new;
    if ((before.label() == Field::MAP) != (after.label() == Field::MAP)) {
      new_reads_old = old_reads_new = "entries may be lost, merged or read as another message";
    } else {
      CompareValues(ValueTypeOf(before), ValueTypeOf(after), new_reads_old, old_reads_new);
      if (before.label() == Field::MAP && new_reads_old.empty() && old_reads_new.empty()) {
        CompareValues(ParseValueType(before.key()), ParseValueType(after.key()), new_reads_old, old_reads_new);
      }
    }
    if (new_reads_old.empty() && old_reads_new.empty()) return true;
    Add(Rule::kFieldType, after, before,
        absl::StrCat(NameOf(before), ", number ", before.number(), ", was ", TypeText(before), " and is ",
                     TypeText(after)),
        Sentences(new_reads_old, old_reads_new), role_.Breaks(!new_reads_old.empty(), !old_reads_new.empty()));
    return false;
  }

  void CompareValues(ValueType old_type, ValueType new_type, std::string& new_reads_old, std::string& old_reads_new) {
    if (old_type.kind == new_type.kind && !old_type.name.empty() && c_.names.IsSame(old_type.name, new_type.name)) {
      c_.Reach(old_type.name, new_type.name);
      return;
    }
    if (const EnumType* const type = c_.before.FindEnum(old_type.name)) old_type.is_closed = type->closed();
    if (const EnumType* const type = c_.after.FindEnum(new_type.name)) new_type.is_closed = type->closed();
    new_reads_old = ReadingOf(old_type, new_type);
    old_reads_new = ReadingOf(new_type, old_type);
  }

  void CompareCardinality(const Field& before, const Field& after) {
    if (IsRepeated(before) == IsRepeated(after)) return;
    ValueType type = ParseValueType(before.type());
    type.is_repeated = true;
    const std::string many_as_one = type.IsMessage()     ? "it merges the elements into one"
                                    : type.MayBePacked() ? "it sees the last element, or none if they are packed"
                                                         : "it sees only the last element";
    const std::string one_as_many = type.IsMessage() ? "" : "a zero or empty value may arrive as no element";
    const std::string& new_reads_old = IsRepeated(before) ? many_as_one : one_as_many;
    const std::string& old_reads_new = IsRepeated(before) ? one_as_many : many_as_one;
    Add(Rule::kFieldCardinality, after, before,
        absl::StrCat(NameOf(before), " was ", IsRepeated(before) ? "repeated" : "not repeated", " and is ",
                     IsRepeated(after) ? "repeated" : "not repeated"),
        Sentences(new_reads_old, old_reads_new), role_.Breaks(!new_reads_old.empty(), !old_reads_new.empty()));
  }

  void CompareRequired(const Field& before, const Field& after) {
    const bool was_required = before.label() == Field::REQUIRED;
    const bool is_required = after.label() == Field::REQUIRED;
    if (was_required == is_required) return;
    const std::string refuses = "it refuses every message without the field";
    Add(Rule::kFieldRequired, after, before,
        absl::StrCat(NameOf(before), is_required ? " has become required" : " is not required any more"),
        is_required ? Sentences(refuses, "") : Sentences("", refuses), role_.Breaks(is_required, was_required));
  }

  // Whether a reader can tell an unset field from zero. Messages are alike in this, and so are required fields.
  static bool HasPresence(const Field& field) {
    return field.label() == Field::OPTIONAL || field.label() == Field::REQUIRED || !field.oneof().empty() ||
           ParseValueType(field.type()).IsMessage();
  }

  void ComparePresence(const Field& before, const Field& after) {
    if (IsRepeated(before) || IsRepeated(after) || HasPresence(before) == HasPresence(after)) return;
    if (HasPresence(after)) {
      c_.AddNote(after,
                 absl::StrCat(NameOf(before), " can be unset now: a zero that an old peer sends arrives as unset"));
      return;
    }
    if (before.label() == Field::REQUIRED) return;
    Add(Rule::kFieldPresence, after, before,
        absl::StrCat(NameOf(before), " could be told from an unset one, and cannot any more"),
        Sentences("", "a field that was set to zero or empty arrives as unset"), role_.Breaks(false, true));
  }

  void CompareDefaults(const Field& before, const Field& after) {
    if (before.default_value() == after.default_value() || IsRepeated(before) || IsRepeated(after)) return;
    Add(Rule::kFieldDefault, after, before,
        absl::StrCat(NameOf(before), " had ", DefaultText(before), " and has ", DefaultText(after)),
        "A default is not in the bytes, so what the writer left out means something else to the reader.",
        role_.Breaks(true, true));
  }

  // ---- Oneofs ----

  // Fields that are there before and after, by the oneof in which one of the two sides has them, are parted by their
  // oneofs on the other side. More than one part means that fields which excluded each other do not, or the reverse.
  void CompareOneofs() {
    std::map<std::string, std::vector<std::pair<const Field*, const Field*>>> by_old;
    std::map<std::string, std::vector<std::pair<const Field*, const Field*>>> by_new;
    for (const Field& field : before_.field()) {
      const Field* const now = Now(field);
      if (now == nullptr) continue;
      if (!field.oneof().empty()) by_old[field.oneof()].emplace_back(&field, now);
      if (!now->oneof().empty()) by_new[now->oneof()].emplace_back(&field, now);
    }
    for (const auto& [oneof, fields] : by_new) {
      const auto [field, now] = FirstApart(fields, [](const auto& pair) { return pair.first; });
      if (field == nullptr) continue;
      Add(Rule::kFieldOneof, *now, *field,
          absl::StrCat("fields of ", before_.name(), " that could be set together share oneof ", oneof,
                       " now: ", NamesOf(fields)),
          Sentences("it keeps only the last of those that are set", ""), role_.Breaks(true, false));
    }
    for (const auto& [oneof, fields] : by_old) {
      const auto [field, now] = FirstApart(fields, [](const auto& pair) { return pair.second; });
      if (field == nullptr) continue;
      Add(Rule::kFieldOneof, *now, *field,
          absl::StrCat("fields of ", before_.name(), " that shared oneof ", oneof,
                       " can be set together now: ", NamesOf(fields)),
          Sentences("", "it keeps only the last of those that are set"), role_.Breaks(false, true));
    }
  }

  // The first of `fields` that `side` has in another oneof than the first one, or in none; else two nulls.
  template <class Fields, class Side>
  static std::pair<const Field*, const Field*> FirstApart(const Fields& fields, const Side& side) {
    for (const auto& pair : fields) {
      const bool is_first = &pair == &fields.front();
      if (!is_first && (side(pair)->oneof().empty() || side(pair)->oneof() != side(fields.front())->oneof())) {
        return pair;
      }
    }
    return {nullptr, nullptr};
  }
  template <class Fields>
  static std::string NamesOf(const Fields& fields) {
    return absl::StrJoin(fields, ", ",
                         [](std::string* out, const auto& pair) { absl::StrAppend(out, pair.second->name()); });
  }

  // ---- Numbers ----

  void CompareReserved() {
    for (const Range& range : before_.reserved()) {
      const int64_t free = FirstOutside(range, after_.reserved());
      if (free > range.last()) continue;
      const Field* const user = FindNumber(after_.field(), free);
      Add(Rule::kReservedRemoved, user == nullptr ? static_cast<const google::protobuf::Message&>(after_) : *user,
          before_,
          user == nullptr ? absl::StrCat("number ", free, " of ", before_.name(), " is not reserved any more")
                          : absl::StrCat(NameOf(*user), " has the number ", free, ", which was reserved"),
          "An earlier field had the number, so old peers and stored messages may have that field there.",
          role_.Breaks(true, true));
    }
  }

  void CompareExtensions() {
    std::vector<Range> kept(after_.extensions().begin(), after_.extensions().end());
    kept.insert(kept.end(), after_.reserved().begin(), after_.reserved().end());
    for (const Range& range : before_.extensions()) {
      const int64_t gone = FirstOutside(range, kept);
      if (gone > range.last()) continue;
      Add(Rule::kExtensionsRemoved, after_, before_,
          absl::StrCat("number ", gone, " of ", before_.name(), " is not for extensions any more"),
          absl::StrCat(kNumberIsFree, "keep the range, or reserve it."), role_.Breaks(true, true));
    }
  }

  const MessageType& before_;
  const MessageType& after_;
  Comparison& c_;
  const Role role_;
  std::set<const Field*> known_;  // fields of after_ that were there before
};

}  // namespace

void CompareMessages(const MessageType& before, const MessageType& after, Comparison& comparison) {
  MessageComparison(before, after, comparison).Run();
}

}  // namespace understudy::actor_protocol
