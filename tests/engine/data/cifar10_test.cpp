// sanitize: address
#include "engine/data/cifar10.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/base/test_files.h"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

const char* const kMend = "lockstep data fetch";

std::string records(int count, char label = 3) {
  std::string bytes(count * kCifar10Record, '\x40');
  for (int i = 0; i < count; ++i) bytes[i * kCifar10Record] = label;
  return bytes;
}

class Cifar10Files : public ScratchTest {
 protected:
  void write_set(const fs::path& folder) {
    fs::create_directories(folder);
    for (const Split split : {Split::train, Split::test}) {
      for (const auto& file : cifar10_files(split))
        write_file(folder / file, records(2));
    }
  }
  std::function<void()> loading(Split split = Split::train) const {
    return [this, split] { Cifar10(scratch_, split, false); };
  }
};

TEST_F(Cifar10Files, AreFoundWithAndWithoutTheirFolder) {
  write_set(scratch_ / "a");
  write_set(scratch_ / "b" / "cifar-10-batches-bin");
  for (const char* folder : {"a", "b", "b/cifar-10-batches-bin"}) {
    EXPECT_EQ(Cifar10(scratch_ / folder, Split::train, false).size(), 10) << folder;
    EXPECT_EQ(Cifar10(scratch_ / folder, Split::test, false).size(), 2) << folder;
  }
  EXPECT_EQ(find_cifar10((scratch_ / "b").string()),
            scratch_ / "b" / "cifar-10-batches-bin");
  EXPECT_EQ(find_cifar10((scratch_ / "c").string()), std::nullopt);
}

TEST_F(Cifar10Files, AreLookedForHereAndAtHome) {
  const fs::path here = fs::current_path();
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "/";
  fs::create_directories(scratch_ / "here");
  fs::current_path(scratch_ / "here");
  setenv("HOME", scratch_.c_str(), 1);

  EXPECT_EQ(find_cifar10({}), std::nullopt);
  write_set(scratch_ / "data");
  EXPECT_EQ(find_cifar10({}), scratch_ / "data");
  write_set(scratch_ / "here" / "data");
  EXPECT_EQ(find_cifar10({}), "data") << "the nearest folder takes precedence";
  EXPECT_EQ(find_cifar10("elsewhere"), std::nullopt)
      << "an explicit folder is not replaced";

  setenv("HOME", home.c_str(), 1);
  fs::current_path(here);
}

TEST_F(Cifar10Files, MissingFolder) {
  expect_error([&] { Cifar10(scratch_ / "gone", Split::train, false); },
               (scratch_ / "gone").string(), "no such folder", kMend);
}

TEST_F(Cifar10Files, FolderWithoutTheSet) {
  expect_error(loading(), scratch_.string(), "no CIFAR-10 files", kMend);
}

TEST_F(Cifar10Files, MissingFile) {
  write_set(scratch_);
  fs::remove(scratch_ / "data_batch_4.bin");
  expect_error(loading(), "data_batch_4.bin", "no such file", kMend);
  EXPECT_EQ(Cifar10(scratch_, Split::test, false).size(), 2)
      << "without training files";
}

TEST_F(Cifar10Files, EmptyFile) {
  write_set(scratch_);
  write_file(scratch_ / "test_batch.bin", "");
  expect_error(loading(Split::test), "test_batch.bin", "empty", kMend);
}

TEST_F(Cifar10Files, TruncatedFile) {
  write_set(scratch_);
  write_file(scratch_ / "data_batch_2.bin", records(2).substr(0, 2 * 3073 - 1));
  expect_error(loading(), "data_batch_2.bin", "truncated", "6145 bytes", "1 records",
               "plus 3072 bytes", kMend);
}

TEST_F(Cifar10Files, WrongLabel) {
  write_set(scratch_);
  write_file(scratch_ / "data_batch_5.bin", records(3) + records(1, 10));
  expect_error(loading(), "data_batch_5.bin", "record 3", "label 10", kMend);
  write_file(scratch_ / "data_batch_5.bin", records(1, '\xff') + records(3));
  expect_error(loading(), "record 0", "label 255");
}

/// A batch of two images that Python pickled (make_cifar_pickles.py).
std::string pickled(const std::string& name) {
  return read_file(fs::path(LOCKSTEP_SOURCE_DIR) / "tests/engine/data/cifar" /
                   (name + ".pickle"));
}

TEST_F(Cifar10Files, OfPythonsVersionAreRead) {
  for (const char* name : {"python2", "protocol2", "protocol4"}) {
    for (const char* folder : {"", "cifar-10-batches-py"}) {
      fs::remove_all(scratch_);
      fs::create_directories(scratch_ / folder);
      for (int i = 1; i <= 5; ++i) {
        write_file(scratch_ / folder / ("data_batch_" + std::to_string(i)),
                   pickled(name));
      }
      write_file(scratch_ / folder / "test_batch", pickled(name));
      const Cifar10 train(scratch_, Split::train, false);
      ASSERT_EQ(train.size(), 10) << name;
      EXPECT_EQ(Cifar10(scratch_, Split::test, false).size(), 2) << name;
      for (int i = 0; i < 10; ++i) {
        const auto record = train.record(i);
        EXPECT_EQ(record[0], i % 2 == 0 ? 3 : 9);
        for (int k = 0; k < kCifar10Pixels; ++k) {
          ASSERT_EQ(record[1 + k], (7 * (i % 2) + k) % 251) << name;
        }
      }
    }
  }
}

TEST_F(Cifar10Files, OfPythonsVersionAreRefusedIfDamaged) {
  write_file(scratch_ / "data_batch_1", "garbage");
  expect_error(loading(), "data_batch_1", "is no batch of CIFAR-10", kMend);
  const std::string whole = pickled("python2");
  write_file(scratch_ / "data_batch_1", whole.substr(0, 3000));
  expect_error(loading(), "data_batch_1", "truncated", kMend);
  std::string other = whole;
  other.replace(other.find("u1"), 2, "u2");
  write_file(scratch_ / "data_batch_1", other);
  expect_error(loading(), "data_batch_1", "not bytes in rows", kMend);
  std::string code = whole;
  code.replace(code.find("ndarray"), 7, "ndarrax");
  write_file(scratch_ / "data_batch_1", code);
  expect_error(loading(), "data_batch_1", "contains numpy.ndarrax", "fix: ");
  // Each call copies the text: a small file must not fill the memory.
  std::string copies = "\x80\x02(c_codecs\nencode\nq\x01X";
  copies += std::string("\x10\x27\0\0", 4) + std::string(10'000, 'x') +
            "U\x06latin1\x86q\x02";
  for (int i = 0; i < 1'000; ++i) copies += "h\x01h\x02R0";
  write_file(scratch_ / "data_batch_1", copies + "N.");
  expect_error(loading(), "data_batch_1", "damaged", kMend);
}

TEST_F(Cifar10Files, UnreadableFile) {
  write_set(scratch_);
  fs::remove(scratch_ / "data_batch_1.bin");
  fs::create_directory(scratch_ / "data_batch_1.bin");
  expect_error(loading(), "data_batch_1.bin", "cannot be read", kMend);
  if (geteuid() == 0) return;  // root can read every file
  write_file(scratch_ / "test_batch.bin", records(1));
  fs::permissions(scratch_ / "test_batch.bin", fs::perms::none);
  expect_error(loading(Split::test), "test_batch.bin", "Permission denied", kMend);
}

/// The subset of the real data set in $LOCKSTEP_SHARED/data.
class RealCifar10 : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* shared = std::getenv("LOCKSTEP_SHARED")) {
      folder_ = fs::path(shared) / "data";
      return;
    }
    const char* ci = std::getenv("CI");
    ASSERT_STRNE(ci ? ci : "", "true") << "CI must set LOCKSTEP_SHARED";
    GTEST_SKIP() << "LOCKSTEP_SHARED has no folder data/cifar-10-…";
  }

  struct Known {
    int64_t index;
    int label;
    std::array<int, 6> bytes;     // at 0, 33, 1024, 1500, 2048, 3071
    std::array<float, 3> values;  // at 0, 1500, 3071
  };

  void expect_known(const Cifar10& set, const Known& known) {
    const auto record = set.record(known.index);
    constexpr std::array kBytesAt{0, 33, 1024, 1500, 2048, 3071};
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(record[1 + kBytesAt[i]], known.bytes[i]);

    std::vector<float> image(kCifar10Pixels);
    Draws draws(0, 0, known.index);
    EXPECT_EQ(set.get(known.index, draws, image), known.label);
    constexpr std::array kValuesAt{0, 1500, 3071};
    for (size_t i = 0; i < 3; ++i)
      EXPECT_FLOAT_EQ(image[kValuesAt[i]], known.values[i]);
  }

  std::array<int64_t, 10> labels(const Cifar10& set) {
    std::array<int64_t, 10> counts{};
    for (int64_t i = 0; i < set.size(); ++i) ++counts[set.record(i)[0]];
    return counts;
  }

  fs::path folder_;
};

// The expected values were read with numpy and normalized by torchvision 0.14.
TEST_F(RealCifar10, TrainingPictures) {
  const Cifar10 set(folder_, Split::train, false);
  ASSERT_EQ(set.size(), 4660);
  EXPECT_EQ(labels(set), (std::array<int64_t, 10>{479, 479, 444, 448, 489, 435, 464,
                                                  477, 481, 464}));
  expect_known(set,
               {0, 6, {59, 0, 62, 95, 63, 72}, {-1.0527428f, -0.450312f, -0.6274735f}});
  expect_known(set, {2 * 932 + 17,
                     3,
                     {114, 95, 93, 44, 66, 22},
                     {-0.17951894f, -1.2716672f, -1.3770088f}});
  expect_known(set, {4 * 932 + 931,
                     9,
                     {255, 255, 255, 129, 255, 255},
                     {2.0591094f, 0.09725826f, 2.115826f}});
}

TEST_F(RealCifar10, TestPictures) {
  const Cifar10 set(folder_, Split::test, false);
  ASSERT_EQ(set.size(), 846);
  EXPECT_EQ(labels(set),
            (std::array<int64_t, 10>{83, 70, 88, 84, 76, 79, 97, 87, 88, 94}));
  expect_known(
      set,
      {0, 3, {158, 151, 112, 116, 49, 110}, {0.5190602f, -0.11210691f, -0.057826646f}});
  expect_known(
      set,
      {845, 3, {21, 21, 22, 108, 17, 35}, {-1.656061f, -0.24094695f, -1.1821296f}});
  EXPECT_EQ(set.sample_shape(), (std::vector<int64_t>{3, 32, 32}));
  EXPECT_EQ(set.classes(), 10);
}

TEST_F(RealCifar10, AugmentsOnlyIfAsked) {
  const Cifar10 plain(folder_, Split::test, false),
      augmented(folder_, Split::test, true);
  std::vector<float> a(kCifar10Pixels), b(kCifar10Pixels);
  int different = 0;
  for (int64_t i = 0; i < 20; ++i) {
    Draws draws(1, 2, i), again(1, 2, i);
    EXPECT_EQ(plain.get(i, draws, a), augmented.get(i, again, b));
    different += a != b;
  }
  EXPECT_GE(different, 18);
}

}  // namespace
}  // namespace lockstep::data
