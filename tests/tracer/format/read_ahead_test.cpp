// A list that is read in parallel parts gives the same result as sequential reading.
// sanitize: address thread
#include "tracer/format/read_ahead.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace lockstep::tracer {
namespace {

constexpr int kEvents = 40'000;

/// Members of `args` that look like the end of an event and the start of the next.
std::string lookalikes(size_t objects) {
  std::string list;
  for (size_t i = 0; i < objects; ++i) list += R"({"text":"}}, {\"ph\":"},)";
  return R"(,"list":[)" + list + "{}]";
}

std::string op_event(int id, const std::string& more = "") {
  return fmt::format(
      R"({{"ph":"X","cat":"op","name":"op {}","pid":0,"tid":{},"ts":{}.000,"dur":1,)"
      R"("args":{{"id":{},"step":0,"shapes":[[32,64,56,56],[64,64,3,3]],"flops":73728,)"
      R"("file":"engine/nn/conv.cpp","line":71,"module":"features.stage1.conv1",)"
      R"("def_file":"engine/ops/conv.cpp","def_line":12{}}}}})",
      id % 100, id % 7, id, id, more);
}

/// `special` replaces event `at`, and `more` is added to the arguments of all others.
std::string long_trace(int at = -1, const std::string& special = "",
                       const std::string& more = "") {
  std::string text = R"({"traceEvents": [)";
  for (int id = 0; id < kEvents; ++id) {
    text += id == 0 ? "\n" : ",\n";
    text += id == at ? special : op_event(id, more);
  }
  return text + R"(], "other": [{"a":1},{"a":1}]})";
}

std::string refusal_of(std::string text) {
  try {
    parse_trace(std::move(text), "long.json");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

void expect_all_events(const Trace& trace) {
  ASSERT_EQ(trace.events.size(), static_cast<size_t>(kEvents));
  for (int id = 0; id < kEvents; ++id) {
    const Event& event = trace.events[static_cast<size_t>(id)];
    ASSERT_EQ(event.id, id);
    ASSERT_EQ(event.name, fmt::format("op {}", id % 100));
    ASSERT_EQ(event.ts, id * 1000);
    ASSERT_EQ(int_arg(event.args, "line"), 71);
  }
}

TEST(ReadAhead, GivesAllEventsInOrder) {
  const Trace trace = parse_trace(long_trace(), "long.json");
  expect_all_events(trace);
  EXPECT_EQ(trace.other["other"].size(), 2u);
  EXPECT_TRUE(trace.sorted_in_file);
}

TEST(ReadAhead, GivesAllEventsOfABareList) {
  std::string text = long_trace();
  text.erase(0, text.find('['));
  text.erase(text.rfind(R"(, "other")"));
  expect_all_events(parse_trace(text, "long.json"));
}

TEST(ReadAhead, TakesNoLookalikeForAnEvent) {
  expect_all_events(parse_trace(long_trace(-1, "", lookalikes(5)), "long.json"));
}

TEST(ReadAhead, ReadsOverAnEventThatIsLargerThanAPart) {
  const std::string large = lookalikes(500'000);
  ASSERT_GT(large.size(), size_t{10} << 20);
  for (const int at : {0, 1, 13'000, kEvents - 1}) {
    SCOPED_TRACE(at);
    expect_all_events(parse_trace(long_trace(at, op_event(at, large)), "long.json"));
  }
}

TEST(ReadAhead, NamesTheEventThatIsWrong) {
  std::string wrong = op_event(38'123);
  wrong.replace(wrong.find(R"("cat":"op")"), 10, R"("cat":1234)");
  EXPECT_EQ(refusal_of(long_trace(38'123, wrong)),
            "long.json: traceEvents[38123]: `cat` must be a string");
}

TEST(ReadAhead, NamesThePlaceOfDamage) {
  std::string text = long_trace();
  const size_t place = text.find(R"("id":30000)");
  const std::string position = fmt::format("line 30002, byte {}: ", place + 6);
  text[place + 5] = 'x';
  EXPECT_THAT(refusal_of(text), ::testing::HasSubstr(position));
  text.resize(place);
  EXPECT_THAT(refusal_of(text), ::testing::HasSubstr("line 30002, byte "));
}

TEST(ReadAhead, NumbersTextsInTheOrderOfTheFile) {
  std::string first = op_event(9'000), second = op_event(35'000);
  first.replace(first.find(R"("pid":0)"), 7, R"("pid":"Spans")");
  second.replace(second.find(R"("pid":0)"), 7, R"("pid":"Others")");
  std::string text = long_trace(9'000, first);
  const std::string replaced = op_event(35'000);
  text.replace(text.find(replaced), replaced.size(), second);
  const Trace trace = parse_trace(text, "long.json");
  expect_all_events(trace);
  EXPECT_EQ(trace.events[9'000].pid, -1'000'000);
  EXPECT_EQ(trace.events[35'000].pid, -1'000'001);
}

TEST(ReadAhead, PartsFollowOneAnother) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two cores";
  std::string text = "[" + op_event(0);
  for (int id = 1; id < kEvents; ++id) text += "," + op_event(id);
  const char* place = text.data() + 1 + op_event(0).size();
  ReadAhead ahead(text, place);
  size_t events = 1, parts = 0;
  while (const EventPart* part = ahead.part_at(place)) {
    EXPECT_EQ(part->begin, place);
    for (const Event& event : part->events) {
      ASSERT_EQ(event.id, static_cast<int64_t>(events++));
    }
    place = part->end;
    ++parts;
  }
  EXPECT_GE(parts, 3u);
  EXPECT_EQ(events, static_cast<size_t>(kEvents));
}

}  // namespace
}  // namespace lockstep::tracer
