#include "engine/tensor/storage.h"

#include "engine/runtime/device_context.h"

namespace lockstep {
namespace {
thread_local MemoryCategory current_category = MemoryCategory::activations;
}

Storage::Storage(Device device, size_t bytes, MemoryCategory category)
    : device_(device), bytes_(bytes) {
  if (device.is_host()) {
    host_ = std::shared_ptr<char[]>(new char[bytes]);
  } else {
    runtime::DeviceContext& owner = runtime::context(device);
    block_ = owner.allocator().allocate(bytes, category, owner.compute());
  }
}

Storage::Storage(Device device, size_t bytes, MemoryCategory category,
                 runtime::Stream& stream)
    : device_(device),
      bytes_(bytes),
      block_(runtime::context(device).allocator().allocate(bytes, category, stream)) {}

void Storage::record_stream(runtime::Stream& stream) {
  if (block_) runtime::context(device_).allocator().record_stream(*block_, stream);
}

void Storage::set_category(MemoryCategory category) {
  if (block_) runtime::context(device_).allocator().recategorize(*block_, category);
}

CategoryScope::CategoryScope(MemoryCategory category) : outer_(current_category) {
  current_category = category;
}
CategoryScope::~CategoryScope() { current_category = outer_; }
MemoryCategory CategoryScope::current() { return current_category; }

}  // namespace lockstep
