#include "understudy/examples/auction/run_picture.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace auction {
namespace {

constexpr double kWidth = 1000;
constexpr double kLeft = 110;
constexpr double kRight = kWidth - 20;
constexpr double kTop = 60;
constexpr double kLaneHeight = 16;
constexpr int kTicks = 10;
// Bidders find a lot again one after another. Marks that would be closer than this are drawn as one.
constexpr double kOneMarkPixels = 3;

constexpr absl::string_view kStyle = R"(<style>
svg { background: #fff; font: 11px sans-serif; fill: #222; }
.grid { stroke: #ddd; }
.process { fill: #4477aa; }
.lot { fill: #99bbdd; }
.crash { stroke: #cc3311; stroke-width: 2.5; fill: none; }
.again { fill: #117733; }
.found { fill: #ddaa33; stroke: #664400; stroke-width: 0.5; }
@media (prefers-color-scheme: dark) {
  svg { background: #1b1b1b; fill: #ddd; }
  .grid { stroke: #444; }
  .lot { fill: #335577; }
  .again { fill: #44bb77; }
}
</style>
)";

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

enum class Mark { kCrash, kAgain, kFound };

std::string Draw(Mark mark, double x, double y, absl::string_view tooltip) {
  std::string shape;
  switch (mark) {
    case Mark::kCrash:
      shape = absl::StrFormat(R"(<path class="crash" d="M%.1f %.1fl8 8m-8 0l8 -8">)", x - 4, y - 4);
      break;
    case Mark::kAgain:
      shape = absl::StrFormat(R"(<path class="again" d="M%.1f %.1fv10l8 -5z">)", x - 2, y - 5);
      break;
    case Mark::kFound:
      shape = absl::StrFormat(R"(<path class="found" d="M%.1f %.1fl4 4l-4 4l-4 -4z">)", x, y - 4);
      break;
  }
  return absl::StrCat(shape, "<title>", Escaped(tooltip), "</title></path>\n");
}

std::string Text(double x, double y, absl::string_view anchor, absl::string_view text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, Escaped(text));
}

bool IsEnd(const Happening& happening) {
  return happening.what() == "exited" || happening.what() == "was stopped" || happening.what() == "is given up";
}

// The drawing of one lane: its filled parts and its marks.
class LaneDrawing {
 public:
  LaneDrawing(double y, bool is_process) : y_(y), is_process_(is_process) {}

  void Ends(double x) {
    if (!is_up_) return;
    is_up_ = false;
    filled_.emplace_back(up_since_, x);
  }
  void Begins(double x) {
    if (is_up_) return;
    is_up_ = true;
    up_since_ = x;
  }
  void Marks(Mark mark, double x, absl::string_view tooltip) {
    if (mark == Mark::kFound) {
      if (last_found_ + kOneMarkPixels > x) return;
      last_found_ = x;
    }
    marks_ += Draw(mark, x, y_, tooltip);
  }
  std::string Drawn(double end) {
    Ends(end);
    std::string text;
    for (const auto& [from, to] : filled_) {
      absl::StrAppendFormat(&text, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\"/>\n",
                            is_process_ ? "process" : "lot", from, y_ - 4, std::max(to - from, 0.5), 8.0);
    }
    return text + marks_;
  }

 private:
  const double y_;
  const bool is_process_;
  bool is_up_ = true;
  double up_since_ = kLeft;
  double last_found_ = -kWidth;
  std::vector<std::pair<double, double>> filled_;
  std::string marks_;
};

}  // namespace

std::string DrawRun(const std::vector<Lane>& lanes, const Chronicled& happenings, absl::Time start, absl::Time end) {
  const double seconds = std::max(absl::ToDoubleSeconds(end - start), 0.001);
  const auto at = [&](const Happening& happening) {
    const double after = absl::ToDoubleSeconds(absl::FromUnixMicros(happening.unix_micros()) - start);
    return kLeft + (kRight - kLeft) * std::clamp(after / seconds, 0.0, 1.0);
  };
  std::vector<LaneDrawing> drawings;
  std::map<absl::string_view, size_t> places;
  for (size_t i = 0; i < lanes.size(); ++i) {
    drawings.emplace_back(kTop + kLaneHeight * static_cast<double>(i), lanes[i].host.empty());
    places[lanes[i].name] = i;
  }

  std::multimap<int64_t, const Happening*> ordered;
  for (const Happening& happening : happenings) ordered.emplace(happening.unix_micros(), &happening);
  for (const auto& [time, told] : ordered) {
    const Happening& happening = *told;
    const bool is_found_again = happening.what() == "found again";
    const std::string& who = happening.who();
    const auto place = places.find(is_found_again ? absl::StripPrefix(who, "auction/") : absl::string_view(who));
    if (place == places.end()) continue;
    const size_t lane = place->second;
    const double x = at(happening);
    const std::string tooltip =
        absl::StrFormat("%.3f s: %s %s%s%s", (x - kLeft) / (kRight - kLeft) * seconds, lanes[lane].name,
                        happening.what(), happening.why().empty() ? "" : ": ", happening.why());
    const auto with_lots = [&](auto change) {
      change(drawings[lane]);
      for (size_t i = 0; i < lanes.size(); ++i) {
        if (lanes[i].host == lanes[lane].name) change(drawings[i]);
      }
    };
    if (is_found_again) {
      drawings[lane].Marks(Mark::kFound, x, tooltip);
    } else if (IsEnd(happening)) {
      with_lots([&](LaneDrawing& drawing) { drawing.Ends(x); });
      if (happening.what() == "exited") drawings[lane].Marks(Mark::kCrash, x, tooltip);
    } else if (happening.what() == "started") {
      with_lots([&](LaneDrawing& drawing) { drawing.Begins(x); });
      drawings[lane].Marks(Mark::kAgain, x, tooltip);
    }
  }

  const double height = kTop + kLaneHeight * static_cast<double>(lanes.size()) + 10;
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n", kWidth,
      height, kWidth, height);
  absl::StrAppend(&svg, kStyle, "<title>A run of the auction service</title>\n");
  absl::StrAppend(&svg, Draw(Mark::kCrash, kLeft + 5, 14, "crashed or killed"),
                  Text(kLeft + 15, 18, "start", "crashed or killed"), Draw(Mark::kAgain, kLeft + 150, 14, "runs again"),
                  Text(kLeft + 162, 18, "start", "runs again"), Draw(Mark::kFound, kLeft + 260, 14, "found again"),
                  Text(kLeft + 270, 18, "start", "its bidders have found it again by its name"));
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double x = kLeft + (kRight - kLeft) * tick / kTicks;
    absl::StrAppendFormat(&svg, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x, kTop - 12, height - 10);
    svg += Text(x, kTop - 18, "middle", absl::StrFormat("%.1f s", seconds * tick / kTicks));
  }
  for (size_t i = 0; i < lanes.size(); ++i) {
    const double y = kTop + kLaneHeight * static_cast<double>(i);
    svg += Text(lanes[i].host.empty() ? 8 : 24, y + 4, "start", lanes[i].name);
    svg += drawings[i].Drawn(kRight);
  }
  absl::StrAppend(&svg, "</svg>\n");
  return svg;
}

}  // namespace auction
