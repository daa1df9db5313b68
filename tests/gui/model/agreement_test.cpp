// What the stage says of each device at random positions equals what this file computes
// from the events of the file, with plain loops over all of them: what each stream
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
#include "tests/gui/model/memory_rule.h"
#include "tests/gui/model/valid.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT
using nlohmann::json;

namespace fs = std::filesystem;

struct Task {
  std::string cat, name;
  int64_t begin = 0, end = 0;
  int64_t id = -1, device = -1, stream = -1, op = -1, held_by = -1, queued = 0;
  std::vector<int64_t> deps;
  bool copies() const { return cat == "copy" || cat == "gpu_memcpy"; }
};

struct Moved {
  int64_t end = 0, bytes = 0, src = -1, dst = -1;
};

int64_t integer(const json& args, const char* key, int64_t otherwise) {
  const auto found = args.find(key);
  return found != args.end() && found->is_number_integer() ? found->get<int64_t>()
                                                           : otherwise;
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_device_category(const std::string& cat) {
  return cat == "kernel" || cat == "Kernel" || cat == "copy" || cat == "collective" ||
         cat == "gpu_memcpy" || cat == "gpu_memset" || cat == "Memcpy" ||
         cat == "Memset";
}

/// A trace as a list of facts.
struct PlainFacts {
  std::vector<Task> tasks;
  std::vector<Moved> copies;
  std::map<int64_t, std::pair<int64_t, int64_t>> span_of_id;  ///< begin, end
  std::map<int64_t, DeviceCounters> counters;                 ///< by device
  bool ours = false, null = false, precise = true;
  int64_t origin = INT64_MAX;

  explicit PlainFacts(const json& trace) {
    if (trace.is_object() && trace.contains("lockstep")) {
      const json& meta = trace["lockstep"];
      ours = meta.contains("format") && !meta.contains("imported");
      null = meta.value("clock", "") != "emulated" &&
             std::any_of(
                 meta["devices"].begin(), meta["devices"].end(),
                 [](const json& d) { return text(d, "name").starts_with("null"); });
    }
    const json& events = trace.is_array() ? trace : trace["traceEvents"];
    std::map<int64_t, int64_t> device_of_pid;
    for (const json& event : events) {
      const std::string ph = text(event, "ph");
      const json args = event.value("args", json::object());
      if (ph == "C") continue;
      const int64_t device = integer(args, "device", -1);
      if (device >= 0 && event["pid"].is_number()) device_of_pid[event["pid"]] = device;
      if ((ph == "X" || ph == "i") && event.contains("ts")) {
        origin = std::min(origin, ns(event["ts"]));
      }
    }
    for (const json& event : events) take(event, device_of_pid);
    for (auto& [device, list] : counters) list.set_tasks(device, events, origin);
  }

  void take(const json& event, std::map<int64_t, int64_t>& device_of_pid) {
    const std::string ph = text(event, "ph");
    const json args = event.value("args", json::object());
    if (ph == "C" && text(event, "name") == "memory") {
      counters[device_of_pid[event["pid"]]].add(event, ns(event["ts"]) - origin);
    }
    if (ph != "X" || !event.contains("ts")) return;
    Task task;
    task.cat = text(event, "cat");
    task.name = text(event, "name");
    task.begin = ns(event["ts"]) - origin;
    task.end = task.begin + (event.contains("dur") ? ns(event["dur"]) : 0);
    task.id = integer(args, "id", -1);
    if (task.id >= 0) span_of_id[task.id] = {task.begin, task.end};
    task.device = integer(args, "device", -1);
    task.stream = integer(args, "stream", -1);
    task.op = integer(args, "op", -1);
    task.held_by = integer(args, "port_held_by", -1);
    if (args.contains("queued_us") && args["queued_us"].is_number()) {
      task.queued = static_cast<int64_t>(args["queued_us"].get<double>() * 1e3);
    }
    for (const json& dep : args.value("deps", json::array())) task.deps.push_back(dep);
    if (task.cat == "copy") {
      const auto end = [&](const char* key) { return integer(args, key, -1); };
      copies.push_back({task.end, integer(args, "bytes", 0), end("src"), end("dst")});
    } else if (is_device_category(task.cat) && task.name.starts_with("Memcpy ")) {
      const bool in = task.name.find("HtoD") != std::string::npos;
      const bool out = task.name.find("DtoH") != std::string::npos;
      if (in) copies.push_back({task.end, integer(args, "bytes", 0), -1, task.device});
      if (out) copies.push_back({task.end, integer(args, "bytes", 0), task.device, -1});
    }
    if (is_device_category(task.cat) && task.device >= 0) tasks.push_back(task);
  }

  int64_t ns(const json& us) {
    if (us.is_number_integer()) return us.get<int64_t>() * 1000;
    const double value = us.get<double>();
    precise &= std::abs(value) < 1e12;
    return std::llround(value * 1e3);
  }

  /// Returns the tasks of a device (and, if not negative, a stream) that run at `t`.
  std::vector<const Task*> running(int64_t device, int64_t stream, int64_t t) const {
    std::vector<const Task*> found;
    for (const Task& task : tasks) {
      if (task.device != device || (stream >= 0 && task.stream != stream)) continue;
      if (task.begin <= t && t < task.end) found.push_back(&task);
    }
    return found;
  }

  /// Returns "core conv2d", "event conv2d", … or "nothing".
  std::string waiting(int64_t device, int64_t t) const {
    if (!ours) return "nothing";
    for (const int64_t stream : {0, 2, 1}) {
      if (!running(device, stream, t).empty()) continue;
      const Task* next = nullptr;
      for (const Task& task : tasks) {
        if (task.device != device || task.stream != stream || task.begin <= t) continue;
        if (next == nullptr || task.begin < next->begin) next = &task;
      }
      const auto op = next == nullptr ? span_of_id.end() : span_of_id.find(next->op);
      if (op == span_of_id.end() || op->second.first > t) continue;
      const bool may_wait = !null && next->cat != "copy";  // a copy needs no core
      if (t >= next->begin - next->queued && may_wait) {
        return (next->cat == "collective" ? "ranks " : "core ") + next->name;
      }
      for (const int64_t dep : next->deps) {
        const auto span = span_of_id.find(dep);
        if (span != span_of_id.end() && span->second.second > t) {
          return "event " + next->name;
        }
      }
      const auto holder = span_of_id.find(next->held_by);
      if (holder != span_of_id.end() && holder->second.second > t) {
        return "port " + next->name;
      }
      return "start " + next->name;
    }
    return "nothing";
  }

  bool is_near_a_boundary(int64_t t) const {
    return std::any_of(tasks.begin(), tasks.end(), [&](const Task& task) {
      return std::abs(task.begin - t) < 2000 || std::abs(task.end - t) < 2000;
    });
  }
};

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
      int64_t in = 0, out = 0;
      for (const Moved& copy : facts_.copies) {
        if (copy.end < begin || copy.end > state.now) continue;
        if (copy.dst == id) in += copy.bytes;
        if (copy.src == id) out += copy.bytes;
      }
      EXPECT_EQ(state.devices[i].in, in);
      EXPECT_EQ(state.devices[i].out, out);
    }
  }

 private:
  bool is(uint32_t event, const Task& task) const {
    return event != kNoEvent && model_.events[event].ts == task.begin &&
           model_.events[event].dur == task.end - task.begin &&
           model_.name_of(model_.events[event]) == task.name;
  }

  /// Of several tasks, the stage shows one.
  void check_running(const DeviceState& own, int64_t id, int64_t now) const {
    for (int place = 0; place < 3; ++place) {
      std::vector<const Task*> expected =
          facts_.running(id, facts_.ours ? place : -1, now);
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
    const bool small = entry.is_regular_file() && entry.file_size() < 1'300'000;
    if (trace && small && name.find(".json") != std::string::npos) {
      found.push_back(entry.path().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

void expect_agreement(const std::string& path, int positions) {
  SCOPED_TRACE(path);
  const std::string text = tracer::read_whole_file(path, tracer::Ending::any);
  const Model model = load_model(path, text);
  const PlainFacts facts(json::parse(text));
  const Agreement agreement(model, facts);
  std::mt19937_64 random(17);
  for (int i = 0; i < positions && !testing::Test::HasFailure(); ++i) {
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

TEST(Agreement, OfEachCommittedTrace) {
  const fs::path root = LOCKSTEP_SOURCE_DIR;
  std::vector<std::string> traces = traces_in(root / "lessons");
  for (const char* folder : {"tests/golden/viewer", "tests/golden"}) {
    for (const std::string& path : traces_in(root / folder)) traces.push_back(path);
  }
  ASSERT_GE(traces.size(), 19u);
  bool knows = false;
  for (const std::string& path : traces) {
    expect_agreement(path, 1000);
    knows |= knows_memory_order(load_file(path).devices.front());
  }
  EXPECT_TRUE(knows) << "no trace records in which order devices take their memory";
}

TEST(Agreement, OfPyTorchsProfilersFiles) {
  const char* shared = std::getenv("LOCKSTEP_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "set LOCKSTEP_SHARED";
  const std::vector<std::string> traces = traces_in(fs::path(shared) / "traces");
  ASSERT_GE(traces.size(), 13u);
  for (const std::string& path : traces) {
    if (path.find("/oracle/") == std::string::npos) expect_agreement(path, 40);
  }
}

}  // namespace
}  // namespace lockstep::gui
