// In which order a trace says that the host took memory and enqueued tasks.
#include <algorithm>

#include "engine/runtime/allocator.h"
#include "tests/engine/runtime/gate.h"
#include "tracer/format/args.h"
#include "tracer/record/collect.h"

namespace lockstep::runtime {
namespace {

using test::Gate;

DeviceContext& device_at(int index) { return context(test::reference(index)); }

std::shared_ptr<Block> take(int index, Stream& stream) {
  return device_at(index).allocator().allocate(64, MemoryCategory::activations, stream);
}

void enqueue(Stream& stream, const char* name, int source = -1) {
  Task task = test::task([] {}, name);
  task.record.cat = "copy";
  task.record.id = tracer::next_id();
  if (source >= 0) task.args = {{"src", source}};
  stream.enqueue(std::move(task));
}

class MemoryCounters : public testing::Test {
 protected:
  int64_t number(const char* task, const char* key) const {
    for (const tracer::Event& event : events_) {
      if (event.name == task) return tracer::int_arg(event.args, key, -1);
    }
    return -2;
  }
  std::vector<int64_t> lanes(int index) const {
    std::vector<int64_t> found;
    for (const tracer::Event& event : events_) {
      if (event.ph == 'C' && event.pid == 1 + device_at(index).device().trace_id()) {
        found.push_back(event.tid);
      }
    }
    return found;
  }

  std::vector<tracer::Event> events_;
};

TEST_F(MemoryCounters, ATaskCountsThoseRecordedBeforeItWasEnqueued) {
  tracer::collect();
  tracer::start_recording();
  {
    const Gate gate(device_at(3).compute());  // the tasks run after everything below
    const auto first = take(3, device_at(3).compute());
    enqueue(device_at(3).compute(), "one before");
    auto second = take(3, device_at(3).copy());
    auto other = take(4, device_at(4).compute());
    enqueue(device_at(3).copy(), "two before", device_at(4).device().trace_id());
    device_at(3).allocator().record_stream(*second, device_at(3).comm());
    second.reset();
    device_at(3).allocator().recategorize(*first, MemoryCategory::gradients);
    enqueue(device_at(3).compute(), "four before");
  }
  device_at(3).synchronize();
  tracer::stop_recording();
  events_ = tracer::collect();
  EXPECT_EQ(number("one before", "memory_counters"), 1);
  EXPECT_EQ(number("one before", "src_memory_counters"), -1);
  EXPECT_EQ(number("two before", "memory_counters"), 2);
  EXPECT_EQ(number("two before", "src_memory_counters"), 1) << "of the sender";
  EXPECT_EQ(number("four before", "memory_counters"), 4) << "a move is one counter";
  const std::vector<int64_t> all = lanes(3);
  ASSERT_GE(all.size(), 4u);
  EXPECT_EQ(all[0], 0) << "taken for the compute stream";
  EXPECT_EQ(all[1], 1) << "taken for the copy stream";
  EXPECT_EQ(all[2], 2) << "released: the comm stream uses it, too";
  EXPECT_EQ(all[3], 0);
}

}  // namespace
}  // namespace lockstep::runtime
