// Invariants of every Model, for any file.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "gui/model/loader.h"
#include "gui/model/raw_model.h"
#include "tests/tracer/golden.h"
#include "tracer/format/file_io.h"

namespace lockstep::gui::test {

using tracer::testing::golden;
using tracer::testing::minimal_path;

inline Model load_file(const std::string& path) {
  return load_model(path, tracer::read_whole_file(path));
}

/// A trace that consists of these events.
inline std::string trace_of(const std::string& events) {
  return R"({"traceEvents":[)" + events + "]}";
}

/// An `X` event; `more` starts with a comma.
inline std::string x_event(const std::string& ts, const std::string& dur,
                           const std::string& args, const std::string& more = "") {
  return R"({"ph":"X","cat":"op","name":"a","pid":0,"tid":0,"ts":)" + ts +
         R"(,"dur":)" + dur + R"(,"args":{)" + args + "}" + more + "}";
}

inline Model load_events(const std::string& events) {
  return load_model("made.json", trace_of(events));
}

inline bool is_permutation(const std::vector<uint32_t>& places) {
  std::vector<bool> seen(places.size());
  for (const uint32_t place : places) {
    if (place >= places.size() || seen[place]) return false;
    seen[place] = true;
  }
  return true;
}

inline void expect_valid_event(const Model& m, uint32_t i) {
  const Event& event = m.events[i];
  ASSERT_LT(event.lane, m.lanes.size());
  ASSERT_LT(event.name, m.strings.size());
  ASSERT_LT(event.phase, m.phases.size());
  ASSERT_LT(event.text, m.text.size());
  ASSERT_EQ(m.text[event.text], '{');
  ASSERT_GE(event.ts, 0);
  ASSERT_GE(event.dur, 0);
  ASSERT_LE(event.end(), m.length);
  ASSERT_LE(event.kind, static_cast<uint64_t>(Kind::other));
  ASSERT_LT(event.order, m.program.size());
  ASSERT_EQ(m.program[event.order], i);
  ASSERT_GT(event.last, event.order);
  ASSERT_LE(event.last, m.program.size());
  if (event.parent != kNoEvent) {
    ASSERT_LT(event.parent, i) << "a parent is an earlier event";
    const Event& parent = m.events[event.parent];
    ASSERT_GT(event.order, parent.order);
    ASSERT_LE(event.last, parent.last);
  }
  if (i > 0) {
    EXPECT_FALSE(comes_before(event, m.events[i - 1])) << "not sorted";
  }
}

inline void expect_valid_lanes(const Model& m) {
  std::vector<bool> seen(m.events.size());
  size_t events = 0;
  for (size_t number = 0; number < m.lanes.size(); ++number) {
    const Lane& lane = m.lanes[number];
    ASSERT_FALSE(lane.events.empty());
    ASSERT_TRUE(std::is_sorted(lane.events.begin(), lane.events.end()));
    ASSERT_GE(lane.device, kHostDevice);
    ASSERT_LT(lane.device, static_cast<int>(m.devices.size()));
    ASSERT_GE(lane.rank, 0);
    for (const uint32_t i : lane.events) {
      ASSERT_LT(i, m.events.size());
      ASSERT_EQ(m.events[i].lane, number);
      if (m.events[i].what() != Kind::mark) {
        ASSERT_LT(static_cast<int>(m.events[i].row), lane.rows);
      }
      ASSERT_FALSE(seen[i]);
      seen[i] = true;
    }
    events += lane.events.size();
  }
  ASSERT_EQ(events, m.events.size());
}

inline void expect_valid_copies(const Model& m) {
  ASSERT_EQ(m.ports.size(), m.devices.size() + 1);
  size_t copies = 0;
  for (const Event& event : m.events) copies += event.what() == Kind::copy;
  ASSERT_EQ(m.copies.size(), copies);
  for (size_t i = 0; i < m.copies.size(); ++i) {
    const Copy& copy = m.copies[i];
    ASSERT_LT(copy.event, m.events.size());
    ASSERT_EQ(m.events[copy.event].what(), Kind::copy);
    ASSERT_EQ(m.copy_of(copy.event), &copy);
    ASSERT_LT(copy.why, m.strings.size());
    ASSERT_GE(copy.bytes, 0);
    for (const int16_t end : {copy.src, copy.dst}) {
      ASSERT_GE(end, kHostDevice);
      ASSERT_LT(end, static_cast<int>(m.devices.size()));
    }
  }
  size_t points = 0;
  for (const Port& port : m.ports) {
    points += port.points.size();
    for (size_t i = 1; i < port.points.size(); ++i) {
      ASSERT_LE(port.points[i - 1].ts, port.points[i].ts);
      ASSERT_LE(port.points[i - 1].in, port.points[i].in);
      ASSERT_LE(port.points[i - 1].out, port.points[i].out);
    }
  }
  ASSERT_EQ(points, 2 * m.copies.size());
}

inline void expect_valid_steps(const Model& m) {
  ASSERT_FALSE(m.steps.empty());
  for (size_t i = 0; i < m.steps.size(); ++i) {
    const Step& step = m.steps[i];
    ASSERT_LE(step.begin, step.end);
    ASSERT_LE(step.end, m.length);
    if (i > 0) {
      ASSERT_LE(m.steps[i - 1].begin, step.begin);
    }
    if (step.event == kNoEvent) {
      ASSERT_EQ(m.steps.size(), 1u);
      continue;
    }
    ASSERT_LT(step.event, m.events.size());
    ASSERT_EQ(m.events[step.event].what(), Kind::step);
  }
}

inline void expect_valid_places(const Model& m) {
  size_t movements = 0, phases = 0;
  for (const Event& event : m.events) {
    const Kind kind = event.what();
    movements += kind == Kind::copy || kind == Kind::collective;
    phases += kind == Kind::phase || kind == Kind::step;
  }
  ASSERT_EQ(m.movements.size(), movements);
  ASSERT_EQ(m.phase_places.size(), phases);
  ASSERT_TRUE(std::is_sorted(m.movements.begin(), m.movements.end()));
  ASSERT_TRUE(std::is_sorted(m.phase_places.begin(), m.phase_places.end()));
  for (const uint32_t place : m.movements) ASSERT_LT(place, m.program.size());
  for (const uint32_t place : m.phase_places) ASSERT_LT(place, m.program.size());
}

inline void expect_valid(const Model& m) {
  ASSERT_FALSE(m.events.empty());
  ASSERT_EQ(m.program.size(), m.events.size());
  ASSERT_TRUE(is_permutation(m.program));
  ASSERT_EQ(m.events.front().ts, 0);
  ASSERT_GT(m.length, 0);
  ASSERT_LE(m.length, kMaxSpan);
  for (uint32_t i = 0; i < m.events.size(); ++i) {
    expect_valid_event(m, i);
    if (::testing::Test::HasFatalFailure()) return;
  }
  for (const uint32_t name : m.phases) ASSERT_LT(name, m.strings.size());
  for (const uint32_t i : m.dense_ids) {
    if (i != kNoEvent) {
      ASSERT_LT(i, m.events.size());
    }
  }
  for (const auto& [id, i] : m.sparse_ids) ASSERT_LT(i, m.events.size());
  for (const Device& device : m.devices) {
    ASSERT_TRUE(
        std::is_sorted(device.memory.begin(), device.memory.end(),
                       [](const auto& a, const auto& b) { return a.ts < b.ts; }));
    for (const auto& counter : device.memory) ASSERT_LT(counter.text, m.text.size());
  }
  expect_valid_lanes(m);
  expect_valid_copies(m);
  expect_valid_steps(m);
  expect_valid_places(m);
}

}  // namespace lockstep::gui::test
