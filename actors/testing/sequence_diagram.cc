#include "understudy/actors/testing/sequence_diagram.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"

namespace understudy {
namespace {

constexpr absl::string_view kTest = "<no actor>";  // the sender of what the test itself sends
constexpr absl::string_view kOthers = "others";
// The class of the actor that stands for an ask of the test.
constexpr absl::string_view kAsker = "understudy::internal::ThreadWaiter<";

// In pixels.
constexpr int kTimeWidth = 110;
constexpr int kLaneWidth = 170;
constexpr int kRowHeight = 22;
constexpr int kTitleHeight = 44;
// The titles of the lanes come again after so many rows.
constexpr int kRowsPerPage = 40;
constexpr size_t kTextBytesMax = 60;
constexpr size_t kTitleBytesMax = 24;

struct Step {
  enum class Kind { kStart, kMessage, kResume, kEnd, kNote } kind = Kind::kNote;
  int64_t nanos = 0;
  std::string actor;  // its pid; empty for a note
  std::string from;   // the sender of a message
  std::string text;
};

// Removes what precedes `separator`, and the separator, from `text`, and returns it. Nullopt if there is no separator.
absl::optional<absl::string_view> TakeUntil(absl::string_view separator, absl::string_view& text) {
  const size_t at = text.find(separator);
  if (at == absl::string_view::npos) return absl::nullopt;
  const absl::string_view taken = text.substr(0, at);
  text.remove_prefix(at + separator.size());
  return taken;
}

// Parses "<a.1.2> handles mailbox of type from <b.3.4>" and the other lines of an actor.
bool ParseActorStep(absl::string_view line, Step& step) {
  const absl::optional<absl::string_view> pid = TakeUntil("> ", line);
  if (!pid) return false;
  step.actor = absl::StrCat(*pid, ">");
  if (absl::ConsumePrefix(&line, "ends: ")) {
    step.kind = Step::Kind::kEnd;
    step.text = std::string(line);
    return true;
  }
  const bool resumes = absl::ConsumePrefix(&line, "resumes ");
  if (!resumes && !absl::ConsumePrefix(&line, "handles ")) return false;
  const absl::optional<absl::string_view> mailbox = TakeUntil(" of ", line);
  const absl::optional<absl::string_view> type = TakeUntil(" from ", line);
  if (!mailbox || !type) return false;
  step.text = std::string(*mailbox == "event" ? *type : *mailbox);
  if (resumes) {
    step.kind = Step::Kind::kResume;
  } else if (absl::optional<absl::string_view> from = TakeUntil(" as ", line)) {
    step.kind = Step::Kind::kStart;
    step.text = std::string(line);
  } else {
    step.kind = Step::Kind::kMessage;
    // An event has no sender: it is drawn at its actor alone.
    step.from = *mailbox == "event" ? step.actor : std::string(line);
  }
  return true;
}

// Nullopt for lines that are not drawn.
absl::optional<Step> Parse(absl::string_view line) {
  Step step;
  const absl::optional<absl::string_view> time = TakeUntil(" ", line);
  if (!time || !absl::SimpleAtoi(*time, &step.nanos)) return absl::nullopt;
  for (const absl::string_view undrawn : {"frame #", "dial #", "close #"}) {
    if (absl::StartsWith(line, undrawn)) return absl::nullopt;
  }
  if (absl::StartsWith(line, "<") && ParseActorStep(line, step)) return step;
  step = Step{.nanos = step.nanos, .text = std::string(line)};
  return step;
}

std::string Escaped(absl::string_view text) {
  std::string cut(text.substr(0, kTextBytesMax));
  if (cut.size() < text.size()) cut += "...";
  // Bytes that an XML document cannot have, or only as part of a longer sequence that the cut may have broken.
  for (char& byte : cut) {
    if (static_cast<unsigned char>(byte) < 0x20 || static_cast<unsigned char>(byte) >= 0x7f) byte = '?';
  }
  return absl::StrReplaceAll(cut, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

class Diagram {
 public:
  explicit Diagram(const std::vector<std::string>& trace) {
    for (const std::string& line : trace) {
      absl::optional<Step> step = Parse(line);
      if (step && IsDrawn(*step)) steps_.push_back(*std::move(step));
    }
    if (steps_.size() > kDiagramStepsMax) {
      left_out_ = steps_.size() - kDiagramStepsMax;
      steps_.erase(steps_.begin(), steps_.begin() + static_cast<int64_t>(left_out_));
    }
    MakeLanes();
  }

  std::string Draw() {
    int y = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (i % kRowsPerPage == 0) DrawTitles(&y);
      y += kRowHeight;
      DrawStep(steps_[i], y);
    }
    y += kRowHeight;
    if (left_out_ > 0) Text(4, y, absl::StrCat(left_out_, " earlier steps are not drawn"), "note");
    const int width = kTimeWidth + kLaneWidth * static_cast<int>(std::max<size_t>(lanes_.size(), 3));
    std::string lines;
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      absl::StrAppendFormat(&lines, "<line class=\"lane\" x1=\"%d\" y1=\"0\" x2=\"%d\" y2=\"%d\"/>\n", X(lane), X(lane),
                            y);
    }
    return absl::StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", y + kRowHeight,
                        "\">\n", kStyle, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n", lines, body_,
                        "</svg>\n");
  }

 private:
  // Notes who starts, and draws an ask of the test as the test's. False for steps that say nothing new.
  bool IsDrawn(Step& step) {
    if (step.kind == Step::Kind::kStart) {
      if (absl::StartsWith(step.text, kAsker)) {
        askers_.insert(step.actor);
        return false;
      }
      // A start that awaits something is handled twice: by the turn, and by its coroutine.
      return titles_.try_emplace(step.actor, step.text).second;
    }
    if (askers_.contains(step.from)) step.from = std::string(kTest);
    if (!askers_.contains(step.actor)) return true;
    if (step.kind != Step::Kind::kResume) return false;
    step = Step{.kind = Step::Kind::kMessage,
                .nanos = step.nanos,
                .actor = std::string(kTest),
                .from = std::string(kTest),
                .text = "an ask ends"};
    return true;
  }

  static constexpr absl::string_view kStyle =
      "<style>text{font:11px monospace}.title{font-weight:bold}.pid,.time{fill:#777}.note{fill:#b00}"
      ".lane{stroke:#bbb}.arrow{stroke:#036;marker-end:url(#head)}.across{stroke:#b00;stroke-dasharray:4 3}</style>\n"
      "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
      "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#036\"/></marker></defs>\n";

  static int X(size_t lane) { return kTimeWidth + kLaneWidth / 2 + kLaneWidth * static_cast<int>(lane); }

  // The lanes of the actors with most steps, in the order of their first step.
  void MakeLanes() {
    std::map<std::string, int> steps_of;
    std::vector<std::string> order;
    const auto count = [&](const std::string& actor) {
      if (!actor.empty() && ++steps_of[actor] == 1) order.push_back(actor);
    };
    for (const Step& step : steps_) {
      count(step.from);
      count(step.actor);
    }
    std::vector<std::string> by_steps = order;
    std::sort(by_steps.begin(), by_steps.end(), [&](const std::string& a, const std::string& b) {
      return std::make_pair(-steps_of[a], a) < std::make_pair(-steps_of[b], b);
    });
    if (by_steps.size() > kDiagramLanesMax) by_steps.resize(kDiagramLanesMax - 1);
    for (const std::string& actor : order) {
      if (std::find(by_steps.begin(), by_steps.end(), actor) != by_steps.end()) {
        lane_of_.emplace(actor, lanes_.size());
        lanes_.push_back(actor);
      }
    }
    if (lanes_.size() < order.size()) lanes_.emplace_back(kOthers);
  }

  size_t LaneOf(const std::string& actor) const {
    const auto found = lane_of_.find(actor);
    return found == lane_of_.end() ? lanes_.size() - 1 : found->second;
  }

  void DrawTitles(int* y) {
    absl::StrAppendFormat(&body_, "<rect x=\"0\" y=\"%d\" width=\"100%%\" height=\"%d\" fill=\"#f4f4f4\"/>\n", *y,
                          kTitleHeight);
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      const std::string& actor = lanes_[lane];
      const auto title = titles_.find(actor);
      const int x = X(lane) - kLaneWidth / 2 + 4;
      if (title != titles_.end()) Text(x, *y + 16, ShortTitle(title->second), "title");
      Text(x, *y + 34, actor == kTest ? "the test" : Cut(actor), "pid");
    }
    *y += kTitleHeight;
  }

  // The class without its namespaces and template arguments, and the name.
  static std::string ShortTitle(const std::string& title) {
    const size_t quote = title.find(" \"");
    std::string text = title.substr(0, std::min(quote, title.find('<')));
    const size_t colons = text.rfind("::");
    if (colons != std::string::npos) text.erase(0, colons + 2);
    if (quote != std::string::npos) text += title.substr(quote);
    return Cut(text);
  }
  // What fits a lane.
  static std::string Cut(const std::string& text) {
    return text.size() > kTitleBytesMax ? absl::StrCat(text.substr(0, kTitleBytesMax - 2), "..") : text;
  }

  void DrawStep(const Step& step, int y) {
    Text(4, y, absl::StrFormat("%.6f", static_cast<double>(step.nanos) / 1e9), "time");
    if (step.kind == Step::Kind::kNote) {
      absl::StrAppendFormat(&body_, "<line class=\"across\" x1=\"%d\" y1=\"%d\" x2=\"100%%\" y2=\"%d\"/>\n",
                            kTimeWidth - 10, y + 4, y + 4);
      return Text(kTimeWidth, y, step.text, "note");
    }
    const int x = X(LaneOf(step.actor));
    switch (step.kind) {
      case Step::Kind::kStart:
        Mark(x, y, "#080");
        return Text(x + 8, y, "starts", "time");
      case Step::Kind::kEnd:
        Mark(x, y, "#b00");
        return Text(x + 8, y, absl::StrCat("ends: ", step.text), "note");
      case Step::Kind::kResume:
        Mark(x, y, "#777");
        return Text(x + 8, y, absl::StrCat("resumes ", step.text), "time");
      default:
        break;
    }
    const int from = X(LaneOf(step.from));
    if (from == x) {
      Mark(x, y, "#036");
      return Text(x + 8, y, step.text, "message");
    }
    absl::StrAppendFormat(&body_, "<line class=\"arrow\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", from, y + 2, x,
                          y + 2);
    Text(std::min(from, x) + 8, y - 1, step.text, "message");
  }

  void Mark(int x, int y, absl::string_view color) {
    absl::StrAppendFormat(&body_, "<circle cx=\"%d\" cy=\"%d\" r=\"4\" fill=\"%s\"/>\n", x, y - 4, color);
  }
  void Text(int x, int y, absl::string_view text, absl::string_view style) {
    absl::StrAppendFormat(&body_, "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", x, y, style, Escaped(text));
  }

  std::set<std::string> askers_;
  std::vector<Step> steps_;
  size_t left_out_ = 0;
  std::map<std::string, std::string> titles_;  // by pid
  std::vector<std::string> lanes_;             // pids
  std::map<std::string, size_t> lane_of_;      // of those that have one of their own
  std::string body_;
};

}  // namespace

std::string SequenceDiagram(const std::vector<std::string>& trace) { return Diagram(trace).Draw(); }

}  // namespace understudy
