// Reading and writing: no data is lost, no partially written file remains, and any file
// gives a trace or a one-line error.
// sanitize: address
#include <sys/resource.h>

#include <csignal>

#include "base/file.h"
#include "tests/tracer/named_trace.h"
#include "tracer/format/lanes.h"
#include "tracer/format/times.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

std::string error_of(const std::string& text) {
  try {
    parse_trace(text, "t.json");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

Trace one_event(const std::string& event) {
  return parse_trace(R"({"traceEvents":[)" + event + "]}", "t.json");
}

TEST(Times, AreExactToTheNanosecond) {
  EXPECT_EQ(parse_microseconds("1712195495519836.506"), 1712195495519836506);
  EXPECT_EQ(parse_microseconds("0.001"), 1);
  EXPECT_EQ(parse_microseconds("7"), 7000);
  EXPECT_EQ(parse_microseconds("-0.25"), -250);
  EXPECT_EQ(parse_microseconds("1.0009"), 1000);
  EXPECT_EQ(parse_microseconds("1.5e3"), 1500000);
  EXPECT_EQ(format_microseconds(1712195495519836506), "1712195495519836.506");
  EXPECT_EQ(format_microseconds(-1), "-0.001");
  EXPECT_EQ(format_microseconds(0), "0.000");
}

TEST(Times, RefuseWhatDoesNotFit) {
  for (const char* text : {"", "-", "x", "1.2.3", "99999999999999999999", "1e300",
                           "-9000000000000000", "nan", "1e", "0x10"}) {
    EXPECT_FALSE(parse_microseconds(text)) << text;
  }
}

TEST(Reader, PutsKnownArgumentsIntoFields) {
  const Trace trace = read_trace(minimal_path());
  EXPECT_TRUE(trace.sorted_in_file);
  const NamedTrace names(trace);
  const Event& kernel = event_at(trace, names, "aten::linear@cpu:1");
  EXPECT_EQ(kernel.ts, 18000);
  EXPECT_EQ(kernel.dur, 12000);
  EXPECT_EQ(kernel.op, names["aten::linear#2"]);
  EXPECT_EQ(kernel.deps, (std::vector{names["scatter images@cpu:1"],
                                      names["replicate parameters@cpu:1"],
                                      names["replicate buffers@cpu:1"]}));
  EXPECT_EQ(kernel.args["impl"], "plain loops");
  EXPECT_FALSE(kernel.args.contains("deps"));
  EXPECT_EQ(trace.lockstep["model"]["parameter_bytes"], 48);
  EXPECT_EQ(trace.other["displayTimeUnit"], "ms");
}

TEST(Reader, AcceptsABareArrayAndSorts) {
  const Trace trace = parse_trace(
      R"([{"ph":"X","name":"b","ts":2,"dur":1},{"ph":"X","name":"inner","ts":1,"dur":1},
          {"ph":"X","name":"outer","ts":1,"dur":5},{"ph":"M","name":"process_name"}])",
      "t.json");
  ASSERT_EQ(trace.events.size(), 4u);
  EXPECT_FALSE(trace.sorted_in_file);
  EXPECT_EQ(trace.events[0].ph, 'M');
  EXPECT_EQ(trace.events[1].name, "outer");
  EXPECT_EQ(trace.events[3].name, "b");
}

TEST(Reader, LeavesWronglyTypedArgumentsWhereTheyAre) {
  const Trace trace = one_event(
      R"({"ph":"X","ts":0,"args":{"id":"seven","step":-1,"deps":[1,"2"],"op":1.5}})");
  const Event& event = trace.events.at(0);
  EXPECT_EQ(event.id, kNone);
  EXPECT_EQ(event.step, kNone);
  EXPECT_TRUE(event.deps.empty());
  EXPECT_EQ(event.args.size(), 4u);
}

TEST(Reader, GivesTextualLanesNumbersOfTheirOwn) {
  const Trace trace = parse_trace(
      R"([{"ph":"X","pid":"Spans","tid":"a","ts":0},{"ph":"X","pid":"Spans","tid":"b",
          "ts":1}])",
      "t.json");
  EXPECT_EQ(trace.events[0].pid, trace.events[1].pid);
  EXPECT_NE(trace.events[0].tid, trace.events[1].tid);
  EXPECT_LT(trace.events[0].pid, 0);
}

TEST(Reader, TheLastOfRepeatedKeysCounts) {
  EXPECT_EQ(one_event(R"({"ph":"X","ts":1,"ts":2})").events[0].ts, 2000);
}

TEST(Reader, NamesFilePlaceAndMend) {
  const std::string error =
      error_of("{\"traceEvents\":[\n{\"ph\":\"X\",\"ts\":0},\n{\"ph");
  EXPECT_NE(error.find("t.json: line 3"), std::string::npos) << error;
  EXPECT_NE(error.find("record"), std::string::npos) << error;
}

TEST(Reader, SurvivesHostileInput) {
  const std::string deep(100'000, '[');
  const std::string many =
      "{\"a\":" + std::string(1000, '[') + std::string(1000, ']') + "}";
  std::string keys = R"({"traceEvents":[{"ph":"X","args":{"k":0)";
  for (int i = 0; i < 10'001; ++i) keys += ",\"k" + std::to_string(i) + "\":0";
  const std::pair<std::string, const char*> cases[] = {
      {"", "line 1"},
      {"7", "single JSON value"},
      {"{}", "no `traceEvents`"},
      {"null", "single JSON value"},
      {deep, "nested deeper"},
      {many, "nested deeper"},
      {keys + "}}]}", "more than 10000 keys"},
      {R"({"traceEvents":7})", "must be an array"},
      {R"({"traceEvents":{}})", "must be an array"},
      {R"({"traceEvents":[7]})", "traceEvents[0]: an event must be an object"},
      {R"({"traceEvents":[{"ph":"X"},{"ph":7}]})",
       "traceEvents[1]: `ph` must be a string"},
      {R"({"traceEvents":[{"ph":"XX"}]})", "one letter"},
      {R"({"traceEvents":[{"name":"no ph"}]})", "one letter"},
      {R"({"traceEvents":[{"ph":"X","ts":"1"}]})", "`ts` must be a number"},
      {R"({"traceEvents":[{"ph":"X","ts":NaN}]})", "line 1"},
      {R"({"traceEvents":[{"ph":"X","ts":1e999}]})", "line 1"},
      {R"({"traceEvents":[{"ph":"X","ts":1e30}]})", "out of range"},
      {R"({"traceEvents":[{"ph":"X","dur":18446744073709551615}]})", "out of range"},
      {R"({"traceEvents":[{"ph":"X","pid":1.5}]})", "`pid` must be an integer"},
      {R"({"traceEvents":[{"ph":"X","args":[]}]})", "`args` must be an object"},
      {R"({"traceEvents":[{"ph":"X","name":7}]})", "`name` must be a string"},
      {R"({"lockstep":7,"traceEvents":[]})", "`lockstep` must be an object"},
      {"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"\xff\xfe\"}]}", "UTF-8"},
      {R"({"traceEvents":[]} trailing)", "line 1"},
      {std::string("\0\0\0\0", 4), "is not a trace"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string error = error_of(text);
    EXPECT_NE(error.find(expected), std::string::npos)
        << text.substr(0, 80) << "\n  gave: " << error << "\n  without: " << expected;
    EXPECT_EQ(error.rfind("t.json: ", 0), 0u) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(Reader, EveryPrefixOfATraceIsRefusedPolitely) {
  const std::string whole = slurp(minimal_path());
  for (size_t length = 0; length + 3 < whole.size(); length += 197) {
    EXPECT_FALSE(error_of(whole.substr(0, length)).empty()) << length;
  }
}

TEST(Reader, NamesWhatIsNoTraceAtAll) {
  EXPECT_NE(error_of("\n# A text\n").find("is not a trace (JSON expected)"),
            std::string::npos);
  EXPECT_EQ(error_of("{\"traceEvents\": [").find("not a trace"), std::string::npos);
}

TEST(Reader, RefusesAbsentAndUnreadableFiles) {
  EXPECT_THROW(read_trace("/nowhere/trace.json"), std::runtime_error);
  EXPECT_THROW(read_trace("/tmp"), std::runtime_error);
}

TEST(Reader, RefusesACutOffArchive) {
  const TemporaryFolder folder;
  write_trace(read_trace(minimal_path()), folder / "t.json.gz");
  const std::string whole = slurp(folder / "t.json.gz");
  std::ofstream(folder / "cut.json.gz") << whole.substr(0, whole.size() / 2);
  EXPECT_THROW(read_trace(folder / "cut.json.gz"), std::runtime_error);
}

TEST(Reader, RefusesABomb) {
  const TemporaryFolder folder;
  AtomicFile bomb(folder / "bomb.gz");
  const std::string spaces(1 << 20, ' ');
  for (int i = 0; i < 200; ++i) bomb.write(spaces);
  bomb.commit();
  try {
    read_trace(folder / "bomb.gz");
    FAIL() << "200 MiB of spaces were accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("too large"), std::string::npos)
        << error.what();
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Writer, LosesNothing) {
  const TemporaryFolder folder;
  const Trace trace = read_trace(minimal_path());
  for (const char* name : {"a.json", "a.json.gz"}) {
    write_trace(trace, folder / name);
    const Trace again = read_trace(folder / name);
    ASSERT_EQ(again.events.size(), trace.events.size());
    write_trace(again, folder / "b.json");
    write_trace(trace, folder / "c.json");
    EXPECT_EQ(slurp(folder / "b.json"), slurp(folder / "c.json"));
    EXPECT_EQ(again.lockstep, trace.lockstep);
  }
}

TEST(Writer, KeepsEveryHandWrittenEventToTheByte) {
  const TemporaryFolder folder;
  write_trace(read_trace(minimal_path()), folder / "a.json");
  std::string flat = slurp(folder / "a.json");
  size_t found = 0;
  for (const std::string& line : lines_of(slurp(minimal_path()))) {
    if (line.rfind("{\"ph\":\"X\"", 0) != 0) continue;
    const std::string head = line.substr(0, line.find(",\"args\""));
    EXPECT_NE(flat.find(head), std::string::npos) << head;
    ++found;
  }
  EXPECT_EQ(found, 30u);
}

TEST(Writer, DrawsAnArrowFromOpToKernelInOrder) {
  const TemporaryFolder folder;
  const Trace trace = read_trace(minimal_path());
  write_trace(trace, folder / "a.json");
  const Json json = Json::parse(slurp(folder / "a.json"));
  const int64_t kernel = NamedTrace(trace)["aten::linear@cpu:1"];
  int starts = 0, ends = 0;
  double last = 0;
  for (const Json& event : json["traceEvents"]) {
    EXPECT_GE(event["ts"].get<double>(), last);
    last = event["ts"];
    if (event["ph"] == "s" && event["id"] == kernel) {
      ++starts;
      EXPECT_EQ(event["tid"], 1);  // its op runs on the replica's thread
      EXPECT_EQ(event["ts"], 10.0);
    }
    if (event["ph"] == "f" && event["id"] == kernel) {
      ++ends;
      EXPECT_EQ(event["pid"], 2);
      EXPECT_EQ(event["bp"], "e");
    }
  }
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(ends, 1);
  EXPECT_TRUE(read_trace(folder / "a.json").sorted_in_file);
}

TEST(Writer, ReplacesWithoutAMomentWithoutAFile) {
  const TemporaryFolder folder;
  std::ofstream(folder / "t.json") << "old";
  write_trace(read_trace(minimal_path()), folder / "t.json");
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_EQ(read_trace(folder / "t.json").events.size(), 53u);
}

TEST(Writer, FollowsALink) {
  const TemporaryFolder folder;
  std::ofstream(folder / "real.json") << "old";
  fs::create_symlink(folder / "real.json", folder / "link.json");
  write_trace(read_trace(minimal_path()), folder / "link.json");
  EXPECT_TRUE(fs::is_symlink(folder / "link.json"));
  EXPECT_EQ(read_trace(folder / "real.json").events.size(), 53u);
}

TEST(Writer, SaysThatTheDiskIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  for (const char* name : {"/dev/full", "/nowhere/t.json"}) {
    try {
      write_trace(read_trace(minimal_path()), name);
      FAIL() << name;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()).rfind(name, 0), 0u) << error.what();
    }
  }
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST(Writer, LeavesNothingBehindWhenTheDiskFillsUp) {
  const TemporaryFolder folder;
  const Trace trace = read_trace(minimal_path());
  std::signal(SIGXFSZ, SIG_IGN);  // so that writing fails as on a full disk
  rlimit usual{};
  getrlimit(RLIMIT_FSIZE, &usual);
  rlimit tight = usual;
  tight.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &tight);
  EXPECT_THROW(write_trace(trace, folder / "t.json"), std::runtime_error);
  setrlimit(RLIMIT_FSIZE, &usual);
  EXPECT_EQ(folder.files(), 0u);
}

TEST(Writer, RefusesAFolder) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "t.json");
  EXPECT_THROW(write_trace(read_trace(minimal_path()), folder / "t.json"),
               std::runtime_error);
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Lanes, SayWhoseTheyAre) {
  const Trace trace = read_trace(minimal_path());
  const Lanes lanes(trace);
  EXPECT_EQ(lanes.all().at({2, 1}).device, 1);
  EXPECT_EQ(lanes.all().at({2, 1}).stream, 1);
  EXPECT_EQ(lanes.all().at({2, 1}).process, "device 1");
  EXPECT_EQ(lanes.all().at({0, 2}).thread, "copies to the host");
  EXPECT_TRUE(lanes.all().at({0, 2}).is_host());
}

}  // namespace
}  // namespace lockstep::tracer
