// rejected by: nets
// because: keeps their number
//
// The misconception: the configuration's 0 is the number of channels.

// [solution-shapes]
std::vector<Shape> shapes;
Shape x = images;
for (const Layer& layer : layers) {
  const int64_t channels = layer.channels;
  x = Shape{x[0], channels, places(x[2], layer), places(x[3], layer)};
  shapes.push_back(x);
}
return shapes;
// [/solution-shapes]
