// rejected by: rectangle
// because: need not be square
//
// The misconception: images are square.

// [solution-shapes]
std::vector<Shape> shapes;
Shape x = images;
for (const Layer& layer : layers) {
  const int64_t channels = layer.channels == 0 ? x[1] : layer.channels;
  x = Shape{x[0], channels, places(x[2], layer), places(x[2], layer)};
  shapes.push_back(x);
}
return shapes;
// [/solution-shapes]
