// sanitize: address
#include <gtest/gtest.h>

#include <cmath>

#include "engine/data/generated.h"
#include "engine/data/image_folder.h"
#include "engine/data/picture.h"
#include "tests/base/test_files.h"

namespace lockstep::data {
namespace {

class GeneratedPictures : public ScratchTest {};

TEST_F(GeneratedPictures, AreImageFolders) {
  GeneratedFolders small;
  small.train = 25;
  small.test = 10;
  small.width = 48;
  small.height = 36;
  generate_image_folders(scratch_ / "set", small);
  EXPECT_TRUE(is_generated(scratch_ / "set"));
  EXPECT_TRUE(has_image_folders(scratch_ / "set"));
  ImageFolderOptions options;
  options.size = 32;
  const ImageFolder train(scratch_ / "set" / "train", options);
  const ImageFolder test(scratch_ / "set" / "val", options, train.class_names());
  EXPECT_EQ(train.size(), 25);
  EXPECT_EQ(test.size(), 10);
  EXPECT_EQ(train.class_names().size(), 10u);
  std::vector<float> image(3 * 32 * 32);
  Draws draws(0, 0, 0);
  EXPECT_EQ(train.get(24, draws, image), 9);
  EXPECT_EQ(test.get(0, draws, image), 0);
  expect_error([&] { generate_image_folders(scratch_ / "set", small); }, "set",
               "already exists");
  small.test = 9;
  expect_error([&] { generate_image_folders(scratch_ / "b", small); }, "10 classes");
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "b"));
}

TEST(EncodeJpeg, GivesThePictureBack) {
  Picture picture;
  picture.resize(40, 30);
  for (int64_t y = 0; y < 30; ++y) {
    for (int64_t x = 0; x < 40; ++x) {
      uint8_t* pixel = picture.row(y) + x * Picture::kPixel;
      pixel[0] = static_cast<uint8_t>(6 * x);
      pixel[1] = static_cast<uint8_t>(8 * y);
      pixel[2] = 40;
    }
  }
  const auto bytes = encode_jpeg(picture, 95);
  const Picture back =
      decode({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  ASSERT_EQ(back.width, 40);
  ASSERT_EQ(back.height, 30);
  double difference = 0;
  for (size_t i = 0; i < picture.rgbx.size(); ++i) {
    if (i % 4 < 3) difference += std::abs(picture.rgbx[i] - back.rgbx[i]);
  }
  EXPECT_LT(difference / (40 * 30 * 3), 3);
  picture.resize(0, 0);
  EXPECT_THROW(encode_jpeg(picture), std::runtime_error);
}

}  // namespace
}  // namespace lockstep::data
