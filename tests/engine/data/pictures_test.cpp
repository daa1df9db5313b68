// Decoding, cropping and resizing match PIL and torchvision bit for bit.
// sanitize: address
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/data/image_folder.h"
#include "engine/data/picture.h"
#include "engine/data/resize.h"
#include "engine/data/transforms.h"
#include "tests/base/test_files.h"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = fs::path(LOCKSTEP_SOURCE_DIR) / "tests/engine/data";

const nlohmann::json& golden_pictures() {
  static const auto json =
      nlohmann::json::parse(std::ifstream(kFolder / "pictures.json"));
  return json;
}

std::vector<uint8_t> bytes_of(const fs::path& path) {
  std::vector<uint8_t> bytes;
  read_whole(path.string(), bytes);
  return bytes;
}

uint64_t fnv(const void* data, size_t size) {
  return fnv1a64({static_cast<const char*>(data), size});
}

std::string hash_of(const Picture& picture) {
  std::vector<uint8_t> rgb;
  for (size_t i = 0; i < picture.rgbx.size(); i += Picture::kPixel) {
    rgb.insert(rgb.end(), &picture.rgbx[i], &picture.rgbx[i + 3]);
  }
  return std::to_string(fnv(rgb.data(), rgb.size()));
}

std::string hash_of(const std::vector<uint8_t>& file, const View& view) {
  Picture cut, between, resized;
  decode(file, [&](PictureSize) { return view.cut; }, cut);
  resize(cut, view.width, view.height, view.part, between, resized);
  std::vector<float> image(3 * resized.width * resized.height);
  to_planes(resized, view.flip, imagenet_normalize(), std::span(image));
  return std::to_string(fnv(image.data(), image.size() * sizeof(float)));
}

void expect_as_golden(const nlohmann::json& row, const fs::path& folder) {
  SCOPED_TRACE(row["file"].get<std::string>());
  const std::vector<uint8_t> file = bytes_of(folder / row["file"].get<std::string>());
  const Picture whole = decode(file);
  const PictureSize size{whole.width, whole.height};
  ASSERT_EQ(row["size"], (std::vector<int64_t>{size.width, size.height}));
  EXPECT_EQ(row["pixels"], hash_of(whole));
  for (const auto& center : row["center"]) {
    const int64_t side = center[0];
    EXPECT_EQ(center[1], hash_of(file, center_crop(size, side * 256 / 224, side)));
  }
  const int64_t side = row["center"][0][0];
  for (const auto& random : row["random"]) {
    Draws draws(random[0], random[1], random[2]);
    const View view = random_resized_crop(size, side, draws);
    const Box& cut = view.cut;
    const nlohmann::json& box = random[3];
    EXPECT_EQ(box[0], cut.left) << random;
    EXPECT_EQ(box[1], cut.top) << random;
    EXPECT_EQ(box[2], cut.width) << random;
    EXPECT_EQ(box[3], cut.height) << random;
    EXPECT_EQ(box[4], view.flip) << random;
    EXPECT_EQ(random[4], hash_of(file, view)) << random;
  }
}

TEST(Pictures, OfEveryKindAreAsPilAndTorchvisionMakeThem) {
  ASSERT_GE(golden_pictures()["files"].size(), 20u);
  for (const auto& row : golden_pictures()["files"]) {
    expect_as_golden(row, kFolder / "pictures");
  }
}

TEST(Pictures, SamplePhotographsAreAsPilAndTorchvisionMakeThem) {
  const char* shared = std::getenv("LOCKSTEP_SHARED");
  const fs::path folder = fs::path(shared ? shared : LOCKSTEP_SOURCE_DIR "/../shared") /
                          "data/imagenet-sample/train";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no photographs in " << folder;
  ASSERT_EQ(golden_pictures()["photographs"].size(), 63u);
  for (const auto& row : golden_pictures()["photographs"])
    expect_as_golden(row, folder);
}

/// Decoding a part of a picture is faster and gives the same pixels.
TEST(Pictures, ABoxHasThePixelsOfTheWhole) {
  for (const auto& row : golden_pictures()["files"]) {
    const std::string name = row["file"];
    const std::vector<uint8_t> file = bytes_of(kFolder / "pictures" / name);
    const Picture whole = decode(file);
    Draws draws(3, 0, 0);
    for (int i = 0; i < 100; ++i) {
      Box box;
      box.left = draws.integer(whole.width);
      box.top = draws.integer(whole.height);
      box.width = 1 + draws.integer(whole.width - box.left);
      box.height = 1 + draws.integer(whole.height - box.top);
      Picture part;
      decode(file, [&](PictureSize) { return box; }, part);
      ASSERT_EQ(part.width, box.width);
      ASSERT_EQ(part.height, box.height);
      for (int64_t y = 0; y < box.height; ++y) {
        for (int64_t x = 0; x < box.width; ++x) {
          const uint8_t* mine = part.row(y) + x * Picture::kPixel;
          const uint8_t* other =
              whole.row(box.top + y) + (box.left + x) * Picture::kPixel;
          ASSERT_TRUE(std::equal(mine, mine + 3, other))
              << name << " box " << box.left << "," << box.top << " " << box.width
              << "x" << box.height << " at " << x << "," << y;
        }
      }
    }
  }
}

TEST(Pictures, DamagedFilesSayWhatIsWrong) {
  const std::vector<uint8_t> cut_off = bytes_of(kFolder / "pictures/truncated.jpeg");
  expect_error([&] { decode(cut_off); }, "truncated");
  // Requesting only the rows before the end does not avoid the error.
  Picture picture;
  const ChooseBox top = [](PictureSize size) { return Box{0, 0, size.width, 1}; };
  expect_error([&] { decode(cut_off, top, picture); }, "truncated");
  std::vector<uint8_t> no_end = bytes_of(kFolder / "pictures/420.jpeg");
  EXPECT_NO_THROW(decode(no_end, top, picture));
  no_end.resize(no_end.size() - 2);
  expect_error([&] { decode(no_end, top, picture); }, "truncated");

  std::vector<uint8_t> png = bytes_of(kFolder / "pictures/grey.png");
  png.resize(png.size() / 2);
  expect_error([&] { decode(png); }, "truncated");
  std::vector<uint8_t> progressive = bytes_of(kFolder / "pictures/progressive.jpeg");
  progressive.resize(progressive.size() - 2);
  expect_error([&] { decode(progressive); }, "truncated");

  expect_error([&] { decode({}); }, "the file is empty");
  const std::vector<uint8_t> gif{'G', 'I', 'F', '8', '9', 'a'};
  expect_error([&] { decode(gif); }, "not a JPEG or PNG file");
}

TEST(Pictures, HugeOnesAreRefusedBeforeTheyTakeMemory) {
  std::vector<uint8_t> file = bytes_of(kFolder / "pictures/444.jpeg");
  for (size_t i = 0; i + 8 < file.size(); ++i) {
    if (file[i] != 0xFF || file[i + 1] != 0xC0) continue;
    for (size_t side = i + 5; side < i + 9; ++side) file[side] = 0xFA;
    break;
  }
  expect_error([&] { decode(file); }, "64250 x 64250 pixels", "exceed the limit");
}

}  // namespace
}  // namespace lockstep::data
