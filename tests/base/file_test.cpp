#include "base/file.h"

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

TEST_F(AtomicWrite, FailingCommitLeavesTheTargetAndNothingElse) {
  {
    AtomicFile file(scratch_ / "taken");
    file.write("x");
    fs::create_directory(scratch_ / "taken");  // meanwhile, by somebody else
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

TEST_F(AtomicWrite, AFullDeviceIsWrittenDirectlyAndSaysSo) {
  AtomicFile file("/dev/full");
  expect_error([&] { file.write("x"); }, "/dev/full", "No space left");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(AtomicWrite, AFullDeviceRefusesGzipToo) {
  fs::create_symlink("/dev/full", scratch_ / "full.gz");
  AtomicFile file(scratch_ / "full.gz");
  file.write("x");  // kept by the compressor until commit
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
