#include <algorithm>

#include "engine/models/vgg.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"

namespace lockstep::lessons::lesson_02 {

constexpr Device kDevice{DeviceType::reference, 0};

/// Channels, kernel, stride, padding.
using Layer = std::array<int64_t, 4>;

// --- one row ---

/// Counts by placing the window wherever it fits.
int64_t places_by_sliding(int64_t size, const Layer& layer) {
  const auto [channels, kernel, stride, padding] = layer;
  int64_t count = 0;
  for (int64_t first = -padding; first + kernel <= size + padding; first += stride) {
    ++count;
  }
  return count;
}

/// Tests all rows of up to 40 cells with windows that fit (or, if not `fits`, do not).
void expect_places(const Exam& exam, int64_t smallest_stride, int64_t largest_stride,
                   bool fits, const Because& because) {
  using Places = void(int64_t, const int64_t(&)[4], int64_t&);
  auto* const places = exam.function<Places>("lesson_places");
  for (int64_t size = 1; size <= 40; ++size) {
    for (int64_t kernel = 1; kernel <= 11; kernel += fits ? 2 : 1) {
      for (int64_t padding = 0; padding <= kernel / 2; ++padding) {
        if (fits != (size + 2 * padding >= kernel)) continue;
        for (int64_t stride = smallest_stride; stride <= largest_stride; ++stride) {
          const int64_t numbers[4] = {0, kernel, stride, padding};
          int64_t got = -1;
          places(size, numbers, got);
          exam.equal(fmt::format("places(size {}, kernel {}, stride {}, padding {})",
                                 size, kernel, stride, padding),
                     places_by_sliding(size, {0, kernel, stride, padding}), got,
                     because);
        }
      }
    }
  }
}

LESSON_TEST(2, stride_1, "a window that moves one cell at a time") {
  expect_places(exam, 1, 1, true,
                {"the padding is added at both ends, 2 · padding in total; the first "
                 "place counts, too: kernel 3 with padding 1 keeps the size",
                 "How many windows fit"});
}

LESSON_TEST(2, strides, "a window that moves 2, 3 or 4 cells at a time") {
  expect_places(exam, 2, 4, true,
                {"the places are where the window begins: 0, stride, 2 · stride, … "
                 "up to the last at which it still fits into the padded row. The "
                 "remaining cells are unused: round down",
                 "How many windows fit"});
}

LESSON_TEST(2, too_large, "a window that is larger than the row") {
  expect_places(exam, 1, 4, false,
                {"a window that does not fit has no place at all; note that in C++ -1 "
                 "/ 2 is 0, not -1",
                 "How many windows fit"});
}

// --- whole models ---

std::vector<Shape> shapes_after(const Exam& exam, const Shape& images,
                                const std::vector<Layer>& layers) {
  using Shapes = void(const Shape&, const std::vector<int64_t>&, std::vector<Shape>&);
  std::vector<int64_t> numbers;
  for (const Layer& layer : layers) {
    numbers.insert(numbers.end(), layer.begin(), layer.end());
  }
  std::vector<Shape> shapes;
  exam.function<Shapes>("lesson_shapes")(images, numbers, shapes);
  return shapes;
}

std::vector<Layer> vgg16() {
  std::vector<Layer> layers;
  for (int64_t channels :
       {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0}) {
    layers.push_back(channels ? Layer{channels, 3, 1, 1} : Layer{0, 2, 2, 0});
  }
  return layers;
}

/// Without the shortcuts, which branch off.
std::vector<Layer> resnet18(bool imagenet_stem) {
  std::vector<Layer> layers = {{64, 3, 1, 1}};
  if (imagenet_stem) layers = {{64, 7, 2, 3}, {0, 3, 2, 1}};
  for (int64_t channels : {64, 128, 256, 512}) {
    layers.push_back({channels, 3, channels == 64 ? 1 : 2, 1});
    layers.insert(layers.end(), 3, {channels, 3, 1, 1});
  }
  return layers;
}

/// Returns the output shapes of the convolutions and poolings of a recorded step, in
/// order: the shapes of the gradients that they received. Omits shortcuts, whose
/// kernels have one cell.
std::vector<std::string> recorded_shapes(const tracer::Trace& trace) {
  std::map<int64_t, std::string> shapes;  // by the forward operation
  for (const tracer::Event& event : trace.events) {
    const bool conv = event.name == "ConvolutionBackward0";
    if (!conv && event.name != "MaxPool2DWithIndicesBackward0") continue;
    const auto& in = event_with_id(trace, event.fwd)->args.at("shapes");
    if (conv && in.at(1).at(2) == 1) continue;
    shapes[event.fwd] =
        Shape(event.args.at("shapes").at(0).get<std::vector<int64_t>>()).str();
  }
  std::vector<std::string> in_order;
  for (const auto& [forward, shape] : shapes) in_order.push_back(shape);
  return in_order;
}

void expect_shapes(Exam& exam, const std::string& net, int64_t size,
                   const std::vector<Layer>& layers) {
  const tracer::Trace trace = exam.reference(fmt::format(
      "-a {} --dataset generated --image-size {} --device-type null --gpu 0 "
      "-b 2 --steps 1",
      net, size));
  const std::vector<std::string> recorded = recorded_shapes(trace);
  const std::vector<Shape> got = shapes_after(exam, {2, 3, size, size}, layers);
  for (size_t i = 0; i < std::max(recorded.size(), got.size()); ++i) {
    exam.equal(fmt::format("{} on {}×{} images: the shape after {} of {} layers", net,
                           size, size, i + 1, layers.size()),
               i < recorded.size() ? recorded[i] : "no more",
               i < got.size() ? got[i].str() : "no more",
               {"each layer's input is the previous layer's output. A convolution has "
                "as many output channels as filters; pooling handles each channel "
                "separately and keeps their number",
                "From layer to layer"});
  }
}

LESSON_TEST(2, rectangle, "height and width are computed separately") {
  const std::vector<Shape> got = shapes_after(exam, {2, 3, 13, 8}, {{5, 3, 2, 1}});
  exam.equal(
      "2×3×13×8 through a convolution with 5 filters, kernel 3, stride 2, "
      "padding 1",
      Shape{2, 5, 7, 4}.str(), got.empty() ? "nothing" : got[0].str(),
      {"images need not be square: compute the places for the height and for the width",
       "From layer to layer"});
}

LESSON_TEST(2, nets, "the shapes that VGG16 and ResNet18 really have") {
  for (int64_t size : {32, 224}) {
    expect_shapes(exam, "vgg16", size, vgg16());
    expect_shapes(exam, "resnet18", size, resnet18(size == 224));
  }
}

// --- the classifier's input ---

LESSON_TEST(2, adaptive_windows, "the cells averaged by adaptive pooling") {
  using Averaged = void(int64_t, int64_t, int64_t, int64_t&, int64_t&);
  auto* const averaged = exam.function<Averaged>("lesson_averaged");
  for (const auto& [in, out] : std::vector<std::pair<int64_t, int64_t>>{
           {14, 7}, {7, 7}, {7, 1}, {10, 7}, {5, 3}, {1, 7}, {3, 5}}) {
    // Channel j is 1 in cell j and 0 elsewhere: wherever it is not 0 afterwards, cell j
    // contributed to the mean.
    std::vector<double> ones(in * in);
    for (int64_t j = 0; j < in; ++j) ones[j * in + j] = 1;
    const Tensor x = ops::copy_to(Tensor::from(ones, {1, in, 1, in}, DType::f64),
                                  kDevice, {"h2d", "ones"});
    const std::vector<double> y = values(ops::adaptive_avg_pool2d(x, 1, out));
    for (int64_t i = 0; i < out; ++i) {
      std::vector<int64_t> cells, mine;
      for (int64_t j = 0; j < in; ++j) {
        if (y[j * out + i] != 0) cells.push_back(j);
      }
      int64_t first = 0, last = 0;
      averaged(i, in, out, first, last);
      for (int64_t j = first; j < std::min(last, first + 100); ++j) mine.push_back(j);
      exam.equal(
          fmt::format("from {} cells to {}: the cells averaged in cell {}", in, out, i),
          cells, mine,
          {"round the beginning down and the end up: a partly covered cell is "
           "included, so neighbouring windows may share a cell, and none is empty",
           "Adaptive pooling"});
    }
  }
}

/// The engine's function, saved before the learner's library is loaded.
const auto engines_input = models::classifier_input().reference();

LESSON_TEST(2, adapter, "features of any size become 25088 values per image") {
  for (const auto& [height, width] :
       std::vector<std::pair<int64_t, int64_t>>{{7, 7}, {1, 1}, {3, 5}, {14, 14}}) {
    const Tensor features =
        ops::copy_to(counting({2, 512, height, width}), kDevice, {"h2d", "features"});
    const Tensor got = models::classifier_input()(features);
    const std::string what = fmt::format("2×512×{}×{} features", height, width);
    exam.equal(what + ": size of the classifier's input", Shape{2, 512 * 7 * 7}.str(),
               got.sizes().str(),
               {"the classifier's first weight is 4096×25088, and 25088 = 512 · 7 · 7: "
                "whatever the size of the features, pool them to 7×7",
                "25088"});
    exam.close(what, values(engines_input(features)), values(got), 1e-9,
               {"average the values in each of the 7×7 windows, then flatten; "
                "features that are already 7×7 stay unchanged",
                "Adaptive pooling"});
  }
}

LESSON_TEST(2, legacy_trains, "vgg16_legacy trains on 32×32 images") {
  const tracer::Trace& trace = exam.train(
      "-a vgg16_legacy --dataset generated --device-type null --gpu 0 -b 2 --steps 1",
      {"VGG trains with your classifier_input; its output is printed below", "25088"});
  exam.equal("convolutions reached by backward", size_t{13},
             events_of(trace, "op", "ConvolutionBackward0").size(),
             {"gradients must flow through classifier_input: stay on the tape (no "
              "detach, no NoGrad, no manual views)",
              "25088"});
}

}  // namespace lockstep::lessons::lesson_02
