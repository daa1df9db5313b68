// When a device reaches the allocations and releases of the host. Times in µs; the
// first event starts at 0.
#include "gui/model/memory.h"

#include <gtest/gtest.h>

#include "gui/model/loader.h"
#include "gui/model/state.h"

namespace lockstep::gui {
namespace {

/// The host enqueues from 0 to 30; the device computes from 100 on. `tid` of a counter
/// is the last stream that uses the block.
constexpr const char* kEvents = R"(
{"ph":"X","cat":"phase","name":"step","pid":0,"tid":0,"ts":0,"dur":500,
 "args":{"id":1,"step":0}},
{"ph":"C","name":"memory","pid":1,"tid":0,"ts":1,
 "args":{"parameters":40,"activations":0}},
{"ph":"C","name":"memory","pid":1,"tid":0,"ts":2,
 "args":{"parameters":40,"activations":8}},
{"ph":"C","name":"memory","pid":1,"tid":0,"ts":4,
 "args":{"parameters":40,"activations":24}},
{"ph":"C","name":"memory","pid":1,"tid":0,"ts":6,
 "args":{"parameters":40,"activations":16}},
{"ph":"C","name":"memory","pid":1,"tid":1,"ts":8,
 "args":{"parameters":40,"activations":20}},
{"ph":"C","name":"memory","pid":1,"tid":0,"ts":10,
 "args":{"parameters":44,"activations":16}},
{"ph":"C","name":"memory","pid":1,"tid":1,"ts":12,
 "args":{"parameters":44,"activations":0}},
{"ph":"C","name":"memory","pid":1,"tid":0,"ts":14,
 "args":{"parameters":44,"activations":2}},
{"ph":"C","name":"memory","pid":1,"tid":0,"ts":16,
 "args":{"parameters":44,"activations":0}},
{"ph":"X","cat":"kernel","name":"a","pid":1,"tid":0,"ts":100,"dur":10,
 "args":{"id":2,"step":0,"device":0,"stream":0,"memory_counters":2}},
{"ph":"X","cat":"kernel","name":"b","pid":1,"tid":0,"ts":120,"dur":10,
 "args":{"id":3,"step":0,"device":0,"stream":0,"memory_counters":4}},
{"ph":"X","cat":"copy","name":"c","pid":1,"tid":1,"ts":50,"dur":10,
 "args":{"id":4,"step":0,"device":0,"stream":1,"src":"host","dst":0,"bytes":4,
 "memory_counters":5}},
{"ph":"X","cat":"copy","name":"out","pid":2,"tid":1,"ts":130,"dur":70,
 "args":{"id":5,"step":0,"device":1,"stream":1,"src":0,"dst":1,"bytes":4,
 "memory_counters":0,"src_memory_counters":6}},
{"ph":"X","cat":"kernel","name":"d","pid":1,"tid":0,"ts":140,"dur":10,
 "args":{"id":6,"step":0,"device":0,"stream":0,"memory_counters":6}}
)";

Model model_of(const std::string& events) {
  return load_model("made", R"({"lockstep":{"format":1,"clock":"measured","devices":)"
                            R"([{"id":0},{"id":1}]},"traceEvents":[)" +
                                events + "]}");
}

class MemoryOfDevice : public ::testing::Test {
 protected:
  std::pair<int64_t, int64_t> at(int us, Order order = Order::time) const {
    Position position;
    position.order = order;
    position.time = us * int64_t{1000};
    const State state = state_at(model_, position);
    const Memory& memory = state.devices[0].memory;
    return {memory.bytes[0], memory.bytes[3]};  // parameters, activations
  }

  const Model model_ = model_of(kEvents);
};

using Bytes = std::pair<int64_t, int64_t>;

TEST_F(MemoryOfDevice, AnAllocationCountsFromItsFirstTask) {
  EXPECT_EQ(at(30), Bytes(40, 0)) << "the host has enqueued all of it";
  EXPECT_EQ(at(99), Bytes(40, 4)) << "only the copy has run";
  EXPECT_EQ(at(100), Bytes(40, 12)) << "8 from the start of a";
  EXPECT_EQ(at(119), Bytes(40, 4)) << "which was their only reader";
}

TEST_F(MemoryOfDevice, AReleaseCountsFromTheEndOfTheLastReader) {
  EXPECT_EQ(at(109), Bytes(40, 12));
  EXPECT_EQ(at(120), Bytes(40, 20)) << "16 from the start of b";
  EXPECT_EQ(at(129), Bytes(40, 20));
}

TEST_F(MemoryOfDevice, ABlockOfTheCopyStreamFollowsTheCopies) {
  EXPECT_EQ(at(49), Bytes(40, 0));
  EXPECT_EQ(at(50), Bytes(40, 4)) << "from the start of the copy";
  EXPECT_EQ(at(139), Bytes(44, 16)) << "moved to the parameters with the next task";
  EXPECT_EQ(at(199), Bytes(44, 16)) << "being copied to device 1";
  EXPECT_EQ(at(200), Bytes(44, 0));
}

TEST_F(MemoryOfDevice, ABlockWithoutATaskLivesOnTheHost) {
  EXPECT_EQ(at(14), Bytes(40, 2));
  EXPECT_EQ(at(16), Bytes(40, 0));
}

TEST_F(MemoryOfDevice, InProgramOrderAndWithoutTheOrderItIsAsQueued) {
  Position position = at_event(model_, 0);
  EXPECT_TRUE(state_at(model_, position).devices[0].as_queued);
  position = in_time_order(model_, position);
  EXPECT_FALSE(state_at(model_, position).devices[0].as_queued);

  std::string old = kEvents;
  for (size_t at; (at = old.find("memory_counters")) != std::string::npos;) {
    old[at] = 'x';
  }
  const Model without = model_of(old);
  EXPECT_FALSE(knows_memory_order(without.devices[0]));
  position.time = 30'000;
  const State state = state_at(without, position);
  EXPECT_TRUE(state.devices[0].as_queued);
  EXPECT_EQ(state.devices[0].memory.bytes[0], 44);
}

}  // namespace
}  // namespace lockstep::gui
