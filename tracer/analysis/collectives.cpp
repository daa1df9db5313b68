#include "tracer/analysis/collectives.h"

namespace lockstep::tracer {

Collectives find_collectives(const Trace& trace, const Lanes& lanes) {
  Collectives all;
  for (const Event& event : trace.events) {
    if (event.ph != 'X') continue;
    if (event.is(categories::collective)) {
      const CollectiveFacts facts = collective_facts(event);
      all[{facts.group, facts.seq}].by_rank.emplace(lanes.of(event).rank,
                                                    CollectivePart{&event, facts});
    } else if (event.is(categories::copy) && event.args.may_hold(keys::group)) {
      const CopyFacts facts = copy_facts(event);
      if (!facts.is_message) continue;
      all[{facts.group, facts.seq}].messages.push_back({&event, facts});
    }
  }
  return all;
}

}  // namespace lockstep::tracer
