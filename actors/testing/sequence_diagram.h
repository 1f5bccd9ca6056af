// SequenceDiagram: draws the lines of a trace (simulation_trace.h) as an SVG sequence diagram.
//
//   system.StartTrace();
//   …
//   std::ofstream("run.svg") << SequenceDiagram(system.trace());
//
// Each actor has a lane, in the order of the first step; time goes down. An arrow is a message, drawn when its handler
// begins, and a dot a handler that resumes. Lines of other kinds, such as the crash of a node, go across; frames and
// streams are left out. Of a long trace the last steps are drawn, and actors with few steps share a lane.
#ifndef UNDERSTUDY_ACTORS_TESTING_SEQUENCE_DIAGRAM_H_
#define UNDERSTUDY_ACTORS_TESTING_SEQUENCE_DIAGRAM_H_

#include <string>
#include <vector>

namespace understudy {

// What a person can look through.
inline constexpr int kDiagramStepsMax = 400;
inline constexpr int kDiagramLanesMax = 20;

std::string SequenceDiagram(const std::vector<std::string>& trace);

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_SEQUENCE_DIAGRAM_H_
