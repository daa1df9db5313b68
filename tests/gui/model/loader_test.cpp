// The viewer's reader and the tracer's reader interpret files in the same way.
// sanitize: address
#include "gui/model/loader.h"

#include <fmt/format.h>

#include "gui/model/details.h"
#include "tests/gui/model/valid.h"
#include "tracer/format/args.h"
#include "tracer/format/lanes.h"
#include "tracer/format/trace.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT

const char* category_of(Kind kind) {
  switch (kind) {
    case Kind::step:
    case Kind::phase:
      return "phase";
    case Kind::call:
      return "call";
    case Kind::op:
      return "op";
    case Kind::kernel:
      return "kernel";
    case Kind::copy:
      return "copy";
    case Kind::collective:
      return "collective";
    case Kind::sync:
      return "sync";
    case Kind::mark:
      return "mark";
    case Kind::other:
      return "other";
  }
  return "";
}

void expect_same_event(const Model& model, const Event& event,
                       const tracer::Event& expected, int64_t origin) {
  EXPECT_EQ(model.name_of(event), expected.name);
  EXPECT_EQ(event.ts, expected.ts - origin);
  EXPECT_EQ(event.dur, expected.dur);
  EXPECT_EQ(category_of(event.what()), expected.cat);
  EXPECT_EQ(event.step, expected.step);
  EXPECT_EQ(model.strings[model.phases[event.phase]],
            tracer::string_arg(expected.args, "phase"));
  const Lane& lane = model.lanes[event.lane];
  EXPECT_EQ(lane.pid, expected.pid);
  EXPECT_EQ(lane.tid, expected.tid);
  int64_t cause = expected.op != tracer::kNone ? expected.op : expected.parent;
  if (cause == tracer::kNone)
    cause = tracer::int_arg(expected.args, "by", tracer::kNone);
  if (cause != tracer::kNone) {
    // A collective's message is nested in its rank's part, which has that cause.
    const uint32_t parent = event.parent;
    const bool inside =
        parent != kNoEvent && model.events[parent].what() == Kind::collective;
    EXPECT_EQ(inside ? model.events[parent].parent : parent, model.event_of_id(cause));
  }
  EXPECT_EQ(tracer::int_arg(args_of(model, event), "id"), expected.id);
}

void expect_same_copy(const Model& model, uint32_t event,
                      const tracer::Event& expected) {
  const Copy* copy = model.copy_of(event);
  ASSERT_NE(copy, nullptr);
  const auto id = [&](int16_t device) {
    return device == kHostDevice ? tracer::kHost : model.devices[device].id;
  };
  EXPECT_EQ(id(copy->src), tracer::port_arg(expected.args, "src"));
  EXPECT_EQ(id(copy->dst), tracer::port_arg(expected.args, "dst"));
  EXPECT_EQ(copy->bytes, tracer::int_arg(expected.args, "bytes"));
  EXPECT_EQ(model.strings[copy->why], tracer::string_arg(expected.args, "why"));
}

void expect_same_lanes(const Model& model, const tracer::Trace& trace) {
  const tracer::Lanes lanes(trace);
  for (const Lane& lane : model.lanes) {
    const tracer::Lane& expected = lanes.all().at({lane.pid, lane.tid});
    EXPECT_EQ(lane.process, expected.process);
    EXPECT_EQ(lane.thread, expected.thread);
    EXPECT_EQ(lane.process_sort, expected.process_sort);
    EXPECT_EQ(lane.thread_sort, expected.thread_sort);
    EXPECT_EQ(lane.rank, expected.rank);
    EXPECT_EQ(lane.stream, expected.stream);
    EXPECT_EQ(lane.is_host(), expected.is_host());
    if (!lane.is_host()) {
      EXPECT_EQ(model.devices[lane.device].id, expected.device);
    }
  }
}

void expect_same_as_tracer(const std::string& path) {
  SCOPED_TRACE(path);
  const tracer::Trace trace = tracer::read_trace(path);
  const Model model = load_file(path);
  expect_valid(model);
  EXPECT_TRUE(model.problems.empty()) << model.problems.front();
  EXPECT_EQ(meta_of(model), trace.lockstep);
  std::vector<const tracer::Event*> expected;
  for (const tracer::Event& event : trace.events) {
    if (event.ph == 'X' || event.ph == 'i') expected.push_back(&event);
  }
  // Like the viewer's order: at equal times, host events come first.
  std::stable_sort(expected.begin(), expected.end(), [](const auto* a, const auto* b) {
    return std::pair(a->ts, is_task(*a)) < std::pair(b->ts, is_task(*b));
  });
  ASSERT_EQ(model.events.size(), expected.size());
  for (uint32_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    expect_same_event(model, model.events[i], *expected[i], expected[0]->ts);
    if (expected[i]->is("copy")) expect_same_copy(model, i, *expected[i]);
    if (::testing::Test::HasFailure()) return;
  }
  expect_same_lanes(model, trace);
}

TEST(Loader, ReadsWhatTheTracerReads) {
  expect_same_as_tracer(minimal_path());
  for (const char* name : {"single", "dp", "dp_features", "ddp"}) {
    expect_same_as_tracer(golden() / "viewer" / (std::string(name) + ".json.gz"));
  }
}

TEST(Loader, DamagedFilesOpenAllTheSame) {
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(golden() / "damaged")) {
    SCOPED_TRACE(file.path());
    expect_valid(load_file(file.path()));
    ++files;
  }
  EXPECT_GT(files, 40u);
}

TEST(Loader, MinimalHasTheseLanesDevicesAndSteps) {
  const Model model = load_file(minimal_path());
  std::vector<std::string> lanes;
  for (const Lane& lane : model.lanes)
    lanes.push_back(lane.process + "/" + lane.thread);
  EXPECT_EQ(lanes, (std::vector<std::string>{"host/main", "host/replica 1",
                                             "host/copies to the host",
                                             "device 0/compute", "device 0/copy",
                                             "device 1/compute", "device 1/copy"}));
  ASSERT_EQ(model.devices.size(), 2u);
  EXPECT_EQ(model.devices[1].name, "cpu:1");
  EXPECT_EQ(model.devices[0].memory.size(), 2u);
  ASSERT_EQ(model.steps.size(), 1u);
  EXPECT_EQ(model.steps[0].begin, 0);
  EXPECT_EQ(model.steps[0].end, 95'000);
  EXPECT_TRUE(model.steps[0].train);
  EXPECT_EQ(model.length, 95'000);
  EXPECT_EQ(model.ranks(), 1);
}

TEST(Loader, SlicesGiveTheSameModel) {
  const std::string text = tracer::read_whole_file(minimal_path());
  const Model whole = load_model("whole", text);
  Loader loader("slices", text);
  double before = 0;
  size_t slices = 0;
  while (!loader.read(3)) {
    EXPECT_GT(loader.progress(), before);
    before = loader.progress();
    ++slices;
  }
  EXPECT_GT(slices, 15u);
  EXPECT_EQ(loader.progress(), 1);
  const Model sliced = loader.finish();
  expect_valid(sliced);
  EXPECT_EQ(sliced.program, whole.program);
}

TEST(Loader, SortsWhatIsNotSorted) {
  const Model model = load_events(x_event("30", "5", R"("id":3,"op":1)") + "," +
                                  x_event("20", "50", R"("id":1)") + "," +
                                  x_event("20", "60", R"("id":2)"));
  expect_valid(model);
  EXPECT_EQ(model.event_of_id(2), 0u);
  EXPECT_EQ(model.event_of_id(1), 1u);
  EXPECT_EQ(model.event_of_id(3), 2u);
  EXPECT_EQ(model.events[2].parent, 1u);
  EXPECT_EQ(model.length, 60'000);
}

TEST(Loader, SortsWhatIsFarFromSorted) {
  std::string events;
  std::vector<int> order(500);
  for (int i = 0; i < 500; ++i) order[i] = i * 7919 % 500;
  for (const int i : order) {
    events += (events.empty() ? "" : ",") +
              x_event(std::to_string(i / 2), "1", "\"id\":" + std::to_string(i));
  }
  const Model model = load_events(events);
  expect_valid(model);
  for (uint32_t i = 0; i < 500; i += 2) {
    // Events with equal start times stay in file order.
    const bool even_first = std::find(order.begin(), order.end(), i) <
                            std::find(order.begin(), order.end(), i + 1);
    EXPECT_EQ(model.event_of_id(i), even_first ? i : i + 1);
  }
}

TEST(Loader, WhoEnqueuedCountsMoreThanWhoCalled) {
  const Model model = load_events(
      x_event("1", "9", R"("id":1)") + "," + x_event("2", "9", R"("id":2)") + "," +
      x_event("3", "1", R"("op":1,"parent":2)") + "," +
      x_event("4", "1", R"("parent":2,"op":1)") + "," + x_event("5", "1", R"("by":1)"));
  expect_valid(model);
  for (const uint32_t i : {2u, 3u, 4u}) EXPECT_EQ(model.events[i].parent, 0u);
}

TEST(Loader, JsonOfAnEventEndsAtItsOwnBracket) {
  const Model model = load_events(x_event("1", "9", R"("a":"\"}{","b":"\\")"));
  EXPECT_EQ(args_of(model, model.events[0]).dump(), R"({"a":"\"}{","b":"\\"})");
}

TEST(Loader, ACauseStandsBeforeWhatItCausesAtTheSameTime) {
  const Model model = load_events(
      R"({"ph":"X","cat":"kernel","name":"k","pid":1,"tid":0,"ts":5,"dur":9,)"
      R"("args":{"id":2,"op":1,"device":0,"stream":0}},)" +
      x_event("5", "1", R"("id":1)"));
  expect_valid(model);
  EXPECT_EQ(model.events[1].parent, 0u);
  EXPECT_EQ(model.event_of_id(1), 0u);
}

TEST(Loader, TextsAreShownAsPeopleReadThem) {
  const Model model = load_events(
      R"({"ph":"X","name":"caf\u00e9 \"a\"","pid":0,"tid":0,"ts":1,"dur":1},)"
      R"({"ph":"X","name":"\ud83d\ude00","pid":0,"tid":0,"ts":2,"dur":1},)"
      R"({"ph":"X","name":"caf\u00e9 \"a\"","pid":0,"tid":0,"ts":3,"dur":1},)"
      "{\"ph\":\"X\",\"name\":\"bad \xff\",\"pid\":0,\"tid\":0,\"ts\":4,\"dur\":1},"
      R"({"ph":"X","name":"\q","pid":0,"tid":0,"ts":5,"dur":1},)"
      R"({"ph":"X","name":"\\u00e9","pid":0,"tid":0,"ts":6,"dur":1},)"
      R"({"ph":"X","name":"\u00e9","pid":0,"tid":0,"ts":7,"dur":1})");
  expect_valid(model);
  EXPECT_EQ(model.name_of(model.events[0]), "café \"a\"");
  EXPECT_EQ(model.name_of(model.events[1]), "😀");
  EXPECT_EQ(model.events[2].name, model.events[0].name);
  EXPECT_EQ(model.name_of(model.events[3]), "bad \uFFFD");
  EXPECT_EQ(model.name_of(model.events[4]), "\\q");
  EXPECT_EQ(model.name_of(model.events[5]), "\\u00e9") << "a backslash and u00e9";
  EXPECT_EQ(model.name_of(model.events[6]), "é");
  EXPECT_EQ(json_of(model, model.events[0])["name"], "café \"a\"");
}

TEST(Loader, BeginAndEndMakeOneEvent) {
  const auto event = [](const char* ph, const char* name, const char* ts) {
    return fmt::format(R"({{"ph":"{}","name":"{}","pid":1,"tid":2,"ts":{}}})", ph, name,
                       ts);
  };
  const Model model =
      load_events(event("B", "outer", "1") + "," + event("B", "inner", "2") + "," +
                  event("E", "", "3") + "," + event("E", "", "5") + "," +
                  event("E", "", "6") + "," + event("B", "open", "7"));
  expect_valid(model);
  ASSERT_EQ(model.events.size(), 3u);
  EXPECT_EQ(model.name_of(model.events[0]), "outer");
  EXPECT_EQ(model.events[0].dur, 4'000);
  EXPECT_EQ(model.events[1].dur, 1'000);
  EXPECT_EQ(model.events[1].parent, 0u);
  EXPECT_EQ(model.problems.size(), 2u) << "one without an end, one without a begin";
}

TEST(Loader, TimesKeepTheirNanoseconds) {
  const Model model = load_events(x_event("1712195495519836.506", "0.001", "") + "," +
                                  x_event("\"1712195495519837.5\"", "2", "") + "," +
                                  x_event("1.7121954955198385e15", "0", ""));
  expect_valid(model);
  EXPECT_EQ(model.events[0].dur, 1);
  EXPECT_EQ(model.events[1].ts, 994);
  EXPECT_NEAR(model.events[2].ts, 1994, 600) << "limited by double precision";
}

TEST(Loader, KeysBehindTheEventsCount) {
  const Model model = load_model(
      "late.json", R"({"traceEvents":[)" + x_event("1", "1", "") +
                       R"(],"other":[{"a":"]}"}],"lockstep":{"clock":"emulated"}})");
  EXPECT_EQ(model.meta_text("clock"), "emulated");
  EXPECT_FALSE(model.is_measured());
}

TEST(Loader, MeasuredTimesOfNullDevicesAreNone) {
  const auto times_of = [](const char* name, const char* clock) {
    const std::string meta = fmt::format(
        R"({{"clock":"{}","devices":[{{"id":0,"name":"{}"}}]}})", clock, name);
    const std::string task = x_event("1", "1", R"("device":0,"stream":0)");
    return load_model("t.json",
                      R"({"lockstep":)" + meta + R"(,"traceEvents":[)" + task + "]}")
        .has_device_times();
  };
  EXPECT_TRUE(times_of("cpu:0", "measured"));
  EXPECT_FALSE(times_of("null:0", "measured"));
  EXPECT_TRUE(times_of("null:0", "emulated"));
}

}  // namespace
}  // namespace lockstep::gui
