// rejected by: nets
// because: the previous layer's output
//
// The misconception (a slip): every layer looks at the images.

// [solution-shapes]
std::vector<Shape> shapes;
Shape x = images;
for (const Layer& layer : layers) {
  const int64_t channels = layer.channels == 0 ? x[1] : layer.channels;
  shapes.push_back({x[0], channels, places(x[2], layer), places(x[3], layer)});
}
return shapes;
// [/solution-shapes]
