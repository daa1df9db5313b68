// Device memory in host program order: which blocks are reused when, and how memory is
// counted.
// sanitize: address thread
#include "engine/runtime/allocator.h"

#include "engine/nn/layers.h"
#include "tests/engine/runtime/gate.h"
#include "tests/sanitized.h"

namespace lockstep::runtime {
namespace {

using test::Gate;
using test::task;

DeviceContext& fifth() { return context(test::reference(5)); }

std::shared_ptr<Block> take(size_t bytes, Stream& stream,
                            MemoryCategory category = MemoryCategory::other) {
  return fifth().allocator().allocate(bytes, category, stream);
}

TEST(Allocator, ReusesAtOnceOnTheSameStream) {
  Gate gate(fifth().compute());  // no task that uses the block has run yet
  auto block = take(4096, fifth().compute());
  void* data = block->data;
  block.reset();
  EXPECT_EQ(take(4000, fifth().compute())->data, data) << "nearly equal size: reused";
  const auto mine = take(4096, fifth().compute());
  EXPECT_EQ(mine->data, data);
  EXPECT_NE(take(4096, fifth().compute())->data, data) << "the block is in use";
}

TEST(Allocator, DoesNotWasteLargeBlocksOnSmallOnes) {
  void* data = take(1 << 16, fifth().compute())->data;
  EXPECT_NE(take(1 << 10, fifth().compute())->data, data);
}

TEST(Allocator, StreamsDoNotShareFreeBlocks) {
  void* data = take(8192, fifth().comm())->data;
  EXPECT_NE(take(8192, fifth().compute())->data, data);
  EXPECT_EQ(take(8192, fifth().comm())->data, data);
}

TEST(Allocator, RecordStreamDelaysReuse) {
  Stream &compute = fifth().compute(), &copy = fifth().copy();
  Gate gate(copy);
  auto block = take(12288, compute);
  void* data = block->data;
  fifth().allocator().record_stream(*block, copy);  // `copy` still reads the block
  block.reset();
  auto other = take(12288, compute);
  EXPECT_NE(other->data, data) << "the other stream has not finished";
  gate.open();
  copy.record_event()->wait();
  EXPECT_EQ(take(12288, compute)->data, data);
}

TEST(Allocator, RecordingItsOwnStreamChangesNothing) {
  Gate gate(fifth().compute());
  auto block = take(20480, fifth().compute());
  void* data = block->data;
  fifth().allocator().record_stream(*block, fifth().compute());
  block.reset();
  EXPECT_EQ(take(20480, fifth().compute())->data, data);
}

TEST(Allocator, AlignsForTheWidestRegisters) {
  for (size_t bytes : {1, 100, 5000, 3 << 20}) {
    const auto block = take(bytes, fifth().compute());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block->data) % 64, 0u);
    EXPECT_GE(block->capacity, bytes);
  }
}

TEST(Allocator, CountsByCategoryAndKeepsThePeak) {
  Allocator& memory = fifth().allocator();
  const int64_t before = memory.live_bytes();
  memory.reset_peak();
  EXPECT_EQ(memory.peak_bytes(), before);
  auto gradients = take(1000, fifth().compute(), MemoryCategory::gradients);
  auto other = take(24, fifth().compute(), MemoryCategory::buckets);
  EXPECT_EQ(memory.live_bytes(), before + 1024) << "bytes as requested";
  EXPECT_EQ(memory.live_bytes(MemoryCategory::gradients), 1000);
  memory.recategorize(*gradients, MemoryCategory::optimizer);
  EXPECT_EQ(memory.live_bytes(MemoryCategory::gradients), 0);
  EXPECT_EQ(memory.live_bytes(MemoryCategory::optimizer), 1000);
  gradients.reset();
  EXPECT_EQ(memory.live_bytes(MemoryCategory::optimizer), 0);
  EXPECT_EQ(memory.live_bytes(), before + 24);
  EXPECT_EQ(memory.peak_bytes(), before + 1024);
  other.reset();
}

TEST(Allocator, TensorsAreCountedInTheirScope) {
  Allocator& memory = fifth().allocator();
  {
    CategoryScope scope(MemoryCategory::inputs);
    const Tensor x = Tensor::empty({10}, test::reference(5));
    EXPECT_EQ(memory.live_bytes(MemoryCategory::inputs), 40);
    const Tensor view = x.narrowed(2, 3);
    EXPECT_EQ(memory.live_bytes(MemoryCategory::inputs), 40) << "views are not counted";
  }
  EXPECT_EQ(memory.live_bytes(MemoryCategory::inputs), 0);
  EXPECT_EQ(CategoryScope::current(), MemoryCategory::activations);
}

TEST(Allocator, TooMuchIsAnErrorNotADeadlock) {
  if (kSanitized) GTEST_SKIP() << "AddressSanitizer aborts on such a size";
  const int64_t before = fifth().allocator().live_bytes();
  const std::string message =
      test::message_of([] { Tensor::empty({int64_t{1} << 52}, test::reference(5)); });
  EXPECT_EQ(message.substr(0, 34), "out of memory: could not allocate ");
  EXPECT_EQ(fifth().allocator().live_bytes(), before);
}

// Counters depend on the host's program, not on the workers' timing: two runs agree,
// whether the device keeps up or is blocked.
TEST(Allocator, EqualPeaksOfEqualRuns) {
  for (const Device where :
       {test::reference(6), Device{DeviceType::cpu, 6}, Device{DeviceType::null, 6}}) {
    if (!has_backend(where.type)) continue;
    SCOPED_TRACE(where.str());
    Allocator& memory = context(where).allocator();
    nn::Sequential net(
        {std::make_shared<nn::Conv2d>(nn::Conv2dSettings{3, 16, 3, 1, 1}),
         std::make_shared<nn::BatchNorm2d>(16), std::make_shared<nn::ReLU>()});
    net.to(where);
    const Tensor images =
        test::on(where, test::signed_tensor("images", {4, 3, 8, 8}, 1, DType::f32));
    int64_t leaked = 0;
    auto peak = [&](bool gated, bool grad) {
      context(where).synchronize();
      memory.reset_peak();
      const int64_t before = memory.live_bytes();
      std::unique_ptr<Gate> gate;
      if (gated) gate = std::make_unique<Gate>(context(where).compute());
      {
        autograd::GradMode mode(grad);
        const Tensor y = net(images);
        if (grad) test::backward_from(ops::flatten(y));
      }
      for (const Tensor& parameter : net.parameters()) parameter.set_grad({});
      leaked = memory.live_bytes() - before;
      return memory.peak_bytes() - before;
    };
    for (bool grad : {false, true}) {
      peak(false, grad);  // allocates the workspace
      const int64_t first = peak(false, grad);
      EXPECT_GT(first, 4 * 16 * 8 * 8 * 4);
      EXPECT_EQ(leaked, 0);
      EXPECT_EQ(peak(false, grad), first);
      EXPECT_EQ(peak(true, grad), first) << "the host ran ahead";
      EXPECT_EQ(leaked, 0) << "the host ran ahead";
    }
    context(where).synchronize();
  }
}

}  // namespace
}  // namespace lockstep::runtime
