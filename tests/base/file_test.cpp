// sanitize: address
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "tests/base/test_files.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

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

TEST_F(AtomicWrite, TheFixDependsOnTheError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  expect_error([] { AtomicFile("/dev/full").write(std::string(1 << 20, 'x')); },
               "or free some space");
  if (!fs::exists("/sys/kernel")) GTEST_SKIP() << "no folder here that refuses root";
  expect_error([] { AtomicFile("/sys/file"); }, "fix: choose another location or make");
}

TEST_F(AtomicWrite, FailingCommitLeavesTheTargetAndNothingElse) {
  {
    AtomicFile file(scratch_ / "taken");
    file.write("x");
    fs::create_directory(scratch_ / "taken");  // created by someone else meanwhile
    expect_error([&] { file.commit(); }, "taken", "cannot be written");
  }
  EXPECT_EQ(listing(), Names{"taken"});
}

TEST_F(AtomicWrite, AFolderIsNoFile) {
  fs::create_directory(scratch_ / "folder");
  expect_error([&] { AtomicFile(scratch_ / "folder"); }, "folder", "Is a directory",
               "fix:");
}

TEST_F(AtomicWrite, FollowsALink) {
  write_file(scratch_ / "target", "old");
  fs::create_symlink("target", scratch_ / "link");
  AtomicFile file(scratch_ / "link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(scratch_ / "link"));
  EXPECT_EQ(read_file(scratch_ / "target"), "new");
}

TEST_F(AtomicWrite, CreatesTheFileThatALinkWillName) {
  fs::create_directory(scratch_ / "folder");
  fs::create_symlink("folder/second", scratch_ / "first");
  fs::create_symlink("target", scratch_ / "folder" / "second");
  AtomicFile file(scratch_ / "first");
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(scratch_ / "first"));
  EXPECT_TRUE(fs::is_symlink(scratch_ / "folder" / "second"));
  EXPECT_EQ(read_file(scratch_ / "folder" / "target"), "new");
}

TEST_F(AtomicWrite, KeepsTheOrderOfSmallAndLargeParts) {
  std::string all;
  for (const auto packing : {AtomicFile::Packing::by_name, AtomicFile::Packing::none}) {
    all.clear();
    AtomicFile file(scratch_ / "f", packing);
    for (size_t size = 1; size < 3'000'000; size = size * 3 + 1) {
      const std::string part(size, static_cast<char>('a' + size % 26));
      file.write(part);
      file.write("|");
      all += part + "|";
    }
    file.commit();
    EXPECT_TRUE(read_file(scratch_ / "f") == all);
  }
}

TEST_F(AtomicWrite, AFullDeviceIsWrittenDirectlyAndSaysSo) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  {
    AtomicFile file("/dev/full");
    file.write("x");  // buffered until commit
    expect_error([&] { file.commit(); }, "/dev/full", "No space left");
  }
  AtomicFile file("/dev/full");
  const std::string more_than_a_buffer(1 << 20, 'x');
  expect_error([&] { file.write(more_than_a_buffer); }, "/dev/full", "No space left");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(AtomicWrite, AFullDeviceRefusesGzipToo) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  fs::create_symlink("/dev/full", scratch_ / "full.gz");
  AtomicFile file(scratch_ / "full.gz");
  file.write("x");  // buffered by the compressor until commit
  expect_error([&] { file.commit(); }, "full.gz", "No space left");
}

TEST_F(AtomicWrite, PacksByName) {
  const std::string text(100'000, 'a');
  for (const auto packing : {AtomicFile::Packing::by_name, AtomicFile::Packing::none}) {
    AtomicFile file(scratch_ / "t.gz", packing);
    file.write(text);
    file.commit();
    const std::string written = read_file(scratch_ / "t.gz");
    if (packing == AtomicFile::Packing::none) {
      EXPECT_EQ(written, text);
    } else {
      EXPECT_LT(written.size(), 1000u);
      EXPECT_EQ(written.substr(0, 2), "\x1f\x8b");
    }
  }
}

// A child process that starts while a file is being written must not inherit its
// descriptors: they would keep the disk space allocated and a pipe's reader blocked.
TEST_F(AtomicWrite, DescriptorsAreClosedOnExec) {
  AtomicFile file(scratch_ / "t.gz");
  int ours = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (!fs::read_symlink(entry, error).string().starts_with(scratch_.string())) {
      continue;
    }
    const int fd = std::stoi(entry.path().filename());
    EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC) << fd;
    ++ours;
  }
  EXPECT_EQ(ours, 1);  // also with a compressor: many ranks write at the same time
}

TEST_F(AtomicWrite, AFolderReplacesOnlyAnEmptyFolder) {
  write_file(scratch_ / "empty_file", "");
  fs::create_directory(scratch_ / "empty");
  fs::create_directory(scratch_ / "full");
  write_file(scratch_ / "full" / "f", "x");
  for (const char* taken : {"empty_file", "full"}) {
    expect_error([&] { AtomicFolder(scratch_ / taken); }, taken, "it already exists");
  }
  AtomicFolder(scratch_ / "empty").commit();
  EXPECT_EQ(listing(), (Names{"empty", "empty_file", "full"}));
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
}  // namespace lockstep
