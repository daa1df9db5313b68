// Arguments are parsed lazily from the file's text, and their values match JSON.
// sanitize: address
#include "tests/tracer/golden.h"
#include "tracer/format/event_json.h"
#include "tracer/format/facts.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {
namespace {

Trace with_args(const std::string& args) {
  return parse_trace(R"([{"ph":"X","cat":"copy","ts":0,"args":)" + args + "}]", "t");
}

std::string args_line(const std::string& args) {
  const Trace trace = with_args(args);
  const std::string line = event_line(trace.events.at(0));
  return line.substr(line.find("\"args\":") + 7);
}

TEST(Args, OfARepeatedNameTheLastCounts) {
  const Trace trace = with_args(R"({"bytes":1,"why":"a","bytes":2,"why":7})");
  const Args& args = trace.events.at(0).args;
  EXPECT_EQ(int_arg(args, keys::bytes), 2);
  EXPECT_EQ(string_arg(args, keys::why), "");
  EXPECT_EQ(args.size(), 2u);
  EXPECT_EQ(args_line(R"({"a":1,"b":2,"a":3})"), R"({"deps":[],"a":3,"b":2}})");
}

TEST(Args, NamesMayBeSpelledWithEscapes) {
  const Trace trace = with_args(R"({"b\u0079tes":5,"\u0069d":7})");
  EXPECT_EQ(trace.events.at(0).id, 7);
  EXPECT_EQ(int_arg(trace.events.at(0).args, keys::bytes), 5);
}

TEST(Args, TextsAreAsPeopleReadThem) {
  const Trace trace = with_args(R"({"why":"h2\u0064","tensor":"a\n\"b\""})");
  EXPECT_EQ(copy_facts(trace.events.at(0)).why, reasons::h2d);
  EXPECT_EQ(copy_facts(trace.events.at(0)).tensor, "a\n\"b\"");
}

TEST(Args, NumbersOfOtherKindsFallBack) {
  const Trace trace = with_args(
      R"({"a":1.5,"b":18446744073709551615,"c":"1","d":true,"e":[1,2.5],"f":-3})");
  const Args& args = trace.events.at(0).args;
  for (const char* key : {"a", "b", "c", "d", "e", "absent"}) {
    EXPECT_EQ(int_arg(args, key, -7), -7) << key;
  }
  EXPECT_EQ(int_arg(args, "f", -7), -3);
  EXPECT_EQ(number_arg(args, "a"), 1.5);
  EXPECT_EQ(number_arg(args, "b"), 18446744073709551615.0);
  EXPECT_TRUE(ints_arg(args, "e").empty());
  EXPECT_TRUE(bool_arg(args, "d"));
}

TEST(Args, AreWrittenAsJsonWouldWriteThem) {
  EXPECT_EQ(args_line(R"({ "a" : 1.50 , "b":1e3,"c":[ 1, 2 ],"d":"\u00e9","e":-0})"),
            R"({"deps":[],"a":1.5,"b":1000.0,"c":[1,2],"d":"é","e":0}})");
  EXPECT_EQ(args_line(R"({"a":12345678901234567890,"b":{"x":[]},"c":null})"),
            R"({"deps":[],"a":12345678901234567890,"b":{"x":[]},"c":null}})");
}

TEST(Args, ChangeWithoutTouchingTheText) {
  Trace trace = with_args(R"({"id":3,"bytes":8,"why":"h2d"})");
  Event& event = trace.events.at(0);
  const Event before = event;
  event.args[keys::bytes] = 16;
  event.args.erase(keys::why);
  EXPECT_EQ(event.args.json(), Json({{"bytes", 16}}));
  EXPECT_EQ(int_arg(before.args, keys::bytes), 8);
  EXPECT_FALSE(event.args.contains(keys::id)) << "it is a field of the event";
}

TEST(Durations, AreExact) {
  const Trace trace = with_args(R"({"a":12.345,"b":80,"c":0.0004,"d":-1.000})");
  const Args& args = trace.events.at(0).args;
  EXPECT_EQ(duration_arg(args, "a"), 12345);
  EXPECT_EQ(duration_arg(args, "b"), 80000);
  EXPECT_EQ(duration_arg(args, "c"), 0);
  EXPECT_EQ(duration_arg(args, "d", 9), 9);
}

}  // namespace
}  // namespace lockstep::tracer
