// sanitize: address
#include "gui/render/film.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace lockstep::gui {
namespace {

namespace fs = std::filesystem;

/// Creates a separate folder per test and restores PATH.
class Films : public testing::Test {
 protected:
  Films() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) /
              fmt::format("lockstep_{}_{}", test->name(), getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Films() override {
    setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
    if (!programs_.empty()) fs::remove_all(programs_);
  }

  std::string in_folder(const std::string& name) const { return folder_ / name; }
  long files() const { return std::distance(fs::directory_iterator(folder_), {}); }

  /// Replaces `ffmpeg` by this script: PATH contains only its folder.
  void fake_ffmpeg(const std::string& script) {
    programs_ = folder_.string() + "_programs";
    fs::create_directories(programs_);
    const fs::path file = programs_ / "ffmpeg";
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(file, fs::perms::owner_all);
    setenv("PATH", programs_.c_str(), 1);
  }

  /// Returns the error message of a film with one frame of this size.
  static std::string message(const std::string& path, int side = 8) {
    try {
      Film film(path, 30);
      film.add({side, side, std::vector<uint32_t>(static_cast<size_t>(side * side))});
      film.finish();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_, programs_;
  const std::string path_ = std::getenv("PATH") ? std::getenv("PATH") : "";
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_F(Films, GoThroughFfmpegAndAppearWhenComplete) {
  fake_ffmpeg("for file; do :; done; exec /bin/cat > \"${file#file:}\"");
  const std::string path = in_folder("a.mp4");
  Film film(path, 30);
  film.add({1, 2, {0x64636261, 0x68676665}});
  film.add({1, 2, {0x6c6b6a69, 0x706f6e6d}});
  EXPECT_FALSE(fs::exists(path));
  film.finish();
  EXPECT_EQ(content(path), "abcdefghijklmnop");
  EXPECT_EQ(files(), 1);
}

TEST_F(Films, TellFfmpegSizeRateAndPlainArguments) {
  fake_ffmpeg("for file; do :; done; echo \"$@\" > \"${file#file:}\"; exec /bin/cat");
  EXPECT_EQ(message(in_folder("a b; exit.gif")), "");
  const std::string said = content(in_folder("a b; exit.gif"));
  EXPECT_TRUE(contains(said, "-pix_fmt rgba -s 8x8 -r 30 -i pipe:0")) << said;
}

TEST_F(Films, SayHowToGetFfmpeg) {
  setenv("PATH", "", 1);
  const std::string said = message(in_folder("a.webm"));
  EXPECT_TRUE(contains(said, "a.webm")) << said;
  EXPECT_TRUE(contains(said, "apt-get install ffmpeg")) << said;
  EXPECT_TRUE(contains(said, "%04d.png")) << said;
  EXPECT_EQ(files(), 0);
}

TEST_F(Films, RepeatTheLastWordsOfFfmpeg) {
  fake_ffmpeg("echo first >&2; echo 'no such colour' >&2; exit 1");
  for (const int side : {8, 2000}) {  // small frames fit the pipe, large ones break it
    const std::string said = message(in_folder("a.webp"), side);
    EXPECT_TRUE(contains(said, "(no such colour)")) << said;
    EXPECT_FALSE(contains(said, "first")) << said;
    EXPECT_EQ(files(), 0);
  }
}

TEST_F(Films, ThatAreGivenUpLeaveNothing) {
  fake_ffmpeg("exec /bin/cat > /dev/null");
  {
    Film film(in_folder("a.gif"), 30);
    film.add({1, 1, {0}});
    EXPECT_EQ(files(), 1);
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(Films, NameTheFolderThatIsMissing) {
  for (const std::string name : {"none/a.mp4", "none/%04d.png"}) {
    const std::string said = message(in_folder(name));
    EXPECT_TRUE(contains(said, "none/")) << said;
    EXPECT_TRUE(contains(said, "cannot be written")) << said;
  }
  std::ofstream(in_folder("file")) << "";
  EXPECT_TRUE(contains(message(in_folder("file/frames/")), "cannot be created"));
}

TEST_F(Films, AreWhatTheirNameSays) {
  for (const std::string name :
       {"a", "a.avi", "a.png", "%s.png", "%04d%04d.png", "%4d.png"}) {
    EXPECT_TRUE(contains(message(in_folder(name)), "unknown video format")) << name;
  }
  EXPECT_THROW(Film(in_folder("a.mp4"), 0), std::runtime_error);
  EXPECT_THROW(Film(in_folder("a.mp4"), 1000), std::runtime_error);
}

TEST_F(Films, CanBePictures) {
  for (const std::string name : {"x%03d.png", "new/y%d.png", "new/deep/"}) {
    if (name == "new/y%d.png") fs::create_directories(in_folder("new"));
    Film film(in_folder(name), 30);
    for (uint32_t i = 0; i < 11; ++i) film.add({1, 1, {0xff000000 + i}});
    film.finish();
  }
  for (const std::string name :
       {"x010.png", "new/y10.png", "new/deep/frame00010.png"}) {
    EXPECT_EQ(read_png(in_folder(name)).pixels, std::vector<uint32_t>{0xff00000a});
  }
  EXPECT_TRUE(fs::exists(in_folder("x000.png")));
}

TEST_F(Films, KeepOneSizeAndHaveAFrame) {
  Film film(in_folder("%d.png"), 30);
  EXPECT_THROW(film.finish(), std::runtime_error);
  film.add({1, 1, {0}});
  EXPECT_THROW(film.add({1, 2, {0, 0}}), std::runtime_error);
  EXPECT_THROW(film.add({2, 1, {0, 0}}), std::runtime_error);
}

TEST_F(Films, AreReadableByPlayers) {
  if (std::system("ffmpeg -version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no ffmpeg here";
  }
  const std::pair<std::string, std::string> magic[] = {
      {".mp4", "ftyp"}, {".webm", "webm"}, {".webp", "WEBPVP8X"}, {".gif", "GIF89a"}};
  for (const auto& [ending, mark] : magic) {
    const std::string path = in_folder("film" + ending);
    Film film(path, 10);
    for (int i = 0; i < 5; ++i) {  // odd side lengths
      film.add(
          {33, 17, std::vector<uint32_t>(33 * 17, 0xff000000 + 40u * unsigned(i))});
    }
    film.finish();
    EXPECT_TRUE(contains(content(path).substr(0, 100), mark)) << ending;
  }
  EXPECT_EQ(files(), 4);
}

}  // namespace
}  // namespace lockstep::gui
