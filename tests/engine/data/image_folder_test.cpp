// sanitize: address
#include "engine/data/image_folder.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "engine/data/loader.h"
#include "tests/base/test_files.h"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;
const fs::path kPictures = fs::path(LOCKSTEP_SOURCE_DIR) / "tests/engine/data/pictures";

class ImageFolderTest : public ScratchTest {
 protected:
  fs::path add(const std::string& path, const std::string& picture = "420.jpeg") {
    const fs::path file = scratch_ / path;
    fs::create_directories(file.parent_path());
    fs::copy_file(kPictures / picture, file);
    return file;
  }
  std::vector<std::string> paths() const {
    const FolderIndex index(scratch_);
    std::vector<std::string> found;
    for (int64_t i = 0; i < index.size(); ++i) {
      found.push_back(fs::path(index.path(i)).lexically_relative(scratch_).string() +
                      " " + std::to_string(index.label(i)));
    }
    return found;
  }
};

TEST_F(ImageFolderTest, ListsClassesFoldersAndFilesInSortedOrder) {
  add("b/2.jpeg");
  add("b/10.JPG");
  add("b/deep/er/0.jpeg");
  add("b/deep/1.PnG", "grey.png");
  add("B/x.jpeg");
  add("a b/ä.jpeg");
  write_file(scratch_ / "b/readme.txt", "no picture");
  write_file(scratch_ / "synsets.txt", "no folder");
  EXPECT_EQ(paths(), (std::vector<std::string>{
                         "B/x.jpeg 0", "a b/ä.jpeg 1", "b/10.JPG 2", "b/2.jpeg 2",
                         "b/deep/1.PnG 2", "b/deep/er/0.jpeg 2"}));
}

TEST_F(ImageFolderTest, SaysWhatIsMissing) {
  expect_error([&] { FolderIndex(scratch_ / "none"); }, "none: no such folder");
  expect_error([&] { FolderIndex index(scratch_); }, "no class folders");
  add("a/1.jpeg");
  fs::create_directories(scratch_ / "b");
  expect_error([&] { FolderIndex index(scratch_); }, "/b: no images", "class folder;");
  fs::create_directories(scratch_ / "c");
  expect_error([&] { FolderIndex index(scratch_); }, "/b: no", "and in 1 other;");
}

TEST_F(ImageFolderTest, ALoopOfFoldersEnds) {
  add("a/1.jpeg");
  fs::create_directory_symlink("..", scratch_ / "a/up");
  expect_error([&] { FolderIndex index(scratch_); },
               "a/up: a symbolic link to a folder");
  fs::remove(scratch_ / "a/up");

  // Through each other: a/x/link is a/y, whose link is a/x.
  for (const char* name : {"x", "y"}) fs::create_directories(scratch_ / "a" / name);
  fs::create_directory_symlink("../y", scratch_ / "a/x/link");
  fs::create_directory_symlink("../x", scratch_ / "a/y/link");
  expect_error([&] { FolderIndex index(scratch_); },
               "a/x/link/link: a symbolic link to a folder");
  for (const char* name : {"x", "y"}) fs::remove_all(scratch_ / "a" / name);
  fs::create_directories(scratch_ / "b");
  fs::create_directory_symlink("../a", scratch_ / "b/as_a");
  EXPECT_EQ(paths(), (std::vector<std::string>{"a/1.jpeg 0", "b/as_a/1.jpeg 1"}));
}

TEST_F(ImageFolderTest, ImagesOfOtherFormatsAreCounted) {
  add("a/1.jpeg");
  for (const char* name : {"1.bmp", "2.BMP", "3.webp", "4.tiff", "notes.txt", "none"}) {
    add(fmt::format("a/{}", name));
  }
  const FolderIndex index(scratch_);
  EXPECT_EQ(index.size(), 1);
  EXPECT_EQ(index.left_out(),
            (std::map<std::string, int64_t>{{"bmp", 2}, {"tiff", 1}, {"webp", 1}}));
}

TEST_F(ImageFolderTest, LabelsFitTheModelAndTheTrainingClasses) {
  add("train/a/1.jpeg");
  add("train/c/1.jpeg");
  add("val/c/1.jpeg");
  expect_error([&] { ImageFolder(scratch_ / "train", {.classes = 1}); },
               "2 class folders", "1 outputs", "--classes 2");
  const ImageFolder train(scratch_ / "train", {.size = 16});
  EXPECT_EQ(train.classes(), 1000);
  const ImageFolder val(scratch_ / "val", {.size = 16}, train.class_names());
  std::vector<float> image(3 * 16 * 16);
  Draws draws(0, 0, 0);
  EXPECT_EQ(val.get(0, draws, image), 1);  // torchvision would assign class 0
  add("val/b/1.jpeg");
  expect_error([&] { ImageFolder(scratch_ / "val", {}, train.class_names()); },
               "val/b: this class is missing from train/");
}

TEST_F(ImageFolderTest, BadFilesAreNamed) {
  add("a/1.jpeg", "truncated.jpeg");
  const fs::path gone = add("a/2.jpeg");
  write_file(scratch_ / "a/3.jpeg", "");
  const ImageFolder folder(scratch_, {.size = 16});
  fs::remove(gone);
  std::vector<float> image(3 * 16 * 16);
  Draws draws(0, 0, 0);
  expect_error([&] { folder.get(0, draws, image); }, "a/1.jpeg: ", "truncated");
  expect_error([&] { folder.get(1, draws, image); }, "a/2.jpeg: cannot be opened");
  expect_error([&] { folder.get(2, draws, image); }, "a/3.jpeg: the file is empty");
}

TEST_F(ImageFolderTest, BatchesAreTheSameForAnyNumberOfWorkers) {
  for (const char* name : {"420.jpeg", "grey.jpeg", "cmyk.jpeg", "png.JPEG"}) {
    for (int i = 0; i < 5; ++i) add(fmt::format("{}/{}.jpeg", name, i), name);
  }
  const auto folder = std::make_shared<ImageFolder>(
      scratch_, ImageFolderOptions{.augment = true, .size = 16});
  std::vector<Batch> expected;
  for (const int workers : {0, 1, 3}) {
    DataLoader loader(folder, {.batch_size = 3, .workers = workers, .shuffle = true});
    loader.start_epoch(2);
    for (size_t b = 0; auto batch = loader.next(); ++b) {
      if (workers == 0) {
        expected.push_back(*batch);
        continue;
      }
      ASSERT_LT(b, expected.size());
      EXPECT_EQ(batch->images, expected[b].images);
      EXPECT_EQ(batch->labels, expected[b].labels);
    }
  }
  EXPECT_EQ(expected.size(), 7u);
}

TEST_F(ImageFolderTest, BadFilesEndARunOrAreLeftOut) {
  for (int i = 0; i < 6; ++i) add(fmt::format("a/{}.jpeg", i));
  fs::remove(scratch_ / "a/1.jpeg");
  add("a/1.jpeg", "truncated.jpeg");
  const auto folder =
      std::make_shared<ImageFolder>(scratch_, ImageFolderOptions{.size = 16});
  for (const int workers : {0, 2}) {
    DataLoader strict(folder, {.batch_size = 2, .workers = workers});
    strict.start_epoch(0);
    expect_error([&] { strict.next(); }, "a/1.jpeg: ", "truncated");

    std::vector<std::string> reasons;
    LoaderOptions options{.batch_size = 2, .workers = workers};
    options.on_bad_sample = [&](const std::string& why) { reasons.push_back(why); };
    DataLoader lenient(folder, options);
    lenient.start_epoch(0);
    const auto batch = lenient.next();
    EXPECT_EQ(batch->shape, (std::vector<int64_t>{1, 3, 16, 16}));
    EXPECT_EQ(batch->images.size(), 3u * 16 * 16);
    ASSERT_EQ(reasons.size(), 1u);
    EXPECT_NE(reasons[0].find("a/1.jpeg"), std::string::npos);
    EXPECT_EQ(lenient.next()->size(), 2);
  }
}

TEST_F(ImageFolderTest, ABatchOfBadFilesAloneIsEmpty) {
  for (int i = 0; i < 3; ++i) add(fmt::format("a/{}.jpeg", i));
  fs::remove(scratch_ / "a/1.jpeg");
  add("a/1.jpeg", "truncated.jpeg");
  const auto folder =
      std::make_shared<ImageFolder>(scratch_, ImageFolderOptions{.size = 16});
  for (const int workers : {0, 2}) {
    LoaderOptions options{.batch_size = 1, .workers = workers};
    options.on_bad_sample = [](const std::string&) {};
    DataLoader loader(folder, options);
    loader.start_epoch(0);
    EXPECT_EQ(loader.next()->size(), 1);
    const auto empty = loader.next();
    ASSERT_TRUE(empty.has_value());
    EXPECT_EQ(empty->shape, (std::vector<int64_t>{0, 3, 16, 16}));
    EXPECT_TRUE(empty->images.empty());
    EXPECT_EQ(empty->bad.size(), 1u);
    EXPECT_EQ(loader.next()->size(), 1);
    EXPECT_FALSE(loader.next().has_value());
  }
}

/// The cost of an index of ImageNet's size. All files are links to one.
TEST_F(ImageFolderTest, AnIndexTakesItsNamesAndEightBytes) {
  constexpr int64_t kFiles = 2000;
  add("n00000000/n00000000_0.JPEG");
  for (int64_t i = 1; i < kFiles; ++i) {
    fs::create_hard_link(scratch_ / "n00000000/n00000000_0.JPEG",
                         scratch_ / fmt::format("n00000000/n00000000_{:06}.JPEG", i));
  }
  const FolderIndex index(scratch_);
  EXPECT_EQ(index.size(), kFiles);
  EXPECT_LE(index.memory(), kFiles * (8 + 21));
}

}  // namespace
}  // namespace lockstep::data
