// The options of all commands of the program `understudy`. Plain values; any thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_OPTIONS_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_OPTIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/tools/understudy/arguments.h"

namespace understudy::tool {

// The values of --by.
inline constexpr char kTopOrders[] = "waiting age waiting-bytes handler-time";

// The words of a command line, of which the first has not been read yet.
class Words {
 public:
  explicit Words(const std::vector<std::string>& words) : words_(words) {}
  bool AreOver() const { return next_ == words_.size(); }
  const std::string& Next() { return words_[next_++]; }

 private:
  const std::vector<std::string>& words_;
  size_t next_ = 0;
};

// Puts the option `word`, such as --json or --port=80, into `arguments`. Its value, if it is not in the word itself, is
// the next of `words`. InvalidArgument says which word is wrong and which would be right.
absl::Status ParseOption(absl::string_view word, Words& words, Arguments& arguments);

// "--port" for "--port=80".
absl::string_view OptionName(absl::string_view word);

// "--port=N" for "--port", "--json" for "--json": the option as a usage line shows it.
std::string OptionUsage(absl::string_view name);

// True if the option has a value.
bool HasValue(absl::string_view name);

// The names of all options that have a value.
std::vector<std::string> OptionsWithValue();

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_OPTIONS_H_
