// rejected by: own_code
// because: must be written, not called
//
// The engine's plan knows every step.

// [top]
#include "engine/plan/ring.h"
// [/top]
// [solution-reduce-scatter]
for (const auto& step : plan::ring_reduce_scatter(link.rank(), link.size())) {
  link.exchange(chunk(data, step.send_chunk, link.size()),
                chunk(data, step.receive_chunk, link.size()), true);
}
return;
// [/solution-reduce-scatter]
