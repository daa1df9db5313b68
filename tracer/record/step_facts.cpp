#include "tracer/record/step_facts.h"

namespace lockstep::tracer {

StepFacts& step_facts() {
  thread_local StepFacts facts;
  return facts;
}

}  // namespace lockstep::tracer
