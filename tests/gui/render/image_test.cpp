// sanitize: address
#include "gui/render/image.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

namespace lockstep::gui {
namespace {

namespace fs = std::filesystem;

Image noise(int width, int height, uint32_t always) {
  std::mt19937 random(5);
  Image image{width, height, {}};
  for (int i = 0; i < width * height; ++i) {
    image.pixels.push_back(always | static_cast<uint32_t>(random()));
  }
  return image;
}

std::string message(const auto& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(Png, ComesBackAsItWas) {
  for (const uint32_t always : {0u, 0xff000000u}) {  // with and without transparency
    const Image image = noise(37, 11, always);
    const Image back = decode_png(encode_png(image));
    EXPECT_EQ(back.width, 37);
    EXPECT_EQ(back.height, 11);
    EXPECT_EQ(back.pixels, image.pixels);
  }
}

TEST(Png, HoldsThePictureAndNothingElse) {
  const std::string bytes = encode_png(noise(5, 5, 0));
  EXPECT_EQ(bytes, encode_png(noise(5, 5, 0)));
  // Chunks: length, name, content, checksum.
  std::string names;
  for (size_t at = 8; at + 8 <= bytes.size();) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | uint8_t(bytes[at + i]);
    names += bytes.substr(at + 4, 4) + " ";
    at += length + 12;
  }
  EXPECT_EQ(names, "IHDR IDAT IEND ");
}

TEST(Png, RefusesWhatIsNoPicture) {
  EXPECT_NE(message([] { encode_png({0, 0, {}}); }), "");
  EXPECT_NE(message([] { encode_png({2, 2, {1, 2, 3}}); }), "");
  EXPECT_NE(message([] { decode_png("no png"); }), "");
  const std::string bytes = encode_png(noise(20, 20, 0));
  EXPECT_NE(message([&] { decode_png(bytes.substr(0, 100)); }), "");
}

TEST(Png, FilesAreWholeOrAbsent) {
  const fs::path folder = fs::path(testing::TempDir()) / "lockstep_png";
  fs::remove_all(folder);
  const std::string path = folder / "a.png";
  EXPECT_NE(message([&] { write_png(noise(4, 4, 0), path); }).find(path),
            std::string::npos);
  fs::create_directories(folder);
  write_png(noise(4, 4, 0), path);
  EXPECT_EQ(read_png(path).pixels, noise(4, 4, 0).pixels);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  std::ofstream(path) << "text";
  EXPECT_NE(message([&] { read_png(path); }).find(path), std::string::npos);
  fs::remove_all(folder);
}

TEST(Png, AFullDiskIsNamed) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const std::string said = message([] { write_png(noise(400, 400, 0), "/dev/full"); });
  EXPECT_NE(said.find("/dev/full"), std::string::npos);
  EXPECT_NE(said.find("free some space"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::gui
