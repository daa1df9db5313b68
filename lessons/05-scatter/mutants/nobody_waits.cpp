// rejected by: bytes_once
// because: the compute stream must wait for the copy
//
// The misconception: a copy of one's own on the copy stream, for which the compute
// stream does not wait: a race that is usually won.

// [top]
#include <cstring>

#include "engine/ops/copy.h"
#include "engine/runtime/device_context.h"

namespace lockstep {
/// Sends without the event that makes each kernel wait.
static Tensor send(const Tensor& x, Device to) {
  if (x.device() == to) return x;
  const Tensor result = ops::empty_for_copy({x.sizes(), x.dtype(), nullptr}, to);
  runtime::Task task;
  ops::describe_copy(task, x.spec(), x.device(), to, {"scatter", "images"});
  if (!x.device().is_host()) {
    task.waits.push_back(runtime::context(x.device()).compute().record_event());
    x.storage()->record_stream(runtime::context(to).copy());
  }
  task.run = [x, to, into = result.view(), driver = runtime::context(to).driver()] {
    const View from = x.view();
    if (driver) {
      driver->copy(into.data, to, from.data, x.device(), x.nbytes());
    } else if (from.data && into.data) {
      std::memcpy(into.data, from.data, x.nbytes());
    }
  };
  runtime::context(to).copy().enqueue(std::move(task));
  return result;
}
}  // namespace lockstep

// [/top]
// [solution-scatter]
std::vector<Tensor> chunks;
int64_t first = 0;
for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
  const Device to = devices[chunks.size()];
  chunks.push_back(send(input.narrowed(first, count), to));
  first += count;
}
return chunks;
// [/solution-scatter]
