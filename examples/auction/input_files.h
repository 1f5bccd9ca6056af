// The two input files: lots (textproto) and bids (CSV).
//
// A fault in the input does not stop the parsing: each bad lot or line becomes an
// InputProblem with file, line and reason, and all good ones are returned. Only a file
// that cannot be read, or is larger than kInputFileBytesMax, is an error.
//
//   lot {                                 time,bidder,lot,amount
//     id: "lot-01"                        2024-05-04T14:00:01Z,anna,lot-01,120.00
//     title: "A brass sextant"
//     reserve_price: "100.00"
//     minimum_increment: "5.00"
//     closing_time: "2024-05-04T14:10:00Z"
//   }
//
// Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_INPUT_FILES_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_INPUT_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace auction {

inline constexpr size_t kInputFileBytesMax = size_t{64} << 20;
// Each lot is an actor, and its id is a part of a published name.
inline constexpr size_t kLotsMax = 10'000;
inline constexpr size_t kNameBytesMax = 64;

struct Lot {
  std::string id;
  std::string title;
  int64_t reserve_cents = 0;
  int64_t increment_cents = 0;
  absl::Time closes;  // whole milliseconds
};

struct Bid {
  absl::Time time;  // whole milliseconds
  std::string bidder;
  std::string lot;
  int64_t cents = 0;
  int line = 0;  // of the file, from 1
};

struct InputProblem {
  std::string file;
  int line = 0;
  std::string reason;  // may quote bytes that are not plain text (Printable)
};

// The lots in `text`, in file order. A lot with a fault is left out; reading
// goes on at the next line that begins with "lot". `file` is the name of the file in
// `problems`.
std::vector<Lot> ParseLots(absl::string_view file, absl::string_view text, std::vector<InputProblem>& problems);

// The bids in `text`, in file order. The first line may be the header. A bid
// for a lot that is not among `lots` is a problem.
std::vector<Bid> ParseBids(absl::string_view file, absl::string_view text, const std::vector<Lot>& lots,
                           std::vector<InputProblem>& problems);

// NotFound if there is no such file, FailedPrecondition if it cannot be read,
// InvalidArgument if it is too large.
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_INPUT_FILES_H_
