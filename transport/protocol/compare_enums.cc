#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "understudy/transport/protocol/comparison.h"
#include "understudy/transport/protocol/ranges.h"

namespace understudy::actor_protocol {
namespace {

class EnumComparison {
 public:
  EnumComparison(const EnumType& before, const EnumType& after, Comparison& comparison)
      : before_(before), after_(after), c_(comparison), role_(comparison.roles[before.name()]) {}

  void Run() {
    for (const EnumValue& value : before_.value()) MatchValue(value);
    for (const EnumValue& value : after_.value()) {
      if (FindName(before_.value(), value.name()) != nullptr) continue;
      if (FindNumber(before_.value(), value.number()) != nullptr) continue;
      c_.AddNote(value, absl::StrCat("value ", before_.name(), ".", value.name(), " is not in the baseline yet"));
    }
    CompareReserved();
    if (!before_.closed() && after_.closed()) {
      Add(Rule::kEnumClosed, after_, before_, absl::StrCat("enum ", before_.name(), " was open and is closed (proto2)"),
          "When an updated peer reads a number that it does not know, the field arrives as unset.",
          role_.Breaks(true, false));
    }
  }

 private:
  void Add(Rule rule, const google::protobuf::Message& now, const google::protobuf::Message& then, std::string what,
           std::string breaks, Affected affected) {
    c_.Add({.rule = rule,
            .place = c_.after.PlaceOf(now),
            .what = std::move(what),
            .breaks = std::move(breaks),
            .affected = affected,
            .baseline = c_.before.PlaceOf(then)});
  }

  void MatchValue(const EnumValue& value) {
    const std::string name = absl::StrCat("value ", before_.name(), ".", value.name());
    const EnumValue* const same_name = FindName(after_.value(), value.name());
    const EnumValue* const same_number = FindNumber(after_.value(), value.number());
    if (same_name != nullptr && same_name->number() != value.number()) {
      Add(Rule::kEnumValueRenumbered, *same_name, value,
          absl::StrCat(name, " was renumbered from ", value.number(), " to ", same_name->number()),
          absl::StrCat("Only the number is in the bytes, so the value arrives as ",
                       same_number == nullptr ? "an unknown one" : same_number->name(), "."),
          role_.Breaks(true, true));
    } else if (same_name == nullptr && same_number != nullptr) {
      // A value that was renumbered to here is told as that.
      if (FindName(before_.value(), same_number->name()) != nullptr) return;
      c_.AddNote(*same_number, absl::StrCat(name, " is called ", same_number->name(),
                                            " now: the number is the same, so it must mean the same"));
    } else if (same_number == nullptr && !Holds(after_.reserved(), value.number())) {
      Add(Rule::kEnumValueRemoved, after_, value, absl::StrCat(name, " was removed and its number is not reserved"),
          absl::StrCat(kNumberIsFree, "declare `reserved ", value.number(), ";`."), role_.Breaks(true, true));
    }
  }

  void CompareReserved() {
    for (const Range& range : before_.reserved()) {
      const int64_t free = FirstOutside(range, after_.reserved());
      if (free > range.last()) continue;
      const EnumValue* const user = FindNumber(after_.value(), free);
      const google::protobuf::Message& place = user == nullptr ? static_cast<const google::protobuf::Message&>(after_)
                                                               : static_cast<const google::protobuf::Message&>(*user);
      Add(Rule::kReservedRemoved, place, before_,
          user == nullptr ? absl::StrCat("number ", free, " of ", before_.name(), " is not reserved any more")
                          : absl::StrCat("value ", before_.name(), ".", user->name(), " has the number ", free,
                                         ", which was reserved"),
          "An earlier value had the number, so old peers and stored messages may mean that value.",
          role_.Breaks(true, true));
    }
  }

  const EnumType& before_;
  const EnumType& after_;
  Comparison& c_;
  const Role role_;
};

}  // namespace

void CompareEnums(const EnumType& before, const EnumType& after, Comparison& comparison) {
  EnumComparison(before, after, comparison).Run();
}

}  // namespace understudy::actor_protocol
