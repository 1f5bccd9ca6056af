// Writes the input files that ship with the demo:
//
//   bazel run //examples/auction:make_sample -- $PWD/examples/auction/data
//
// The output is always the same. It has 44 good lots and four bad ones, and
// about 2,300 lines of bids from 25 bidders: rising offers, ties, offers below
// reserve or increment, offers at and after the closing time, unknown lots,
// and lines that are no bids.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/random.h"
#include "understudy/examples/auction/amount.h"

namespace auction {
namespace {

constexpr int kLots = 44;
constexpr int kBids = 2300;
constexpr absl::string_view kThings[] = {"sextant", "carriage clock", "writing desk", "sea chart",
                                         "violin",  "telescope",      "tea caddy",    "oil lamp",
                                         "globe",   "music box",      "barometer"};
constexpr absl::string_view kKinds[] = {"Brass", "Walnut", "Victorian", "Painted"};
constexpr absl::string_view kBidders[] = {"alma",  "boris", "chiara",  "dmitri", "edith", "farid", "greta",
                                          "hugo",  "ines",  "jonas",   "kaya",   "lucia", "mikko", "noor",
                                          "oskar", "petra", "quentin", "rosa",   "sven",  "tamar", "umberto",
                                          "vera",  "wim",   "yara",    "zoltan"};
constexpr absl::string_view kBadLots[] = {
    "lot {\n  id: \"lot-free\"\n  title: \"A gift\"\n  reserve_price: \"0\"\n  minimum_increment: \"1.00\"\n"
    "  closing_time: \"2024-05-04T14:20:00Z\"\n}\n",
    "lot {\n  id: \"lot-open\"\n  title: \"Nobody closed this brace\"\n  reserve_price: \"10.00\"\n",
    "lot {\n  id: \"lot-03\"\n  title: \"The same name again\"\n  reserve_price: \"10.00\"\n"
    "  minimum_increment: \"1.00\"\n  closing_time: \"2024-05-04T14:20:00Z\"\n}\n",
    "lot {\n  id: \"lot-someday\"\n  title: \"Closes someday\"\n  reserve_price: \"10.00\"\n"
    "  minimum_increment: \"1.00\"\n  closing_time: \"someday\"\n  colour: \"blue\"\n}\n",
};
constexpr absl::string_view kBadLines[] = {
    "2024-05-04T14:05:00Z,alma,lot-99,120.00",
    "yesterday,boris,lot-04,40.00",
    "2024-05-04T14:06:00Z,chiara,lot-05",
    "2024-05-04T14:06:30Z,dmitri,lot-06,many",
    "2024-05-04T14:07:00Z,edith,lot-07,-5.00",
    "2024-05-04T14:07:00Z,,lot-07,50.00",
    "2024-05-04T14:08:00Z,farid,lot-free,5.00",
    "2024-05-04T14:09:00Z,greta,lot-08,12.345",
    "2024-05-04T14:10:00Z,\"hugo,lot-09,40.00",
    "2024-05-04T14:11:00Z,ines,lot-10,40.00,cash",
    "lorem ipsum dolor sit amet",
    "2024-05-04T25:61:00Z,jonas,lot-11,40.00",
};

absl::Time Opens() { return absl::FromCivil(absl::CivilSecond(2024, 5, 4, 14, 0, 0), absl::UTCTimeZone()); }

std::string Format(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", time, absl::UTCTimeZone()); }

struct SampleLot {
  std::string id;
  int64_t reserve_cents = 0;
  int64_t increment_cents = 0;
  absl::Time closes;
  int64_t price_cents = 0;  // about the highest offer so far
};

std::vector<SampleLot> MakeLots(understudy::Random& random) {
  std::vector<SampleLot> lots;
  for (int i = 0; i < kLots; ++i) {
    SampleLot& lot = lots.emplace_back();
    lot.id = absl::StrFormat("lot-%02d", i + 1);
    lot.reserve_cents = static_cast<int64_t>(2 + random.Below(60)) * 1000;
    lot.increment_cents = static_cast<int64_t>(1 + random.Below(8)) * 250;
    lot.closes = Opens() + absl::Minutes(12) + absl::Seconds(60) * i;
    lot.price_cents = lot.reserve_cents * 3 / 4;
  }
  lots.back().reserve_cents = 100'000'000;  // more than any bid, so that one lot is not sold
  return lots;
}

std::string LotsText(const std::vector<SampleLot>& lots) {
  std::string text = "# The lots of a Saturday afternoon. See input.proto for the fields.\n";
  for (size_t i = 0; i < lots.size(); ++i) {
    const SampleLot& lot = lots[i];
    absl::StrAppendFormat(&text,
                          "lot {\n  id: \"%s\"\n  title: \"%s %s\"\n  reserve_price: \"%s\"\n"
                          "  minimum_increment: \"%s\"\n  closing_time: \"%s\"\n}\n",
                          lot.id, kKinds[i % 4], kThings[i % 11], FormatAmount(lot.reserve_cents),
                          FormatAmount(lot.increment_cents), Format(lot.closes));
    if (i % 11 == 5) absl::StrAppend(&text, kBadLots[i / 11]);
  }
  return text;
}

// Returns one line of bids, and raises the price of its lot if the bid will be accepted.
std::string BidLine(understudy::Random& random, absl::Time now, SampleLot& lot) {
  int64_t cents = lot.price_cents;
  switch (random.Below(10)) {
    case 0:  // the same amount as an earlier offer
      break;
    case 1:  // too low by far
      cents = cents * 4 / 5;
      break;
    case 2:  // above, but not by the increment
      cents += lot.increment_cents / 2;
      break;
    default:
      cents += lot.increment_cents * static_cast<int64_t>(1 + random.Below(3));
      if (now < lot.closes) lot.price_cents = cents;
  }
  return absl::StrCat(Format(now), ",", kBidders[random.Below(25)], ",", lot.id, ",", FormatAmount(cents));
}

std::string BidsText(understudy::Random& random, std::vector<SampleLot>& lots) {
  std::string text = "time,bidder,lot,amount\n";
  absl::Time now = Opens();
  for (int i = 0; i < kBids; ++i) {
    now += absl::Milliseconds(random.Below(2800));
    SampleLot* lot = &lots[random.Below(kLots)];
    // A lot that has closed more than a minute ago gets few offers.
    while (now > lot->closes + absl::Minutes(1) && random.Below(12) != 0) lot = &lots[random.Below(kLots)];
    absl::Time time = now;
    if (i % 97 == 96) time = lot->closes;  // exactly at the closing time, which is too late
    absl::StrAppend(&text, BidLine(random, time, *lot), "\n");
    if (i % 180 == 90) absl::StrAppend(&text, kBadLines[(i / 180) % 12], "\n");
  }
  return text;
}

int Main(const std::string& directory) {
  understudy::Random random(20240504);
  std::vector<SampleLot> lots = MakeLots(random);
  const std::string lots_text = LotsText(lots);
  const std::string bids_text = BidsText(random, lots);
  std::ofstream(directory + "/lots.textproto", std::ios::binary) << lots_text;
  std::ofstream(directory + "/bids.csv", std::ios::binary) << bids_text;
  return 0;
}

}  // namespace
}  // namespace auction

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_sample DIRECTORY\n";
    return 2;
  }
  return auction::Main(argv[1]);
}
