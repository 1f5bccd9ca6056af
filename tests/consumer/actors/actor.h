#ifndef ACTORS_ACTOR_H_
#define ACTORS_ACTOR_H_

#include <string>

// Somebody on a stage. The consumer's own header: Understudy's is "understudy/actors/actor.h".
struct StageActor {
  std::string name;
  std::string role;
};

#endif  // ACTORS_ACTOR_H_
