// Malformed files: each gives a valid Model or a one-line error message.
// sanitize: address
#include <fmt/format.h>

#include <stdexcept>

#include "gui/model/breakdown.h"
#include "gui/model/details.h"
#include "gui/model/state.h"
#include "tests/gui/model/valid.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT

/// Calls every query of the panels on a small model.
void ask_everything(const Model& model) {
  for (uint32_t i = 0; i < model.events.size(); ++i) {
    const Position position = at_event(model, i);
    state_at(model, position);
    state_at(model, in_time_order(model, position));
    for (int move = 0; move <= static_cast<int>(Move::last); ++move) {
      moved(model, position, static_cast<Move>(move));
    }
    json_of(model, model.events[i])
        .dump(-1, ' ', false, tracer::Json::error_handler_t::replace);
  }
  for (size_t step = 0; step < model.steps.size(); ++step) break_down(model, step);
  mean_breakdown(model);
}

/// Returns true if the file opens. Otherwise the error must be one line that names the
/// file.
bool opens(const std::string& text, bool ask = true) {
  try {
    const Model model = load_model("hostile.json", text);
    expect_valid(model);
    if (ask && !::testing::Test::HasFatalFailure()) ask_everything(model);
    return true;
  } catch (const std::runtime_error& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("hostile.json ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_NE(message.find("fix: "), std::string::npos) << message;
    return false;
  }
}

bool opens_with(const std::string& event) {
  return opens(trace_of(x_event("1", "90", R"("id":1)") + "," + event));
}

TEST(Hostile, CutOffAnywhere) {
  const std::string text = tracer::read_whole_file(minimal_path());
  const size_t first_event = text.find("}", text.find("\"ph\":\"X\""));
  for (size_t size = 0; size < text.size(); ++size) {
    SCOPED_TRACE(size);
    const bool opened = opens(text.substr(0, size), size % 31 == 0);
    if (size < first_event) {
      EXPECT_FALSE(opened);
    }
    if (size > first_event + 200) {
      EXPECT_TRUE(opened);
    }
    if (HasFailure()) return;
  }
}

TEST(Hostile, SaysWhereItIsCutOff) {
  const std::string text = tracer::read_whole_file(minimal_path());
  const Model model = load_model("cut.json", text.substr(0, text.size() - 100));
  ASSERT_EQ(model.problems.size(), 1u);
  EXPECT_NE(model.problems[0].find("unexpected end of file"), std::string::npos)
      << model.problems[0];
}

TEST(Hostile, AnyByteMayBeAnother) {
  const std::string text = tracer::read_whole_file(minimal_path());
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char byte : {'"', '{', ']', '\\', ',', '-', '9', '\0', '\xff'}) {
      const size_t lot = at * 7 + static_cast<unsigned char>(byte);
      if (lot % 5 != 0) continue;
      std::string damaged = text;
      damaged[at] = byte;
      SCOPED_TRACE(
          fmt::format("byte {} is {:#x}", at, static_cast<unsigned char>(byte)));
      opens(damaged, lot % 31 == 0);
      if (HasFailure()) return;
    }
  }
}

TEST(Hostile, WrongTypesInEveryField) {
  const std::string right =
      R"({"ph":"X","cat":"copy","name":"a","pid":1,"tid":2,"ts":3,"dur":4,)"
      R"("args":{"id":2,"step":0,"op":1,"by":1,"parent":1,"rank":0,"device":0,)"
      R"("stream":1,"src":"host","dst":0,"bytes":8,"why":"h2d","phase":"h2d",)"
      R"("correlation":5,"kind":"train","name":"n","sort_index":1}})";
  ASSERT_TRUE(opens_with(right));
  for (const char* wrong :
       {"null", "true", "\"text\"", "-5", "1e999", "12.5", "1000000000000",
        "99999999999999999999", "[]", "[[1],{\"a\":2}]", "{}", "{\"id\":[3]}", "\"\"",
        "NaN", "-Infinity", "\"\\u0000\""}) {
    for (size_t colon = right.find(':'); colon != std::string::npos;
         colon = right.find(':', colon + 1)) {
      size_t end = right.find_first_of(",}", colon);
      if (right[colon + 1] == '{') end = right.size() - 1;
      SCOPED_TRACE(right.substr(colon - 5, 6) + wrong);
      opens_with(right.substr(0, colon + 1) + wrong + right.substr(end));
      if (HasFailure()) return;
    }
  }
}

TEST(Hostile, StrangeTimes) {
  for (const char* time : {"NaN", "-1", "1e300", "-1e300", "9223372036854775807",
                           "2305843009213693.951", "-1000000000000000", "null"}) {
    SCOPED_TRACE(time);
    EXPECT_TRUE(opens_with(x_event(time, "5", "")));
    EXPECT_TRUE(opens_with(x_event("5", time, "")));
    EXPECT_TRUE(opens(trace_of(x_event(time, "5", "") + "," + x_event("1", "2", ""))));
  }
}

TEST(Hostile, IdsAndParents) {
  const Model twice = load_events(x_event("1", "9", R"("id":7)") + "," +
                                  x_event("2", "3", R"("id":7)"));
  expect_valid(twice);
  EXPECT_EQ(twice.event_of_id(7), 0u);
  EXPECT_EQ(twice.problems.size(), 1u);

  const Model circle = load_events(x_event("1", "9", R"("id":1,"parent":2)") + "," +
                                   x_event("2", "3", R"("id":2,"parent":1)") + "," +
                                   x_event("3", "1", R"("id":3,"parent":3)"));
  expect_valid(circle);
  EXPECT_EQ(circle.events[0].parent, kNoEvent);
  EXPECT_EQ(circle.events[1].parent, 0u);

  const Model large = load_events(x_event("1", "9", R"("id":4294967297)") + "," +
                                  x_event("2", "3", R"("id":4000000000)") + "," +
                                  x_event("3", "1", R"("op":4000000000)"));
  expect_valid(large);
  EXPECT_EQ(large.event_of_id(4294967297), kNoEvent);
  EXPECT_EQ(large.events[2].parent, 1u);
  EXPECT_EQ(large.problems.size(), 1u);
}

TEST(Hostile, MoreLanesThanThereAreNumbers) {
  std::string events;
  for (int i = 0; i < 70'000; ++i) {
    events +=
        fmt::format(R"({}{{"ph":"X","name":"a","pid":{},"tid":1,"ts":{},"dur":1}})",
                    i == 0 ? "" : ",", i, i);
  }
  const Model model = load_events(events);
  expect_valid(model);
  EXPECT_EQ(model.lanes.size(), 65'535u);
  EXPECT_EQ(model.problems.size(), 1u);
}

TEST(Hostile, DevicesThatDoNotExist) {
  const auto copy = [](const char* device, const char* src, const char* dst) {
    return fmt::format(
        R"({{"ph":"X","cat":"copy","name":"c","pid":9,"tid":0,"ts":2,"dur":3,"args":)"
        R"({{"id":5,"device":{},"stream":-9,"rank":-1,"src":{},"dst":{},)"
        R"("bytes":-8}}}})",
        device, src, dst);
  };
  for (const char* id : {"-5", "1000000000000", "\"host\"", "0", "null"}) {
    EXPECT_TRUE(opens_with(copy(id, "0", "1")));
    EXPECT_TRUE(opens_with(copy("0", id, "77")));
    EXPECT_TRUE(opens_with(copy("0", "77", id)));
  }
  std::string many = copy("0", "0", "1");
  for (int i = 0; i < 5'000; ++i)
    many += "," + copy("0", "0", std::to_string(i).c_str());
  const Model model = load_events(many);
  expect_valid(model);
  EXPECT_EQ(model.devices.size(), 4096u);
}

TEST(Hostile, CountersWithoutLanes) {
  const std::string counter =
      R"({"ph":"C","name":"memory","pid":5,"tid":5,"ts":1,"args":{"parameters":5}})";
  const Model model = load_events(x_event("1", "2", "") + "," + counter);
  expect_valid(model);
  EXPECT_EQ(model.lanes.size(), 1u);
  EXPECT_EQ(model.problems.size(), 1u);
  EXPECT_FALSE(opens(trace_of(counter))) << "there are no events";
}

TEST(Hostile, WhatIsNoTraceIsRefused) {
  for (const char* text :
       {"", " \n", "hello", "42", "\"text\"", "null", "{}", "[]", "[1,2]", "{\"a\":1}",
        "{\"traceEvents\":5}", "{\"traceEvents\":[]}", "{\"traceEvents\":", "{", "[",
        "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\"}]}",
        "\xEF\xBB\xBF"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(opens(text));
  }
  EXPECT_FALSE(opens(std::string(1000, '\0')));
}

TEST(Hostile, BareListsMayLackTheirBracket) {
  const std::string event = x_event("1", "2", "");
  for (const char* end : {"]", "", ",", ",\n", " , ]", "\n"}) {
    SCOPED_TRACE(end);
    const Model model = load_model("bare.json", "[" + event + "," + event + end);
    expect_valid(model);
    EXPECT_EQ(model.events.size(), 2u);
    EXPECT_TRUE(model.problems.empty());
  }
  const Model cut = load_model("cut.json", "[" + event + "," + event.substr(0, 50));
  EXPECT_EQ(cut.events.size(), 1u);
  EXPECT_EQ(cut.problems.size(), 1u);
}

TEST(Hostile, DeepNestingIsRefusedAtOnce) {
  EXPECT_FALSE(opens(std::string(10'000'000, '[')));
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(opens(objects));
  EXPECT_FALSE(opens("{\"lockstep\":" + objects));
  EXPECT_TRUE(opens("{\"traceEvents\":[" + x_event("1", "2", "") + "," + objects));
  EXPECT_TRUE(opens("{\"traceEvents\":[" + x_event("1", "2", "\"a\":" + objects)) ==
              false);
}

TEST(Hostile, DeepCallsAreShown) {
  std::string events;
  for (int i = 0; i < 3'000; ++i) {
    events += (i == 0 ? "" : ",") +
              x_event(std::to_string(i), std::to_string(10'000 - 2 * i), "");
  }
  const Model model = load_events(events);
  expect_valid(model);
  EXPECT_EQ(model.events.back().parent, 2'998u);
  EXPECT_EQ(model.events.back().row, kMaxRow);
  state_at(model, at_event(model, 2'999));
}

TEST(Hostile, MetadataOfAnotherShape) {
  for (const char* meta :
       {"5", "[]", "{\"devices\":5}", "{\"devices\":[5,null,{\"id\":\"a\"}]}",
        "{\"devices\":[{\"id\":-1},{\"id\":1e9,\"name\":7}]}", "{\"sources\":[]}",
        "{\"devices\":[{\"id\":3,\"rank\":99999999999}]}", "{\"steps\":\"\xff\"}"}) {
    SCOPED_TRACE(meta);
    EXPECT_TRUE(opens("{\"lockstep\":" + std::string(meta) +
                      ",\"distributedInfo\":{\"rank\":-7},\"traceEvents\":[" +
                      x_event("1", "2", "") + "]}"));
  }
}

}  // namespace
}  // namespace lockstep::gui
