// Ranks compare their data: the first difference is named, on all ranks.
#include "run/data_fingerprint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/data/cifar10.h"
#include "engine/data/generated.h"
#include "engine/data/image_folder.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;

/// Returns each rank's error; "" if its data are those of rank 0.
std::vector<std::string> compared(const std::vector<DataSets>& of_ranks) {
  distributed::HashStore store;
  const int world = static_cast<int>(of_ranks.size());
  std::vector<std::string> errors(of_ranks.size());
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        agree_on_data(store, of_ranks[rank], rank, world, Milliseconds(60'000));
      } catch (const std::exception& error) {
        errors[rank] = error.what();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return errors;
}

/// CIFAR-10 with `length` training images; one byte of record `changed` is different.
DataSets cifar(int64_t length, int64_t changed = -1, int64_t byte = 0) {
  const auto set_of = [](std::vector<uint8_t> records) {
    return std::make_shared<data::Cifar10>(std::move(records), "records", false);
  };
  std::vector<uint8_t> records(length * data::kCifar10Record);
  for (size_t i = 0; i < records.size(); ++i) records[i] = (i * i / 7 + i) % 10;
  const std::vector<uint8_t> test(records.begin(),
                                  records.begin() + data::kCifar10Record);
  if (changed >= 0) records[changed * data::kCifar10Record + byte] ^= 1;
  return {"cifar10", "folder", set_of(std::move(records)), set_of(test)};
}

std::string first_words(const std::string& error) {
  return error.substr(0, error.find(':'));
}

TEST(DataFingerprint, EqualDataAgree) {
  EXPECT_EQ(compared({cifar(200), cifar(200), cifar(200)}),
            std::vector<std::string>(3));
  const auto generated = std::make_shared<data::Generated>(
      std::vector<int64_t>{3, 4, 4}, int64_t{10}, int64_t{1} << 40, uint64_t{1});
  const DataSets large{"generated", "", generated, generated};
  EXPECT_EQ(compared({large, large}), std::vector<std::string>(2));  // read no sample
}

TEST(DataFingerprint, NamesTheLengthFirst) {
  const std::string error =
      "rank 1 has training samples: 199, but rank 0 has training samples: 200; fix: "
      "give all ranks the same data";
  EXPECT_EQ(compared({cifar(200), cifar(199), cifar(200, 7)}),
            std::vector<std::string>(3, error));
}

TEST(DataFingerprint, NamesTheFirstSampleWhoseLabelOrPixelDiffers) {
  const int64_t last_pixel = data::kCifar10Record - 1;
  for (const int64_t byte : {int64_t{0}, int64_t{1000}, last_pixel}) {
    for (const int64_t sample : {0, 63, 137, 199}) {
      const auto errors = compared({cifar(200), cifar(200), cifar(200, sample, byte)});
      EXPECT_EQ(first_words(errors[0]),
                "rank 2 has training sample " + std::to_string(sample));
      EXPECT_EQ(errors, std::vector<std::string>(3, errors[0]));
    }
  }
  const auto errors = compared({cifar(200, 150, 0), cifar(200)});
  EXPECT_NE(errors[1].find("training sample 150: label "), std::string::npos);
}

class DataFolders : public testing::Test {
 protected:
  DataFolders()
      : root_(fs::temp_directory_path() /
              ("data-fingerprint-" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
  }
  ~DataFolders() override { fs::remove_all(root_); }

  void write(const std::string& machine, const std::string& file, size_t bytes) {
    const fs::path path = root_ / machine / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
  }

  /// A folder with two classes of 40 images, of which one is validated.
  void fill(const std::string& machine) {
    for (const char* name : {"cat", "dog"}) {
      for (int i = 0; i < 40; ++i) {
        const std::string file =
            std::string(name) + "/" + std::to_string(i + 10) + ".png";
        write(machine, "train/" + file, 20 + i);
        if (i == 0) write(machine, "val/" + file, 20);
      }
    }
  }

  DataSets open(const std::string& machine) const {
    const std::string place = (root_ / machine).string();
    return {"imagefolder", place,
            std::make_shared<data::ImageFolder>(place + "/train",
                                                data::ImageFolderOptions{}),
            std::make_shared<data::ImageFolder>(place + "/val",
                                                data::ImageFolderOptions{})};
  }

  const fs::path root_;
};

TEST_F(DataFolders, AreComparedBelowTheirFolder) {
  fill("a");
  fill("b");
  EXPECT_EQ(compared({open("a"), open("b")}), std::vector<std::string>(2));
}

TEST_F(DataFolders, NamesTheFileWhoseSizeDiffers) {
  fill("a");
  fill("b");
  write("b", "train/dog/17.png", 1234);
  const std::string error =
      "rank 1 has training sample 47: dog/17.png, 1234 bytes, but rank 0 has training "
      "sample 47: dog/17.png, 27 bytes; fix: give all ranks the same data";
  EXPECT_EQ(compared({open("a"), open("b")}), std::vector<std::string>(2, error));
}

TEST_F(DataFolders, NamesTheTestImageWithAnotherName) {
  fill("a");
  fill("b");
  fs::rename(root_ / "b/val/dog/10.png", root_ / "b/val/dog/99.png");
  const auto errors = compared({open("a"), open("b")});
  EXPECT_NE(errors[0].find("rank 1 has test sample 1: dog/99.png"), std::string::npos)
      << errors[0];
  EXPECT_EQ(errors[0], errors[1]);
}

TEST_F(DataFolders, ComparesTheNamesOfClasses) {
  fill("a");
  fill("b");
  fs::rename(root_ / "b/train/dog", root_ / "b/train/wolf");
  EXPECT_EQ(first_words(compared({open("a"), open("b")})[0]), "rank 1 has classes");
}

}  // namespace
}  // namespace lockstep::run
