// The batches of a run on a GPU are in memory that the GPU reads by itself.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "engine/backends/backend.h"
#include "engine/backends/load_cuda.h"
#include "engine/runtime/pinned_memory.h"
#include "run/data_sets.h"

namespace lockstep::run {
namespace {

/// A driver of which only the memory is asked for.
struct MemoryOnly : runtime::Driver {
  void* allocate(Device, size_t) override { return nullptr; }
  void free(Device, void*) noexcept override {}
  std::unique_ptr<runtime::Queue> make_queue(Device) override { return nullptr; }
  runtime::Queue& current_queue() override { std::abort(); }
  void copy(void*, Device, const void*, Device, size_t) override {}
  void reduce(void*, Device, const void*, Device, int64_t, DType, ReduceOp) override {}
  runtime::PinnedMemory* pinned_memory() override { return &memory; }

  std::vector<std::unique_ptr<std::byte[]>> blocks;
  runtime::PinnedMemory memory{[this](size_t bytes) {
    return blocks.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  }};
};

struct NoKernels : Backend {
  runtime::Driver* driver() override { return &memory_only; }
  PlanPtr make_plan(const PlanRequest&) override { return nullptr; }
  MemoryOnly memory_only;
};

TEST(PinnedLoader, IsThatOfRunsOnAGpu) {
  static NoKernels backend;
  static CudaModule module;
  module.backend = &backend;
  module.gpus = {"a GPU"};
  stand_in_for_cuda(&module);

  RunConfig config;
  config.data.kind = DataKind::generated;
  config.data.image_size = 8;
  config.data.length = 8;
  config.data.workers = 0;
  config.recipe.batch_size = 4;
  const auto is_pinned = [&](DeviceType device) {
    config.device.type = device;
    const DataSets data = open_data(config);
    const auto loader = train_loader(config, data, {});
    loader->start_epoch(0);
    const data::Batch batch = *loader->next();
    return backend.memory_only.memory.contains(batch.images.data());
  };
  EXPECT_TRUE(is_pinned(DeviceType::cuda));
  EXPECT_FALSE(is_pinned(DeviceType::cpu));
}

}  // namespace
}  // namespace lockstep::run
