// No test here leaves the machine: archives come from file:// URLs.
#include "engine/data/fetch.h"

#include <gtest/gtest.h>

#include "engine/data/atomic_write.h"
#include "engine/data/cifar10.h"
#include "engine/data/generated.h"
#include "engine/data/process.h"
#include "tests/engine/data/test_files.h"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

std::string first_word(const std::string& text) {
  return text.substr(0, text.find(' '));
}

class Fetch : public ScratchTest {
 protected:
  // An archive as the real one: everything below cifar-10-batches-bin/.
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
               "cifar-10-batches-bin: a generated set", "remove it", "data fetch DIR");
}

void expect_nothing_in(const fs::path& folder) {
  EXPECT_TRUE(!fs::exists(folder) || fs::is_empty(folder)) << folder;
}

TEST_F(Fetch, SaysThatThereIsNoNetwork) {
  const Archive nobody_listens{"http://127.0.0.1:1/cifar.tar.gz", "0"};
  expect_error([&] { cifar10_fetch(target_, nobody_listens); },
               "http://127.0.0.1:1/cifar.tar.gz", "cannot be fetched", "curl",
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

TEST(Process, GivesExitCodeAndBothOutputs) {
  const auto result = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.errors, "err\n");
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}).exit_code, 128 + 9);
}

TEST(Process, PassesArgumentsAsTheyAreAndNoInput) {
  EXPECT_EQ(run_process({"printf", "%s|", "a b", "$HOME; ls", ""}).output,
            "a b|$HOME; ls||");
  EXPECT_EQ(run_process({"cat"}).output, "");
}

TEST(Process, TakesMoreOutputThanAPipeHolds) {
  EXPECT_EQ(run_process({"head", "-c", "300000", "/dev/zero"}).output.size(), 300'000u);
}

TEST(Process, NamesTheMissingProgram) {
  expect_error([] { run_process({"no-such-program-here"}); }, "no-such-program-here",
               "install it");
}

class AtomicWrite : public ScratchTest {};

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST_F(AtomicWrite, FileAppearsAtCommit) {
  write_file(scratch_ / "f", "old");
  {
    AtomicFile file(scratch_ / "f");
    file.write(bytes("new "));
    EXPECT_EQ(read_file(scratch_ / "f"), "old");
    file.write(bytes("text"));
    file.commit();
  }
  EXPECT_EQ(read_file(scratch_ / "f"), "new text");
  EXPECT_EQ(listing(), Names{"f"});
}

TEST_F(AtomicWrite, FileWithoutCommitLeavesNothing) {
  {
    AtomicFile(scratch_ / "f").write(bytes("half"));
  }
  EXPECT_EQ(listing(), Names{});
  expect_error([&] { AtomicFile(scratch_ / "no" / "f"); }, "no/f", "cannot be written",
               "No such file or directory");
}

TEST_F(AtomicWrite, FailingCommitLeavesTheTargetAndNothingElse) {
  fs::create_directory(scratch_ / "taken");
  {
    AtomicFile file(scratch_ / "taken");
    file.write(bytes("x"));
    expect_error([&] { file.commit(); }, "taken", "cannot be written");
  }
  EXPECT_EQ(listing(), Names{"taken"});
}

TEST_F(AtomicWrite, FolderAppearsAtCommit) {
  {
    AtomicFolder half(scratch_ / "half");
    write_file(half.path() / "f", "x");
  }
  EXPECT_EQ(listing(), Names{});
  AtomicFolder folder(scratch_ / "whole/");
  write_file(folder.path() / "f", "x");
  folder.commit();
  EXPECT_EQ(listing(), Names{"whole"});
  EXPECT_EQ(read_file(scratch_ / "whole" / "f"), "x");
}

}  // namespace
}  // namespace lockstep::data
