// Where a trace opens, and that the keys that the tour names lead somewhere from there:
// in every committed trace, and in those of other programs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gui/model/details.h"
#include "gui/model/state.h"
#include "tests/gui/model/valid.h"
#include "tracer/format/file_io.h"
#include "tracer/format/lanes.h"
#include "tracer/kineto/kineto.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT
namespace fs = std::filesystem;

constexpr size_t kLargest = 4 << 20;  ///< bytes of a file that is tested, compressed

std::vector<std::string> all_traces() {
  const char* shared = std::getenv("LOCKSTEP_SHARED");
  std::vector<std::string> found;
  for (const fs::path& folder : {fs::path(LOCKSTEP_SOURCE_DIR) / "tests/golden",
                                 fs::path(LOCKSTEP_SOURCE_DIR) / "lessons",
                                 fs::path(shared ? shared : "") / "traces"}) {
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string path = entry.path().string();
      const bool made = path.find("/oracle/") != std::string::npos ||
                        path.find("/damaged/") != std::string::npos ||
                        path.find("/torch/") != std::string::npos;
      if (made || !entry.is_regular_file() || entry.file_size() > kLargest) continue;
      const bool golden = path.find("/tests/golden/") != std::string::npos;
      if (path.ends_with(".json.gz") || (golden && path.ends_with(".json"))) {
        found.push_back(path);
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string event_name(const Model& model, const Position& position) {
  return model.name_of(model.events[event_at(model, position)]);
}

/// Returns whether something is to be seen at `to`: a caller, a device that runs or
/// gets work or, on the thread where the trace opened, the line of the event itself.
bool shows_something(const Model& model, const Position& opened, const Position& to) {
  const State state = state_at(model, to);
  const uint32_t outermost = state_at(model, opened).stack.front();
  bool shown = state.stack.size() > 1 ||
               model.events[state.event].lane == model.events[outermost].lane;
  for (const DeviceState& device : state.devices) {
    shown = shown || device.effects.any();
    for (const uint32_t event : device.running) shown = shown || event != kNoEvent;
  }
  return shown;
}

/// Returns true for a timeline without calls and devices.
bool is_flat(const Model& model) {
  return std::none_of(model.events.begin(), model.events.end(), [](const Event& event) {
    return event.is_task() || event.parent != kNoEvent;
  });
}

/// Returns true if a host records the phase.
bool has_forward(const Model& model) {
  return std::any_of(model.events.begin(), model.events.end(), [&](const Event& event) {
    return event.what() == Kind::phase && model.name_of(event) == phases::forward;
  });
}

int64_t batch_of(const Model& model, const Step& step) {
  if (step.event == kNoEvent) return 0;
  return int_arg(args_of(model, model.events[step.event]), keys::batch, 0);
}

/// Expects the step at a position to be as full as any other, and not a slow first one.
void expect_full_step(const Model& model, const Position& position) {
  const size_t at = model.step_at(time_of(model, position), rank_of(model, position));
  const Step& opened = model.steps[at];
  std::vector<int64_t> others;
  bool trains = false;
  for (const Step& step : model.steps) {
    if (!step.train) continue;
    trains = true;
    EXPECT_LE(batch_of(model, step), batch_of(model, opened));
    const bool full = batch_of(model, step) == batch_of(model, opened);
    if (full && step.number != opened.number) others.push_back(step.length);
  }
  EXPECT_TRUE(opened.train || !trains);
  if (at > 0 || others.empty()) return;
  std::sort(others.begin(), others.end());
  EXPECT_LE(opened.length, 1.5 * static_cast<double>(others[others.size() / 2]))
      << "the first step is a warm-up";
}

void expect_opens_well(const Model& model) {
  const Position opened = opening_position(model);
  if (has_forward(model)) {
    expect_full_step(model, opened);
    EXPECT_EQ(event_name(model, opened), phases::forward);
  }
  if (is_flat(model)) return;
  EXPECT_TRUE(shows_something(model, opened, opened)) << event_name(model, opened);
  const Event& event = model.events[event_at(model, opened)];
  for (const Move key : {Move::over, Move::into, Move::caller, Move::back_over}) {
    if (key == Move::into && event.last == event.order + 1) continue;  // causes nothing
    const Position to = moved(model, opened, key);
    EXPECT_TRUE(shows_something(model, opened, to))
        << "key " << static_cast<int>(key) << ": " << event_name(model, to);
  }
  const Position over = moved(model, opened, Move::over);
  EXPECT_NE(over.place, opened.place) << event_name(model, opened);
}

TEST(Opening, OfEveryTraceIsInAFullStepAndTheToursKeysLeadOn) {
  const std::vector<std::string> traces = all_traces();
  ASSERT_GE(traces.size(), 19u);
  for (const std::string& path : traces) {
    SCOPED_TRACE(path);
    const Model model = load_file(path);
    expect_opens_well(model);
  }
}

TEST(Opening, OfImportsIsAlsoAlive) {
  const char* shared = std::getenv("LOCKSTEP_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "set LOCKSTEP_SHARED";
  size_t tested = 0;
  for (const std::string& path : all_traces()) {
    if (!path.starts_with(shared) || fs::file_size(path) > kLargest / 8) continue;
    SCOPED_TRACE(path);
    std::string text;
    try {
      text = tracer::trace_text(tracer::open_trace(path));
    } catch (const std::runtime_error&) {
      continue;  // nothing to import
    }
    expect_opens_well(load_model(path, std::move(text)));
    ++tested;
  }
  EXPECT_GE(tested, 5u);
}

/// A step: its number, begin and length in µs, and its batch; in it `data`, `forward`,
/// the model's call and one kernel.
std::string step_text(int number, int begin, int length, int batch, const char* kind) {
  const auto event = [&](const char* cat, const char* name, int pid, int at, int dur,
                         const std::string& more) {
    return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":0,"ts":{},)"
                       R"("dur":{},"args":{{"step":{}{}}}}},)",
                       cat, name, pid, begin + at, dur, number, more);
  };
  return event("phase", "step", 0, 0, length,
               fmt::format(R"(,"kind":"{}","batch":{})", kind, batch)) +
         event("phase", "data", 0, 0, 1, "") + event("phase", "forward", 0, 2, 4, "") +
         event("call", "Net.__call__", 0, 2, 3,
               fmt::format(R"(,"id":{})", number + 1)) +
         event("kernel", "conv", 1, 3, 2,
               fmt::format(R"(,"device":0,"stream":0,"op":{})", number + 1));
}

Model steps_model(const std::string& steps) { return load_events(steps + "{}"); }

int64_t opened_step(const std::string& steps) {
  const Model model = steps_model(steps);
  const Position position = opening_position(model);
  EXPECT_EQ(event_name(model, position), "forward");
  return model.events[event_at(model, position)].step;
}

TEST(Opening, IsInTheFirstFullTrainingStepThatIsNoWarmUp) {
  const auto train = [](int number, int begin, int length, int batch) {
    return step_text(number, begin, length, batch, "train");
  };
  const std::string slow = train(0, 0, 100, 8), cut = train(1, 100, 20, 3),
                    usual = train(2, 200, 20, 8), next = train(3, 300, 20, 8);
  EXPECT_EQ(opened_step(slow + cut + usual + next), 2);
  EXPECT_EQ(opened_step(cut + usual + next), 2);
  EXPECT_EQ(opened_step(usual + next), 2);
  EXPECT_EQ(opened_step(slow + cut), 0);                         // the only full one
  EXPECT_EQ(opened_step(train(0, 0, 29, 8) + usual + next), 0);  // 1.45 times as long
  EXPECT_EQ(opened_step(train(0, 0, 31, 8) + usual + next), 2);
  EXPECT_EQ(opened_step(step_text(0, 0, 20, 16, "eval") + usual + next), 2);
  EXPECT_EQ(opened_step(step_text(7, 0, 20, 16, "eval")), 7);
}

TEST(Opening, OfATraceWithoutACallOfThatNameIsAtTheFirstTask) {
  const std::string rest = R"("pid":0,"tid":0,"args":{}},)";
  const std::string host =
      R"({"ph":"X","cat":"cpu_op","name":"aten::nll_loss_forward","ts":2,"dur":9,)" +
      rest;
  const std::string kernel =
      R"({"ph":"X","cat":"kernel","name":"sgemm","pid":1,"tid":7,"ts":4,"dur":3,)"
      R"("args":{"device":0,"stream":7}},)";
  const std::string python =
      R"({"ph":"X","cat":"python_function","name":"resnet.py(284): forward","ts":1,)"
      R"("dur":12,)" +
      rest;
  const Model without = steps_model(host + kernel),
              with = steps_model(python + host + kernel);
  EXPECT_EQ(event_name(without, opening_position(without)), "sgemm");
  EXPECT_EQ(event_name(with, opening_position(with)), "resnet.py(284): forward");
  const std::string calls =
      R"({"ph":"X","cat":"cpu_op","name":"aten::ones","ts":0,"dur":1,)" + rest +
      R"({"ph":"X","cat":"cpu_op","name":"aten::zeros","ts":1,"dur":14,)" + rest;
  const Model host_only = steps_model(calls + host);
  EXPECT_EQ(event_name(host_only, opening_position(host_only)), "aten::zeros");
  const Model idle = steps_model(host);
  EXPECT_EQ(event_name(idle, opening_position(idle)), "aten::nll_loss_forward");
}

TEST(Opening, SteppingOverSkipsWhatALoaderPrepares) {
  const auto fetch = [](int ts) {
    return fmt::format(R"({{"ph":"X","cat":"call","name":"{}","pid":0,"tid":5,"ts":{},)"
                       R"("dur":2,"args":{{"step":9}}}},)",
                       tracer::kFetch, ts);
  };
  const Model model =
      steps_model(step_text(0, 0, 20, 8, "train") + fetch(10) + fetch(14) +
                  step_text(1, 30, 20, 8, "train") + fetch(40));
  const auto at = [&](const Position& position) {
    return fmt::format("{} {}", event_name(model, position),
                       static_cast<int>(model.events[event_at(model, position)].step));
  };
  const Position first{}, second = moved(model, first, Move::over);
  EXPECT_EQ(at(first), "step 0");
  EXPECT_EQ(at(second), "step 1");
  EXPECT_EQ(at(moved(model, second, Move::back_over)), "step 0");
  const Position forward = opening_position(model);
  EXPECT_EQ(at(moved(model, forward, Move::out)), "step 1");
  EXPECT_EQ(at(moved(model, second, Move::over)),
            "conv 1");  // nothing follows the step
  const Position fetching = moved(model, second, Move::back);
  EXPECT_EQ(event_name(model, fetching), tracer::kFetch);
  const Position earlier = moved(model, fetching, Move::back_over);
  EXPECT_EQ(event_name(model, earlier), tracer::kFetch);
  EXPECT_EQ(moved(model, earlier, Move::over), fetching);
}

}  // namespace
}  // namespace lockstep::gui
