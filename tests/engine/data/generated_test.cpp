#include "engine/data/generated.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/data/cifar10.h"
#include "tests/base/test_files.h"

namespace lockstep::data {
namespace {

class GeneratedFiles : public ScratchTest {};

TEST_F(GeneratedFiles, AreACifar10Set) {
  const auto folder = scratch_ / "new" / "set";
  generate_cifar10(folder, 103, 21, 5);
  EXPECT_EQ(Cifar10(folder, Split::train, false).size(), 103);
  const Cifar10 test(folder, Split::test, false);
  EXPECT_EQ(test.size(), 21);
  for (const auto& file : cifar10_files(Split::train)) {
    EXPECT_GE(std::filesystem::file_size(folder / file), 20 * kCifar10Record) << file;
  }
  EXPECT_EQ(test.record(0)[0], 3)
      << "test pictures continue the numbering of training pictures";
}

TEST_F(GeneratedFiles, SayWhatTheyAre) {
  generate_cifar10(scratch_ / "set", 10, 5, 0);
  EXPECT_TRUE(is_generated(scratch_ / "set"));
  EXPECT_FALSE(is_generated(scratch_));
  EXPECT_EQ(read_file(scratch_ / "set" / "generated.txt").rfind("This is not", 0), 0u);
}

TEST_F(GeneratedFiles, DependOnTheSeedOnly) {
  generate_cifar10(scratch_ / "a", 10, 10, 5);
  generate_cifar10(scratch_ / "b", 10, 10, 5);
  generate_cifar10(scratch_ / "c", 10, 10, 6);
  auto test_file = [&](const char* set) {
    return read_file(scratch_ / set / "test_batch.bin");
  };
  EXPECT_EQ(test_file("a"), test_file("b"));
  EXPECT_NE(test_file("a"), test_file("c"));
  EXPECT_NE(test_file("a"), read_file(scratch_ / "a" / "data_batch_1.bin") +
                                read_file(scratch_ / "a" / "data_batch_2.bin"));
}

TEST_F(GeneratedFiles, NeverReplaceASet) {
  std::filesystem::create_directory(scratch_ / "real");
  write_file(scratch_ / "real" / "test_batch.bin", "precious");
  expect_error([&] { generate_cifar10(scratch_ / "real", 10, 10, 0); }, "real",
               "already exists", "choose another folder");
  EXPECT_EQ(read_file(scratch_ / "real" / "test_batch.bin"), "precious");
  EXPECT_EQ(listing(), std::vector<std::string>{"real"});
}

TEST_F(GeneratedFiles, FillAnEmptyFolder) {
  std::filesystem::create_directory(scratch_ / "empty");
  generate_cifar10(scratch_ / "empty", 10, 10, 0);
  EXPECT_EQ(Cifar10(scratch_ / "empty", Split::test, false).size(), 10);
}

TEST_F(GeneratedFiles, NeedARecordForEachFile) {
  auto make = [&](int64_t train, int64_t test) {
    return [=, this] { generate_cifar10(scratch_ / "x", train, test, 0); };
  };
  expect_error(make(4, 1), "5 training records", "but got 4 and 1");
  expect_error(make(5, 0), "1 test record", "but got 5 and 0");
  EXPECT_EQ(listing(), std::vector<std::string>{});
}

// The simplest classifier: the class with the nearest mean picture. It uses only
// colours (the waves average out) and fails where the colours of two classes overlap.
TEST(Generated, CanBeLearnt) {
  constexpr int64_t kTrain = 600, kTest = 300, kPixels = 3 * 32 * 32;
  const Generated set({3, 32, 32}, 10, kTrain + kTest);
  std::vector<float> image(kPixels);
  Draws draws(0, 0, 0);
  std::vector<std::vector<float>> means(10, std::vector<float>(kPixels));
  for (int64_t i = 0; i < kTrain; ++i) {
    auto& mean = means[set.get(i, draws, image)];
    for (int64_t p = 0; p < kPixels; ++p) mean[p] += image[p] / (kTrain / 10);
  }
  int right = 0;
  for (int64_t i = kTrain; i < kTrain + kTest; ++i) {
    const int64_t label = set.get(i, draws, image);
    std::vector<float> distances;
    for (const auto& mean : means) {
      float distance = 0;
      for (int64_t p = 0; p < kPixels; ++p) {
        distance += (image[p] - mean[p]) * (image[p] - mean[p]);
      }
      distances.push_back(distance);
    }
    const auto nearest = std::min_element(distances.begin(), distances.end());
    right += nearest - distances.begin() == label;
  }
  EXPECT_GT(right, kTest * 6 / 10) << "chance level is 1 in 10";
  EXPECT_LT(right, kTest * 97 / 100) << "colour alone must not suffice";
}

TEST(Generated, HasAnySizeAndCentredNumbers) {
  const Generated set({3, 224, 160}, 1000, 5);
  EXPECT_EQ(set.sample_shape(), (std::vector<int64_t>{3, 224, 160}));
  EXPECT_EQ(set.size(), 5);
  EXPECT_EQ(set.classes(), 1000);
  std::vector<float> image(3 * 224 * 160);
  Draws draws(0, 0, 0);
  EXPECT_EQ(set.get(4, draws, image), 4);
  double sum = 0, squares = 0;
  for (const float x : image) {
    sum += x;
    squares += x * x;
  }
  const double count = static_cast<double>(image.size());
  EXPECT_NEAR(sum / count, 0, 0.2);
  EXPECT_NEAR(squares / count, 0.7, 0.4);
}

TEST(Generated, RefusesOtherShapes) {
  auto make = [](std::vector<int64_t> shape, int64_t classes) {
    return [=] { Generated(shape, classes, 10); };
  };
  expect_error(make({1, 28, 28}, 10), "3,H,W");
  expect_error(make({3, 28}, 10), "3,H,W");
  expect_error(make({3, 0, 28}, 10), "3,H,W");
  expect_error(make({3, 28, 28}, 0), "1 class");
}

TEST(RandomDataset, IsTheNotebooksRandn) {
  const RandomDataset set(100, 5), other(100, 5, 1);
  EXPECT_EQ(set.size(), 100);
  EXPECT_EQ(set.sample_shape(), std::vector<int64_t>{5});
  Draws draws(0, 0, 0), later(0, 9, 0);
  std::array<float, 5> a{}, b{};
  const int64_t label = set.get(7, draws, a);
  EXPECT_EQ(set.get(7, later, b), label) << "the same in every epoch";
  EXPECT_EQ(a, b);
  other.get(7, draws, b);
  EXPECT_NE(a, b);

  double sum = 0, squares = 0;
  std::array<int, 2> labels{};
  for (int64_t i = 0; i < 100; ++i) {
    ++labels.at(set.get(i, draws, a));
    for (const float x : a) {
      sum += x;
      squares += x * x;
    }
  }
  EXPECT_NEAR(sum / 500, 0, 0.15);
  EXPECT_NEAR(squares / 500, 1, 0.2);
  EXPECT_NEAR(labels[0], 50, 20);
}

}  // namespace
}  // namespace lockstep::data
