// Lesson 05: scatter. Divide the batch, and send every device its share.
#include <algorithm>

#include "engine/ops/copy.h"
#include "engine/parallel/primitives.h"
#include "lessons/plugin.h"

using namespace lockstep;

/// Returns the sizes of the chunks into which `batch` samples are divided for `devices`
/// devices, as torch.chunk does: all are ceil(batch / devices) except the last, which
/// may be smaller. There may be fewer chunks than devices; none is empty.
std::vector<int64_t> chunk_sizes(int64_t batch, int64_t devices) {
  // [solution-sizes]
  const int64_t size = (batch + devices - 1) / devices;
  std::vector<int64_t> sizes;
  for (int64_t left = batch; left > 0; left -= size) {
    sizes.push_back(std::min(size, left));
  }
  return sizes;
  // [/solution-sizes]
  lessons::not_written("chunk_sizes: how many samples does each device get?");
}

/// Returns chunk i of `input` (N×…) on device i. `input.narrowed(first, count)` is a
/// view of some of its samples: nothing is copied. `ops::copy_to(tensor, device,
/// {"scatter", "images"})` sends a tensor to a device (and returns it unchanged if it
/// is already there).
std::vector<Tensor> scatter(const Tensor& input, const parallel::Devices& devices) {
  // [solution-scatter]
  std::vector<Tensor> chunks;
  int64_t first = 0;
  for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
    const Device to = devices[chunks.size()];
    chunks.push_back(
        ops::copy_to(input.narrowed(first, count), to, {"scatter", "images"}));
    first += count;
  }
  return chunks;
  // [/solution-scatter]
  lessons::not_written("scatter: send chunk i to device i");
}

/// The check finds your function through this; do not change it.
extern "C" void lesson_chunk_sizes(int64_t batch, int64_t devices,
                                   std::vector<int64_t>& sizes) {
  sizes = chunk_sizes(batch, devices);
}

LOCKSTEP_LESSON(5) { parallel::primitives().scatter.plug(scatter); }
