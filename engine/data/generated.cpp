#include "engine/data/generated.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "base/file.h"
#include "engine/data/cifar10.h"
#include "engine/tensor/philox.h"

namespace lockstep::data {
namespace {

constexpr const char* kMarker = "generated.txt";
constexpr double kTurn = 2 * std::numbers::pi;
constexpr float kGrey = 128, kColour = 40, kWave = 40, kNoise = 48;

// Computes cos and sin of begin, begin + step, begin + 2·step, …
struct Wheel {
  std::vector<float> cos, sin;

  Wheel(double begin, double step, int64_t length) : cos(length), sin(length) {
    for (int64_t i = 0; i < length; ++i) {
      cos[i] = static_cast<float>(std::cos(begin + step * i));
      sin[i] = static_cast<float>(std::sin(begin + step * i));
    }
  }
};

// A sequence of noise bytes: 16 per Philox block.
class Noise {
 public:
  Noise(const Philox& philox, uint64_t stream) : philox_(philox), stream_(stream) {}

  float next() {
    if (used_ == 16) {
      words_ = philox_.block(++block_, stream_);
      used_ = 0;
    }
    const uint32_t byte = words_[used_ / 4] >> (used_ % 4 * 8) & 255;
    ++used_;
    return (static_cast<float>(byte) - 127.5f) / 127.5f;
  }

 private:
  const Philox& philox_;
  uint64_t stream_;
  uint64_t block_ = 0;  // block 0 holds the image's other draws
  std::array<uint32_t, 4> words_{};
  int used_ = 16;
};

}  // namespace

void draw_picture(int64_t index, int64_t classes, ImageSize size, uint64_t seed,
                  std::span<uint8_t> bytes) {
  const int64_t label = index % classes;
  const Philox philox{seed};
  const uint64_t stream = fnv1a64("picture") + static_cast<uint64_t>(index);

  const double hue = (label + 1.2 * (philox.uniform(0, stream) - 0.5)) / classes;
  const double phase = kTurn * philox.uniform(1, stream);
  const double direction =
      kTurn * 0.382 * label;  // the golden angle spreads directions
  const double turns = kTurn * static_cast<double>(2 + label % 3) / size.width;

  // The wave at (x, y) is cos(a·x + b·y + phase); the angle-sum formula makes it
  // separable.
  const Wheel across(phase, turns * std::cos(direction), size.width);
  const Wheel down(0, turns * std::sin(direction), size.height);

  Noise noise(philox, stream);
  uint8_t* out = bytes.data();
  for (int channel = 0; channel < 3; ++channel) {
    const double colour = std::cos(kTurn * (hue + channel / 3.0));
    const float base = kGrey + kColour * static_cast<float>(colour);
    for (int64_t y = 0; y < size.height; ++y) {
      for (int64_t x = 0; x < size.width; ++x) {
        const float wave = across.cos[x] * down.cos[y] - across.sin[x] * down.sin[y];
        const float value = base + kWave * wave + kNoise * noise.next();
        *out++ = static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
      }
    }
  }
}

Generated::Generated(const std::vector<int64_t>& shape, int64_t classes, int64_t length,
                     uint64_t seed)
    : classes_(classes), length_(length), seed_(seed) {
  if (shape.size() != 3 || shape[0] != 3 || shape[1] < 1 || shape[2] < 1) {
    throw std::runtime_error("generated images must have the shape 3,H,W");
  }
  if (classes < 1)
    throw std::runtime_error("generated images require at least 1 class");
  size_ = {shape[1], shape[2]};
}

int64_t Generated::get_bytes(int64_t index, Draws& /*draws*/,
                             std::span<uint8_t> planes) const {
  draw_picture(index, classes_, size_, seed_, planes);
  return index % classes_;
}

const Normalize& Generated::normalize() const {
  static const Normalize normalize({{0.5f, 0.5f, 0.5f}, {0.25f, 0.25f, 0.25f}});
  return normalize;
}

namespace {

void write_records(const std::filesystem::path& path, int64_t first, int64_t count,
                   uint64_t seed) {
  AtomicFile file(path);
  std::vector<uint8_t> record(kCifar10Record);
  for (int64_t index = first; index < first + count; ++index) {
    record[0] = static_cast<uint8_t>(index % kCifar10Classes);
    draw_picture(index, kCifar10Classes, {32, 32}, seed, std::span(record).subspan(1));
    file.write(std::as_bytes(std::span(record)));
  }
  file.commit();
}

std::string marker(int64_t train_records, int64_t test_records, uint64_t seed) {
  return fmt::format(
      "This is not CIFAR-10. lockstep generated these {} training and {} test images\n"
      "(seed {}) in CIFAR-10's format, so that programs run where the real set is "
      "not\navailable. Accuracies on it say nothing about CIFAR-10.\n",
      train_records, test_records, seed);
}

}  // namespace

void generate_cifar10(const std::filesystem::path& folder, int64_t train_records,
                      int64_t test_records, uint64_t seed) {
  if (train_records < 5 || test_records < 1) {
    throw std::runtime_error(
        fmt::format("a generated data set requires at least 5 training records and 1 "
                    "test record, but got {} and {}",
                    train_records, test_records));
  }
  AtomicFolder target(folder);
  int64_t first = 0;
  const auto files = cifar10_files(Split::train);
  for (size_t i = 0; i < files.size(); ++i) {
    const int64_t end = train_records * static_cast<int64_t>(i + 1) / 5;
    write_records(target.path() / files[i], first, end - first, seed);
    first = end;
  }
  write_records(target.path() / "test_batch.bin", first, test_records, seed);
  write_generated_marker(target.path(), marker(train_records, test_records, seed));
  target.commit();
}

void write_generated_marker(const std::filesystem::path& folder,
                            const std::string& text) {
  AtomicFile file(folder / kMarker);
  file.write(text);
  file.commit();
}

bool is_generated(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::exists(folder / kMarker, error);
}

}  // namespace lockstep::data
