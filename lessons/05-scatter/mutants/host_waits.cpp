// rejected by: bytes_once
// because: the host enqueues the copies and goes on
//
// The misconception: a chunk may be used only when it has arrived, so the host waits
// for each device.

// [top]
#include "engine/runtime/device_context.h"

// [/top]

// [solution-scatter]
std::vector<Tensor> chunks;
int64_t first = 0;
for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
  const Device to = devices[chunks.size()];
  chunks.push_back(
      ops::copy_to(input.narrowed(first, count), to, {"scatter", "images"}));
  runtime::context(to).synchronize();
  first += count;
}
return chunks;
// [/solution-scatter]
