// How tests address events, on a call tree of six events.
//
//   step 0
//     forward
//       aten::linear#1
//         aten::linear@cpu:0
//       aten::linear#2  [replica 1]
//         aten::linear@cpu:1
#include "tests/tracer/named_events.h"

#include "tests/tracer/named_trace.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

NamedEvents six() {
  NamedEvents events;
  const size_t step = events.add(0, "step 0", 1, "main");
  const size_t forward = events.add(step, "forward", 2, "main");
  const size_t first = events.add(forward, "aten::linear", 3, "main");
  events.add(first, "aten::linear@cpu:0", 4);
  const size_t second = events.add(forward, "aten::linear", 5, "replica 1");
  events.add(second, "aten::linear@cpu:1", 6);
  return events;
}

std::string refusal(const NamedEvents& events, const char* path) {
  try {
    return "found " + std::to_string(events[path]);
  } catch (const std::out_of_range& refused) {
    return refused.what();
  }
}

TEST(NamedEvents, APathNamesEventsFromTheOutsideIn) {
  const NamedEvents events = six();
  EXPECT_EQ(events["step 0"], 1);
  EXPECT_EQ(events["step 0/forward"], 2);
  EXPECT_EQ(events["forward/aten::linear@cpu:0"], 4) << "levels may be omitted";
  EXPECT_EQ(events["aten::linear#2/aten::linear@cpu:1"], 6);
}

TEST(NamedEvents, WithoutADeviceItIsAnEventOfTheHost) {
  EXPECT_EQ(six()["aten::linear#1"], 3);
  EXPECT_EQ(six()["aten::linear@cpu:1"], 6);
}

TEST(NamedEvents, ANumberTakesOneOfSeveral) {
  EXPECT_EQ(six()["forward/aten::linear#1"], 3);
  EXPECT_EQ(six()["forward/aten::linear#2"], 5);
}

TEST(NamedEvents, ShowsTheTreeWhenThereIsNoSuchEvent) {
  EXPECT_EQ(refusal(six(), "backward"),
            "'backward' names no event. The fixture's events are\n" + six().tree());
  EXPECT_EQ(
      refusal(six(), "aten::linear#3"),
      "'aten::linear#3' names no event. The fixture's events are\n" + six().tree());
}

TEST(NamedEvents, ListsTheEventsThatItMayMean) {
  EXPECT_EQ(refusal(six(), "aten::linear"),
            "'aten::linear' names several events: step 0/forward/aten::linear#1, "
            "step 0/forward/aten::linear#2. The fixture's events are\n" +
                six().tree());
}

TEST(NamedEvents, ThePathOfAnEventLeadsBackToIt) {
  EXPECT_EQ(six().path_of(6), "step 0/forward/aten::linear#2/aten::linear@cpu:1");
  EXPECT_EQ(six().path_of(7), "no event");
  for (const std::string& file : {minimal_path(), minimal_ddp_path()}) {
    const NamedTrace events(read_trace(file));
    EXPECT_GT(events.keys().size(), 30u);
    for (const int64_t id : events.keys()) {
      EXPECT_EQ(events[events.path_of(id)], id) << events.path_of(id);
    }
  }
}

TEST(NamedEvents, TheTreeIsWhatHeadersShow) {
  expect_header_shows("tests/tracer/named_events_test.cpp", six());
  EXPECT_EQ(six().tree(),
            "step 0\n"
            "  forward\n"
            "    aten::linear#1\n"
            "      aten::linear@cpu:0\n"
            "    aten::linear#2  [replica 1]\n"
            "      aten::linear@cpu:1\n");
}

TEST(NamedTrace, KnowsWhoCausedWhat) {
  const NamedTrace events(parse_trace(R"({
    "lockstep": {"devices": [{"id": 0, "name": "cpu:0"}]}, "traceEvents": [
    {"ph":"X","cat":"phase","name":"step","ts":0,"dur":9,"args":{"id":1,"step":3}},
    {"ph":"X","cat":"call","name":"encloses","ts":1,"dur":2,"args":{"id":2}},
    {"ph":"X","cat":"op","name":"enclosed","ts":1,"dur":1,"args":{"id":3}},
    {"ph":"X","cat":"kernel","name":"enqueued","pid":1,"ts":2,"dur":2,
     "args":{"id":4,"op":3,"device":0}},
    {"ph":"i","cat":"mark","name":"at its end","pid":1,"ts":4,"args":{"id":5}},
    {"ph":"X","cat":"op","name":"on a thread","tid":1,"ts":5,"dur":1,
     "args":{"id":6,"parent":2}}]})",
                                      "by hand"));
  EXPECT_EQ(events.tree(),
            "step 3\n"
            "  encloses\n"
            "    enclosed\n"
            "      enqueued@cpu:0\n"
            "        at its end@cpu:0\n"
            "    on a thread\n");
}

}  // namespace
}  // namespace lockstep::tracer
