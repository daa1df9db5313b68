// Lesson 02: shapes. How large is a layer's output, and what if it does not fit?
#include "engine/models/vgg.h"
#include "engine/ops/ops.h"
#include "lessons/plugin.h"

using namespace lockstep;

/// A layer that slides a square window over an image: `channels` outputs of a
/// convolution; 0 for a pooling, which keeps the number of channels.
struct Layer {
  int64_t channels, kernel, stride, padding;
};

/// How many places there are for a window of `kernel` cells in a row of `size` cells,
/// when `padding` cells are added at *each* end, and the window moves `stride` cells at
/// a time and never leaves the row. None if the window is larger than the padded row.
int64_t places(int64_t size, const Layer& layer) {
  // [solution-places]
  const int64_t last =
      size + 2 * layer.padding - layer.kernel;  // where the last window begins
  return last < 0 ? 0 : last / layer.stride + 1;
  // [/solution-places]
  lessons::not_written("places: how many windows fit into a row?");
}

/// The shapes (N×C×H×W) after each of `layers`, one after the other. `Shape{n, c, h,
/// w}` creates one; `shape[2]` is its height.
std::vector<Shape> shapes_after(const Shape& images, const std::vector<Layer>& layers) {
  // [solution-shapes]
  std::vector<Shape> shapes;
  Shape x = images;
  for (const Layer& layer : layers) {
    const int64_t channels = layer.channels == 0 ? x[1] : layer.channels;
    x = Shape{x[0], channels, places(x[2], layer), places(x[3], layer)};
    shapes.push_back(x);
  }
  return shapes;
  // [/solution-shapes]
  lessons::not_written("shapes_after: what does each layer hand to the next?");
}

/// The cells first, first + 1, …, last - 1 of a row.
struct Cells {
  int64_t first, last;
};

/// Adaptive pooling turns a row of `in` cells into one of `out` cells, for any `in` and
/// `out`. Cell i of the result is the mean of the cells that it covers, wholly or in
/// part, when both rows are drawn equally long: cell i then extends from i · in / out
/// to (i + 1) · in / out.
Cells averaged(int64_t i, int64_t in, int64_t out) {
  // [solution-averaged]
  return {i * in / out, ((i + 1) * in + out - 1) / out};
  // [/solution-averaged]
  lessons::not_written("averaged: which cells does cell i of the result cover?");
}

/// Converts VGG's features (N×512×H×W, any H and W) to its classifier's input: N×25088.
/// `ops::adaptive_avg_pool2d(x, height, width)` pools as above, `ops::avg_pool2d` and
/// `ops::max_pool2d` as layers do, and `ops::flatten(x)` turns N×C×H×W into N×(C·H·W).
/// All of them are on the tape: gradients propagate through them.
Tensor classifier_input(const Tensor& features) {
  // [solution-adapter]
  return ops::flatten(ops::adaptive_avg_pool2d(features, 7, 7));
  // [/solution-adapter]
  lessons::not_written("classifier_input: N×512×H×W to N×25088");
}

/// The check finds your functions through these; do not change them.
extern "C" void lesson_places(int64_t size, const int64_t (&l)[4], int64_t& result) {
  result = places(size, {l[0], l[1], l[2], l[3]});
}
extern "C" void lesson_shapes(const Shape& images, const std::vector<int64_t>& numbers,
                              std::vector<Shape>& result) {
  std::vector<Layer> layers;
  for (size_t i = 0; i + 3 < numbers.size(); i += 4) {
    layers.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
  }
  result = shapes_after(images, layers);
}
extern "C" void lesson_averaged(int64_t i, int64_t in, int64_t out, int64_t& first,
                                int64_t& last) {
  const Cells cells = averaged(i, in, out);
  first = cells.first, last = cells.last;
}

LOCKSTEP_LESSON(2) { models::classifier_input().plug(classifier_input); }
