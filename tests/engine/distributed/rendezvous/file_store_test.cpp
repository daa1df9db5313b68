// A store in a file: two processes, files of earlier runs, damaged files.
// sanitize: address thread
#include "engine/distributed/rendezvous/file_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "tests/base/test_files.h"
#include "tests/engine/distributed/rendezvous/processes.h"

namespace lockstep::distributed {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class AStoreInAFile : public ScratchTest {
 protected:
  template <typename... Parts>
  void expect_refused(const Parts&... parts) {
    expect_error([&] { FileStore store(path_); }, path_.string(), parts...);
  }

  const fs::path path_ = scratch_ / "store";
};

TEST_F(AStoreInAFile, IsSharedByProcesses) {
  Child child([this] {
    FileStore store(path_);
    store.join(1, 2);
    for (int i = 0; i < 200; ++i) store.add("sum", 1);
    store.set("of 1", store.get("of 0") + "!");
  });
  FileStore store(path_);
  store.join(0, 2);
  for (int i = 0; i < 200; ++i) store.add("sum", 1);
  store.set("of 0", "hello");
  EXPECT_EQ(store.get("of 1"), "hello!");
  EXPECT_EQ(store.get("sum"), "400");
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(AStoreInAFile, IsRemovedByTheLastWhoLeaves) {
  auto a = std::make_unique<FileStore>(path_), b = std::make_unique<FileStore>(path_);
  EXPECT_EQ(a->describe(), "file://" + path_.string());
  a->join(0, 2);
  a.reset();  // rank 1 has not joined yet
  EXPECT_TRUE(fs::exists(path_));
  b->join(1, 2);
  b->leave();
  EXPECT_FALSE(fs::exists(path_));
  b->leave();
  expect_error([&] { b->set("key", ""); }, path_.string(), "was removed");
  b.reset();
  FileStore(path_).join(0, 2);  // the next run
}

TEST_F(AStoreInAFile, StaysWhenAMemberFails) {
  try {
    FileStore store(path_);
    store.join(0, 1);
    throw std::logic_error("the rank failed");
  } catch (const std::logic_error&) {
  }
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(AStoreInAFile, OfAnotherRunIsToldFromOurs) {
  Child([this] {
    FileStore store(path_);
    store.join(1, 2);
    store.set("address", "of the dead");
    ::kill(::getpid(), SIGKILL);
  }).wait();
  const std::string fix = "delete " + path_.string() + " (it was left by another run)";
  FileStore store(path_);
  expect_error([&] { store.join(1, 2); }, path_.string() + ": rank 1 joined twice",
               fix);
  expect_error([&] { store.join(0, 3); }, "world size 3", ") has 2", fix);
}

TEST_F(AStoreInAFile, IsNotMadeOfGarbage) {
  write_file(path_, "key=value\n");
  expect_refused("is not a store file", "at byte 0", "delete it");
  write_file(path_, store::encode({store::Op::set, {"k", "v"}}) + "LKS3 etc. pp.");
  expect_refused("is not a store file", "unknown operation", "at byte 22");
  write_file(path_, store::encode({store::Op::ping, {}}));
  expect_refused("is not a store file", "invalid record");
  write_file(path_, store::encode({store::Op::set, {"k"}}));
  expect_refused("is not a store file", "invalid record");
}

TEST_F(AStoreInAFile, MustBeWhole) {
  FileStore(path_).set("key", std::string(200'000, 'x'));
  const auto size = fs::file_size(path_);
  FileStore store(path_);
  fs::resize_file(path_, size - 1);
  expect_refused("is truncated in the record at byte 0", "delete it");
  store.try_get("key");  // reads the file before it is truncated
  write_file(path_, "");
  FileStore(path_).set("key", "an empty file counts as none");
}

TEST_F(AStoreInAFile, MustBeThereAndWritable) {
  expect_error([&] { FileStore(scratch_ / "no" / "store"); }, "no/store",
               "cannot be opened", "No such file or directory");
  expect_error([&] { FileStore{scratch_}; }, scratch_.string(), "Is a directory");
}

TEST_F(AStoreInAFile, HoldsAMebibyteAtOnceAndNoMore) {
  FileStore store(path_);
  expect_error([&] { store.set("key", std::string(1 << 20, 'x')); }, "1048576");
  store.set("key", "short");
}

TEST_F(AStoreInAFile, KeepsNoHalfRecordWhenTheDiskIsFull) {
  FileStore store(path_);
  store.set("key", "old");
  Child child([this] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    FileStore full(path_);
    expect_error([&] { full.set("key", std::string(500, 'x')); }, path_.string(),
                 "cannot be written");
    if (testing::Test::HasFailure()) ::_exit(1);
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(store.get("key"), "old");
  store.set("key", "new");
  EXPECT_EQ(FileStore(path_).get("key"), "new");
}

TEST_F(AStoreInAFile, IsNotLockedForever) {
  FileStore store(path_, milliseconds(20));
  const Fd other(::open(path_.c_str(), O_RDWR));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  expect_error([&] { store.try_get("key"); }, path_.string(),
               "by another process for 0.02 s");
  ASSERT_EQ(::flock(other.get(), LOCK_UN), 0);
  EXPECT_EQ(store.try_get("key"), std::nullopt);
}

/// The number of this process's descriptors that are open on the file.
int times_open(const fs::path& path) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry, gone) == path) ++count;
  }
  return count;
}

TEST_F(AStoreInAFile, IsMadeAnewIfTheLastRunRemovesItMeanwhile) {
  const Fd last_run(::open(path_.c_str(), O_RDWR | O_CREAT, 0666));
  ASSERT_EQ(::flock(last_run.get(), LOCK_EX), 0);
  std::thread next_run([this] { FileStore(path_).set("key", "kept"); });
  while (times_open(path_) < 2) std::this_thread::yield();
  fs::remove(path_);
  ASSERT_EQ(::flock(last_run.get(), LOCK_UN), 0);
  next_run.join();
  EXPECT_EQ(FileStore(path_).try_get("key"), "kept");
}

}  // namespace
}  // namespace lockstep::distributed
