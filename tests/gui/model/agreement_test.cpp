// What the stage says of each device at 1,000 random positions equals what
// plain_facts.h and memory_rule.h compute from the JSON of the file: what each stream
// runs, what it waits for, the bytes in memory and through the ports.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "gui/model/details.h"
#include "gui/model/state.h"
#include "gui/model/waiting.h"
#include "tests/gui/model/plain_facts.h"
#include "tests/gui/model/valid.h"
#include "tests/sanitized.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT
using nlohmann::json;
namespace fs = std::filesystem;

std::string waiting_of(const Model& model, int device, int64_t t) {
  static constexpr const char* kCauses[] = {"nothing", "core", "ranks",
                                            "event",   "port", "start"};
  const Waiting waiting = waiting_on(model, device, t);
  const std::string cause = kCauses[static_cast<size_t>(waiting.cause)];
  if (waiting.cause == Waiting::For::nothing) return cause;
  return cause + " " + model.name_of(model.events[waiting.task]);
}

/// 0: a kernel, 1: a copy or memset, 2: a collective, as DeviceState::running has them.
int kind_of(const Task& task) {
  if (task.cat == "collective" || task.name.starts_with("nccl")) return 2;
  const bool moves = task.copies() || task.name.starts_with("Memcpy ") ||
                     task.name.starts_with("Memset ");
  return moves ? 1 : 0;
}

class Agreement {
 public:
  Agreement(const Model& model, const PlainFacts& facts)
      : model_(model), facts_(facts) {}

  void check(const Position& position) const {
    const State state = state_at(model_, position);
    if (!facts_.precise && facts_.is_near_a_boundary(state.now)) return;
    const int64_t begin = model_.steps[state.step].begin;
    for (size_t i = 0; i < model_.devices.size(); ++i) {
      const int64_t id = model_.devices[i].id;
      SCOPED_TRACE(testing::Message() << "device " << id << " at " << state.now);
      check_running(state.devices[i], id, state.now);
      EXPECT_EQ(waiting_of(model_, static_cast<int>(i), state.now),
                facts_.waiting(id, state.now));
      check_memory(state.devices[i], id, state.now, position.order);
      EXPECT_EQ(state.devices[i].in, passed(facts_.in, id, begin, state.now));
      EXPECT_EQ(state.devices[i].out, passed(facts_.out, id, begin, state.now));
    }
  }

 private:
  /// Returns the bytes of the transfers that ended from `t0` to `t1`, inclusive.
  static int64_t passed(const std::map<int64_t, Passed>& ports, int64_t id, int64_t t0,
                        int64_t t1) {
    const auto port = ports.find(id);
    if (port == ports.end()) return 0;
    return port->second.before(std::max(t0, t1 + 1)) - port->second.before(t0);
  }

  bool is(uint32_t event, const Task& task) const {
    return event != kNoEvent && model_.events[event].ts == task.begin &&
           model_.events[event].dur == task.end - task.begin &&
           model_.name_of(model_.events[event]) == task.name;
  }

  /// Of several tasks, the stage shows one.
  void check_running(const DeviceState& own, int64_t id, int64_t now) const {
    for (int place = 0; place < 3; ++place) {
      std::vector<const Task*> expected =
          facts_.running(id, facts_.ours ? place : kAll, now);
      if (!facts_.ours) {
        std::erase_if(expected, [&](const Task* t) { return kind_of(*t) != place; });
      }
      const uint32_t shown = own.running[place];
      if (expected.empty()) {
        EXPECT_EQ(shown, kNoEvent) << "stream " << place;
      } else {
        const bool found = std::any_of(expected.begin(), expected.end(),
                                       [&](const Task* t) { return is(shown, *t); });
        EXPECT_TRUE(found || !facts_.precise)
            << "stream " << place << " runs " << expected.front()->name << " and shows "
            << (shown == kNoEvent ? "nothing" : model_.name_of(model_.events[shown]));
        EXPECT_NE(shown, kNoEvent);
      }
    }
  }

  void check_memory(const DeviceState& own, int64_t id, int64_t now,
                    Order order) const {
    const auto counters = facts_.counters.find(id);
    if (counters == facts_.counters.end()) {
      EXPECT_EQ(own.memory.total(), 0);
      return;
    }
    const DeviceCounters& all = counters->second;
    const bool reached = order == Order::time && all.knows_order();
    EXPECT_EQ(own.as_queued, !reached);
    EXPECT_EQ(own.memory.bytes, reached ? all.reached(now) : all.queued(now));
  }

  const Model& model_;
  const PlainFacts& facts_;
};

std::vector<std::string> traces_in(const fs::path& folder) {
  std::vector<std::string> found;
  if (!fs::exists(folder)) return found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool trace = name.ends_with(".json.gz") || name.starts_with("minimal");
    const bool made = entry.path().string().find("/oracle/") == std::string::npos;
    if (entry.is_regular_file() && trace && made) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// A sanitizer makes parsing tens of MB as a tree of values too slow.
constexpr int kPositions = kSanitized ? 20 : 1000;
constexpr size_t kMostText = size_t{kSanitized ? 4 : 64} << 20;
constexpr size_t kEvery = kSanitized ? 4 : 1;  // of the committed traces

void expect_agreement(const std::string& name, const std::string& text) {
  SCOPED_TRACE(name);
  const Model model = load_model(name, text);
  const PlainFacts facts(json::parse(text));
  const Agreement agreement(model, facts);
  std::mt19937_64 random(17);
  for (int i = 0; i < kPositions && !testing::Test::HasFailure(); ++i) {
    Position position;
    position.order = i % 2 == 0 ? Order::time : Order::program;
    position.time =
        static_cast<int64_t>(random() % static_cast<uint64_t>(model.length));
    if (position.order == Order::program) {
      position = at_event(model, static_cast<uint32_t>(random() % model.events.size()));
    }
    agreement.check(position);
  }
}

/// Returns false if the trace is too long for this build.
bool is_tested(const std::string& path) {
  const std::string text = tracer::read_whole_file(path, tracer::Ending::any);
  if (text.size() > kMostText) return false;
  expect_agreement(path, text);
  return true;
}

// The profiler writes "Stream Sync" on the stream, where it outlasts the last task.
TEST(Agreement, OfATaskDuringWhichSomethingElseBegins) {
  expect_agreement("sync.json", R"json({"traceEvents":[
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":9,"tid":9,"ts":100,
 "dur":9,"args":{"correlation":7}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":9,"tid":9,
 "ts":110,"dur":90,"args":{"correlation":8}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,
 "tid":7,"ts":120,"dur":60,"args":{"device":0,"stream":7,"correlation":7,"bytes":8}},
{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":140,"dur":60,
 "args":{"device":0,"stream":7,"correlation":8}}]
})json");
}

TEST(Agreement, OfEachCommittedTrace) {
  const fs::path root = LOCKSTEP_SOURCE_DIR;
  std::vector<std::string> traces = traces_in(root / "lessons");
  for (const std::string& path : traces_in(root / "tests/golden")) {
    traces.push_back(path);
  }
  ASSERT_GE(traces.size(), 19u);
  bool knows = false;
  for (size_t i = 0; i < traces.size(); i += kEvery) {
    EXPECT_TRUE(is_tested(traces[i])) << traces[i] << " is too large to be tested";
    knows |= knows_memory_order(load_file(traces[i]).devices.front());
  }
  EXPECT_TRUE(knows) << "no trace records in which order devices take their memory";
}

TEST(Agreement, OfPyTorchsProfilersFiles) {
  const char* shared = std::getenv("LOCKSTEP_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "set LOCKSTEP_SHARED";
  int tested = 0;
  for (const std::string& path : traces_in(fs::path(shared) / "traces")) {
    if (is_tested(path)) ++tested;
  }
  EXPECT_GE(tested, 13);
}

}  // namespace
}  // namespace lockstep::gui
