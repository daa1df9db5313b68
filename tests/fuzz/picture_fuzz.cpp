// Any bytes as a photograph: a picture of its declared size, or a one-line error.
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/data/picture.h"
#include "engine/data/pixels.h"
#include "engine/data/resize.h"
#include "engine/data/transforms.h"

using namespace lockstep::data;

namespace {

constexpr int64_t kMost = 1 << 20;  // pixels: small, for fast iterations
constexpr int64_t kSide = 32;

void look(const std::vector<uint8_t>& file, uint8_t how) {
  Draws draws(how, 0, 0);
  View view;
  const ChooseBox choose = [&](PictureSize size) {
    view = how % 2 == 0 ? random_resized_crop(size, kSide, draws)
                        : center_crop(size, kSide + how % 9, kSide);
    return view.cut;
  };
  Picture cut, between, resized;
  decode(file, choose, cut, kMost);
  if (cut.width != view.cut.width || cut.height != view.cut.height) abort();
  resize(cut, view.width, view.height, view.part, between, resized);
  std::vector<float> image(3 * kSide * kSide);
  to_planes(resized, view.flip, imagenet_normalize(), std::span(image));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  try {
    look({bytes + 1, bytes + size}, bytes[0]);
  } catch (const std::runtime_error& error) {
    if (std::string(error.what()).find('\n') != std::string::npos) abort();
  }
  return 0;
}
