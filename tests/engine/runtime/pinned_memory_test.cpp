// Page-locked memory is reused, but not while a copy still reads it.
// sanitize: address thread
#include "engine/runtime/pinned_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lockstep::runtime {
namespace {

constexpr size_t kBytes = size_t{1} << 20;

EventPtr copy() { return std::make_shared<Event>(std::vector<TraceEnd>{}); }

/// Counts the blocks that it locks, and frees them at the end.
class Pages {
 public:
  ~Pages() {
    for (void* block : blocks_) std::free(block);
  }
  PinnedMemory memory{[this](size_t bytes) {
    blocks_.push_back(std::malloc(bytes));
    return blocks_.back();
  }};
  size_t locked() const { return blocks_.size(); }

 private:
  std::vector<void*> blocks_;
};

TEST(PinnedMemory, IsReusedByBatchesOfSimilarSize) {
  Pages pages;
  void* first = pages.memory.allocate(kBytes);
  void* second = pages.memory.allocate(kBytes);
  EXPECT_NE(first, second);
  pages.memory.deallocate(first, kBytes);
  EXPECT_EQ(pages.memory.allocate(kBytes * 3 / 4), first) << "an epoch's last batch";
  pages.memory.deallocate(first, kBytes * 3 / 4);
  pages.memory.deallocate(second, kBytes);
  EXPECT_EQ(pages.locked(), 2u);
  EXPECT_NE(pages.memory.allocate(kBytes / 8), nullptr);
  EXPECT_EQ(pages.locked(), 3u) << "it would waste most of a large block";
  EXPECT_NE(pages.memory.allocate(2 * kBytes), nullptr);
  EXPECT_EQ(pages.locked(), 4u);
}

TEST(PinnedMemory, IsNotReusedWhileACopyReadsIt) {
  Pages pages;
  const EventPtr one = copy(), other = copy();
  auto* first = static_cast<char*>(pages.memory.allocate(kBytes));
  pages.memory.read_by(first, one);
  pages.memory.read_by(first + kBytes / 2, other);  // a chunk, to another device
  pages.memory.deallocate(first, kBytes);
  void* second = pages.memory.allocate(kBytes);
  EXPECT_NE(second, first);
  one->signal();
  void* third = pages.memory.allocate(kBytes);
  EXPECT_NE(third, first);
  other->signal();
  EXPECT_EQ(pages.memory.allocate(kBytes), first);
  EXPECT_EQ(pages.locked(), 3u);
}

TEST(PinnedMemory, KnowsItsBlocks) {
  Pages pages;
  const auto* block = static_cast<char*>(pages.memory.allocate(kBytes));
  EXPECT_TRUE(pages.memory.contains(block));
  EXPECT_TRUE(pages.memory.contains(block + kBytes - 1));
  EXPECT_FALSE(pages.memory.contains(block - 1));
  EXPECT_FALSE(pages.memory.contains(block + kBytes));
}

TEST(PinnedMemory, IsOrdinaryMemoryIfNoPagesCanBeLocked) {
  int asked = 0;
  PinnedMemory memory([&asked](size_t) -> void* {
    ++asked;
    return nullptr;
  });
  for (int i = 0; i < 3; ++i) {
    void* data = memory.allocate(kBytes);
    EXPECT_FALSE(memory.contains(data));
    memory.read_by(data, copy());
    memory.deallocate(data, kBytes);
  }
  EXPECT_EQ(asked, 1);
}

/// Locking may wait for the hardware, which may wait for a copy that asks.
TEST(PinnedMemory, CanBeAskedWhilePagesAreLocked) {
  Pages pages;
  const void* other = pages.memory.allocate(kBytes);
  PinnedMemory* asked = nullptr;
  bool found = true;
  PinnedMemory memory([&](size_t) -> void* {
    found = asked->contains(other);
    return nullptr;
  });
  asked = &memory;
  memory.deallocate(memory.allocate(kBytes), kBytes);
  EXPECT_FALSE(found);
}

}  // namespace
}  // namespace lockstep::runtime
