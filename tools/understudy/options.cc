#include "understudy/tools/understudy/options.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "understudy/actors/printable_text.h"

namespace understudy::tool {
namespace {

constexpr int kPortMax = 65535;

// Sets the field of an option to `value`, or returns an error whose text says what is wrong with `value`.
using Set = absl::Status (*)(Arguments& arguments, absl::string_view value);

struct Option {
  const char* name;
  const char* value;  // as the usage shows it; null: the option has none
  Set set;
};

template <bool Arguments::* kField>
absl::Status SetFlag(Arguments& arguments, absl::string_view /*value*/) {
  arguments.*kField = true;
  return absl::OkStatus();
}

template <std::string TlsFiles::* kField>
absl::Status SetFile(Arguments& arguments, absl::string_view value) {
  if (value.empty()) return absl::InvalidArgumentError("a file is missing: expected the path of a PEM file");
  arguments.tls.*kField = std::string(value);
  return absl::OkStatus();
}

template <int64_t Arguments::* kField>
absl::Status SetCount(Arguments& arguments, absl::string_view value) {
  if (absl::SimpleAtoi(value, &(arguments.*kField)) && arguments.*kField > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", PrintableText(value), "' is not a number of messages: expected a number above 0"));
}

absl::Status SetTime(Arguments& arguments, absl::string_view value) {
  if (absl::ParseDuration(value, &arguments.time) && arguments.time > absl::ZeroDuration() &&
      arguments.time != absl::InfiniteDuration()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", PrintableText(value), "' is not a time: expected a number above 0 with a unit, such as 30s"));
}

absl::Status SetOrder(Arguments& arguments, absl::string_view value) {
  arguments.by = std::string(value);
  const std::vector<std::string> orders = absl::StrSplit(kTopOrders, ' ');
  if (std::find(orders.begin(), orders.end(), value) != orders.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", PrintableText(value), "' is no order: expected waiting, age, waiting-bytes or handler-time"));
}

absl::Status SetPort(Arguments& arguments, absl::string_view value) {
  if (absl::SimpleAtoi(value, &arguments.port) && arguments.port >= 0 && arguments.port <= kPortMax) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", PrintableText(value), "' is not a port: expected --port=N, from 0 to ", kPortMax));
}

absl::Status SetOps(Arguments& arguments, absl::string_view value) {
  arguments.ops = std::string(absl::StripPrefix(value, "unix:"));
  if (!arguments.ops.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("--ops names no node: expected --ops=ADDRESS");
}

constexpr Option kOptions[] = {
    {"--help", nullptr, &SetFlag<&Arguments::help>},
    {"-h", nullptr, &SetFlag<&Arguments::help>},
    {"--json", nullptr, &SetFlag<&Arguments::json>},
    {"--dot", nullptr, &SetFlag<&Arguments::dot>},
    {"--watch", nullptr, &SetFlag<&Arguments::watch>},
    {"--follow", nullptr, &SetFlag<&Arguments::follow>},
    {"--yes", nullptr, &SetFlag<&Arguments::yes>},
    {"--contents", nullptr, &SetFlag<&Arguments::contents>},
    {"--messages", "N", &SetCount<&Arguments::messages>},
    {"--every", "N", &SetCount<&Arguments::every>},
    {"--for", "TIME", &SetTime},
    {"--by", "KEY", &SetOrder},
    {"--port", "N", &SetPort},
    {"--ops", "ADDRESS", &SetOps},
    {"--cert", "FILE", &SetFile<&TlsFiles::certificate_file>},
    {"--key", "FILE", &SetFile<&TlsFiles::key_file>},
    {"--ca", "FILE", &SetFile<&TlsFiles::ca_file>},
};

const Option* Find(absl::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kOptions), std::end(kOptions), [&](const Option& option) { return name == option.name; });
  return found == std::end(kOptions) ? nullptr : found;
}

}  // namespace

absl::string_view OptionName(absl::string_view word) { return word.substr(0, word.find('=')); }

std::string OptionUsage(absl::string_view name) {
  const Option* const option = Find(name);
  return option == nullptr || option->value == nullptr ? std::string(name) : absl::StrCat(name, "=", option->value);
}

bool HasValue(absl::string_view name) {
  const Option* const option = Find(name);
  return option != nullptr && option->value != nullptr;
}

std::vector<std::string> OptionsWithValue() {
  std::vector<std::string> names;
  for (const Option& option : kOptions) {
    if (option.value != nullptr) names.emplace_back(option.name);
  }
  return names;
}

absl::Status ParseOption(absl::string_view word, Words& words, Arguments& arguments) {
  const Option* const option = Find(OptionName(word));
  const bool has_value = OptionName(word) != word;
  if (option == nullptr || (has_value && option->value == nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat("unknown option ", PrintableText(word)));
  }
  absl::string_view value;
  if (has_value) {
    value = word.substr(OptionName(word).size() + 1);
  } else if (option->value != nullptr && !words.AreOver()) {
    value = words.Next();
  }
  return option->set(arguments, value);
}

}  // namespace understudy::tool
