// These tests use no network: archives come from file:// URLs.
// sanitize: address

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/process.h"
#include "engine/data/cifar10.h"
#include "engine/data/generated.h"
#include "tests/base/test_files.h"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

std::string first_word(const std::string& text) {
  return text.substr(0, text.find(' '));
}

class Fetch : public ScratchTest {
 protected:
  // An archive with the layout of the real one: all files are in cifar-10-batches-bin/.
  Archive make_archive() {
    generate_cifar10(source_ / "cifar-10-batches-bin", 10, 5, 0);
    fs::remove(source_ / "cifar-10-batches-bin" / "generated.txt");
    const std::string file = (source_ / "set.tar.gz").string();
    run_process({"tar", "-czf", file, "-C", source_.string(), "cifar-10-batches-bin"});
    return {"file://" + file, first_word(run_process({"md5sum", file}).output)};
  }

  fs::path source_ = scratch_ / "source";
  fs::path target_ = scratch_ / "target";
};

TEST_F(Fetch, MakesTheFolder) {
  const Archive archive = make_archive();
  EXPECT_EQ(cifar10_fetch(target_, archive), target_ / "cifar-10-batches-bin");
  EXPECT_EQ(Cifar10(target_, Split::train, false).size(), 10);
  EXPECT_EQ(Cifar10(target_, Split::test, false).size(), 5);
  EXPECT_FALSE(fs::exists(target_ / "cifar-10-batches-bin" / "archive.tar.gz"));
  EXPECT_EQ(listing(), (Names{"source", "target"}));
}

TEST_F(Fetch, LeavesAnExistingSetAlone) {
  generate_cifar10(target_, 10, 5, 0);
  fs::remove(target_ / "generated.txt");
  EXPECT_EQ(cifar10_fetch(target_, {"file:///nowhere", ""}), target_);
}

TEST_F(Fetch, DoesNotTakeAGeneratedSetForTheRealOne) {
  generate_cifar10(target_ / "cifar-10-batches-bin", 10, 5, 0);
  expect_error([&] { cifar10_fetch(target_, {"file:///nowhere", ""}); },
               "cifar-10-batches-bin: contains a generated data set", "remove it",
               "data fetch DIR");
}

void expect_nothing_in(const fs::path& folder) {
  EXPECT_TRUE(!fs::exists(folder) || fs::is_empty(folder)) << folder;
}

TEST_F(Fetch, SaysThatThereIsNoNetwork) {
  const Archive nobody_listens{"http://127.0.0.1:1/cifar.tar.gz", "0"};
  expect_error([&] { cifar10_fetch(target_, nobody_listens); },
               "http://127.0.0.1:1/cifar.tar.gz", "download failed", "curl",
               "lockstep data make");
  expect_nothing_in(target_);
}

TEST_F(Fetch, RefusesAnotherArchive) {
  Archive archive = make_archive();
  archive.md5 = Archive{}.md5;
  expect_error([&] { cifar10_fetch(target_, archive); }, archive.url, "MD5",
               archive.md5);
  expect_nothing_in(target_);
}

TEST_F(Fetch, RefusesWhatCannotBeUnpacked) {
  write_file(scratch_ / "bad", "not a tar file");
  const std::string file = (scratch_ / "bad").string();
  const Archive archive{"file://" + file,
                        first_word(run_process({"md5sum", file}).output)};
  expect_error([&] { cifar10_fetch(target_, archive); }, "cannot be unpacked");
  expect_nothing_in(target_);
}

}  // namespace
}  // namespace lockstep::data
