// The search's filter language, the table of kernels and operations, and notes.
// sanitize: address
#include "gui/model/filter.h"

#include <gtest/gtest.h>

#include <map>

#include "gui/model/notes.h"
#include "gui/model/op_table.h"
#include "tests/gui/model/made_trace.h"

namespace lockstep::gui {
namespace {

using test::Made;

/// Two kernels and two copies of a reduce, and an operation, on the host and 2 devices.
Model small() {
  return Made()
      .x("phase", "step", 0, 0, 100, R"("kind":"train","batch":4)")
      .x("phase", "reduce", 0, 5, 60, "")
      .x("op", "aten::add_", 0, 10, 10, "")
      .x("kernel", "add", 1, 20, 5, R"("op":3,"phase":"reduce")")
      .x("kernel", "add", 2, 30, 15, R"("op":3,"phase":"reduce")")
      .x("copy", "reduce", 1, 40, 2,
         R"("src":1,"dst":0,"bytes":2000000,"why":"reduce","phase":"reduce")")
      .x("copy", "scatter", 2, 50, 4,
         R"("src":"host","dst":1,"bytes":500,"why":"scatter","phase":"scatter")")
      .model();
}

/// Returns the names of the events that match, with their devices.
std::string found(const Model& model, const std::string& text) {
  const Filter filter = parse_filter(text);
  if (!filter.error.empty()) return "error: " + filter.error;
  std::string names;
  const std::vector<uint8_t> matches = matching_events(model, filter);
  for (uint32_t i = 0; i < matches.size(); ++i) {
    if (matches[i] == 0) continue;
    const int device = model.lanes[model.events[i].lane].device;
    if (!names.empty()) names += ", ";
    names += model.name_of(model.events[i]);
    if (device != kHostDevice) names += "@" + std::to_string(device);
  }
  return names;
}

TEST(Filter, TermsNarrowTheSearch) {
  const Model model = small();
  for (const auto& [text, wanted] : std::map<std::string, std::string>{
           {"", ""},
           {"ADD", "aten::add_, add@0, add@1"},
           {"add dev:1", "add@1"},
           {"dev:host", "step, reduce, aten::add_, scatter@1"},
           {"aten::add_", "aten::add_"},
           {"bytes>1M", "reduce@0"},
           {"bytes<=500", "scatter@1"},
           {"bytes>=2MB dev:1", "reduce@0"},
           {"why:scatter", "scatter@1"},
           {"kind:kernel time>10us", "add@1"},
           {"kind:kernel time<=5us", "add@0"},
           {"phase:reduce", "reduce, aten::add_, add@0, add@1, reduce@0"},
           {"phase:reduce kind:copy", "reduce@0"},
           {"step:9", ""},
           {"rank:0 name:scatter", "scatter@1"},
           {"nccl:all", ""}}) {
    EXPECT_EQ(found(model, text), wanted) << text;
  }
}

TEST(Filter, ErrorsAreSentences) {
  const Model model = small();
  for (const auto& [text, wanted] : std::map<std::string, std::string>{
           {"bytes>many", "bytes: 'many' is not a size such as 1M, 64kB or 12"},
           {"bytes>999999999999999T",
            "bytes: '999999999999999T' is not a size such as 1M, 64kB or 12"},
           {"bytes>1X", "bytes: '1X' is not a size such as 1M, 64kB or 12"},
           {"time>5", "time: '5' is not a time such as 2ms, 30us or 1s"},
           {"dev:first", "dev: 'first' is not a device's number, or host"},
           {"step:-1", "step: '-1' is not a number"},
           {"phase>reduce", "phase cannot be compared; fix: write phase:reduce"},
           {"dev:", "dev has no value; fix: write dev:…"},
           {"kind:kernels",
            "kind: 'kernels' is not one of step, phase, call, op, kernel, copy, "
            "collective, sync, mark, other"}}) {
    EXPECT_EQ(found(model, text), "error: " + wanted) << text;
    for (const uint8_t match : matching_events(model, parse_filter(text))) {
      EXPECT_EQ(match, 0);
    }
  }
  EXPECT_EQ(parse_filter("\"two words\" x").terms.size(), 2u);
}

TEST(OpTable, CountsTotalsMeansAndTheSlowest) {
  const Model model = small();
  std::vector<OpRow> rows = op_table_of_step(model, SIZE_MAX);
  ASSERT_EQ(rows.size(), 4u);  // step and phase are no operations
  EXPECT_EQ(model.strings[rows[0].name], "add");
  EXPECT_EQ(rows[0].count, 2u);
  EXPECT_EQ(rows[0].total, 20'000);
  EXPECT_EQ(rows[0].mean(), 10'000);
  EXPECT_EQ(rows[0].slowest, 15'000);
  EXPECT_EQ(model.events[rows[0].slowest_event].ts, 30'000);
  sort_rows(model, rows, OpColumn::name, true);
  EXPECT_EQ(model.strings[rows[0].name], "scatter");
  sort_rows(model, rows, OpColumn::slowest, true);
  EXPECT_EQ(model.strings[rows[0].name], "reduce");
  // A range counts what starts in it.
  EXPECT_EQ(op_table(model, 25'000, 45'000).size(), 2u);
  EXPECT_EQ(op_table(model, 25'000, 45'000)[0].count, 1u);
}

TEST(OpTable, WalksTheInstances) {
  const Model model = small();
  const OpRow adds = op_table_of_step(model, SIZE_MAX)[0];
  const uint32_t first = next_instance(model, adds, 0, true, SIZE_MAX);
  const uint32_t second = next_instance(model, adds, first, true, SIZE_MAX);
  EXPECT_EQ(model.events[first].ts, 20'000);
  EXPECT_EQ(model.events[second].ts, 30'000);
  EXPECT_EQ(next_instance(model, adds, second, true, SIZE_MAX), first);
  EXPECT_EQ(next_instance(model, adds, second, false, SIZE_MAX), first);
}

TEST(OpTable, WalksOnlyInTheSelection) {
  const Model model = small();
  const OpRow adds = op_table_of_step(model, SIZE_MAX)[0];
  const auto next = [&](uint32_t from, bool forward) {
    return next_instance(model, adds, from, forward, SIZE_MAX, 25'000, 45'000);
  };
  const uint32_t only = next(0, true);
  EXPECT_EQ(model.events[only].ts, 30'000);
  EXPECT_EQ(next(only, true), only);
  EXPECT_EQ(next(only, false), only);
  EXPECT_EQ(next_instance(model, adds, 0, true, SIZE_MAX, 31'000, 45'000), kNoEvent);
}

TEST(OpTable, CsvQuotesWhatNeedsIt) {
  const Model model = Made()
                          .x("phase", "step", 0, 0, 9, R"("kind":"train")")
                          .x("kernel", "a,\\\"b\\\"", 1, 1, 3, "")
                          .model();
  EXPECT_EQ(csv_of(model, op_table_of_step(model, SIZE_MAX)),
            "name,kind,count,total_ns,mean_ns,slowest_ns\n"
            "\"a,\"\"b\"\"\",kernel,1,3000,3000,3000\n");
}

TEST(OpTable, CsvOfNullDevicesHasNoDeviceTimes) {
  Model model = Made()
                    .x("phase", "step", 0, 0, 9, R"("kind":"train")")
                    .x("op", "add", 0, 1, 4, "")
                    .x("kernel", "a", 1, 1, 3, "")
                    .model();
  for (Device& device : model.devices) device.name = "null:0";
  EXPECT_EQ(csv_of(model, op_table_of_step(model, SIZE_MAX)),
            "name,kind,count,total_ns,mean_ns,slowest_ns\n"
            "add,op,1,4000,4000,4000\n"
            "a,kernel,1,,,\n");
}

TEST(Notes, PlacesAndWordsSurviveTheFile) {
  const Model model = small();
  Notes notes;
  for (uint32_t event = 0; event < model.events.size(); ++event) {
    add_note(model, notes.placed, {at_event(model, event), std::string(event, '"')});
  }
  add_note(model, notes.placed, {{Order::time, 33'333, 0, 0.5f, 0}, "in time"});
  notes.unplaced.push_back({"99:lunch", "kept as it is"});
  EXPECT_EQ(read_notes(model, notes_json(model, notes)), notes);
  for (size_t i = 1; i < notes.placed.size(); ++i) {
    EXPECT_LE(time_of(model, notes.placed[i - 1].at),
              time_of(model, notes.placed[i].at));
  }
}

TEST(Notes, OfTheCommandLine) {
  const Model model = small();
  std::string why;
  const auto note = parse_note(model, "3:reduce=why = slow?", why);
  ASSERT_TRUE(note) << why;
  EXPECT_EQ(note->text, "why = slow?");
  EXPECT_EQ(place_words(model, note->at), "step 3 · reduce");
  EXPECT_FALSE(parse_note(model, "3:reduce", why));
  EXPECT_EQ(why, "'3:reduce' has no '='; fix: write STEP[:PHASE]=text");
  EXPECT_FALSE(parse_note(model, "3:lunch=x", why));
  EXPECT_NE(why.find("lunch"), std::string::npos);
}

TEST(Notes, WhatAreNoNotesIsSaid) {
  const Model model = small();
  for (const char* text :
       {"", "[]", "{", R"({"notes":3})", R"({"notes":[4]})",
        R"({"notes":[{"at":"3"}]})", R"({"notes":[{"text":"x"}]})"}) {
    EXPECT_THROW(read_notes(model, text), std::runtime_error) << text;
  }
}

}  // namespace
}  // namespace lockstep::gui
