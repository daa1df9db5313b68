// Compares the pyramid with a scan of all events.
#include "gui/model/lod.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "gui/model/loader.h"

namespace lockstep::gui {
namespace {

using Random = std::mt19937_64;

int64_t logarithmic(Random& random, double most) {
  return static_cast<int64_t>(
      std::pow(most, std::uniform_real_distribution<>(0, 1)(random)));
}

void add_event(std::string& json, int tid, int64_t ts, int64_t dur, int name) {
  if (!json.empty()) json += ',';
  const auto us = [](int64_t ns) {
    std::string digits = std::to_string(ns % 1000);
    digits.insert(0, 3 - digits.size(), '0');
    return std::to_string(ns / 1000) + "." + digits;
  };
  const bool mark = dur < 0;
  json += R"({"ph":")" + std::string(mark ? "i" : "X") + R"(","cat":")" +
          (mark            ? "mark"
           : name % 3 == 0 ? "call"
                           : "op") +
          R"(","name":"n)" + std::to_string(name) + R"(","pid":0,"tid":)" +
          std::to_string(tid) + R"(,"ts":)" + us(ts) +
          (mark ? "" : R"(,"dur":)" + us(dur)) + R"(,"args":{}})";
}

/// Lane 0: bursts of every size; 1: nested calls with marks; 2: events that overlap
/// beyond the deepest row; 3: a single event; 4: all events at once.
Model random_model(uint64_t seed) {
  Random random(seed);
  std::string json;
  int64_t at = 0;
  for (int i = 0; i < 3000; ++i) {
    const int64_t dur = random() % 9 == 0 ? 0 : logarithmic(random, 1e5);
    add_event(json, 0, at, dur, static_cast<int>(random() % 7));
    at += dur + (random() % 3 == 0 ? logarithmic(random, 1e6) : 0);
  }
  const auto nest = [&](const auto& self, int64_t from, int64_t to, int depth) -> void {
    for (int64_t t = from; t < to;) {
      const int64_t dur = std::min(to - t, 1 + logarithmic(random, double(to - from)));
      add_event(json, 1, t, dur, static_cast<int>(random() % 7));
      if (random() % 4 == 0) add_event(json, 1, t + dur / 2, -1, 9);
      if (depth < 5) self(self, t, t + dur * 3 / 4, depth + 1);
      t += dur + logarithmic(random, double(to - from));
    }
  };
  nest(nest, 0, at, 0);
  for (int i = 0; i < 300; ++i)
    add_event(json, 2, 10 * i, 100'000 + 7 * (i % 11), i % 7);
  add_event(json, 3, 5, 17, 1);
  for (int i = 0; i < 100; ++i) add_event(json, 4, 777, 0, 1);
  return load_model("made.json", R"({"traceEvents":[)" + json + "]}");
}

struct Query {
  uint32_t lane, depth;
  int64_t t0, t1, resolution;
};

Query any_query(const Model& model, const Lod& lod, Random& random) {
  Query q{};
  q.lane = static_cast<uint32_t>(random() % model.lanes.size());
  q.depth = static_cast<uint32_t>(random() % lod.depth(q.lane));
  const auto length = static_cast<uint64_t>(model.length);
  q.t0 = static_cast<int64_t>(random() % length) - 10;
  q.t1 = q.t0 + logarithmic(random, static_cast<double>(model.length));
  q.resolution = logarithmic(random, static_cast<double>(model.length)) - 1;
  return q;
}

/// The events of a row, without the pyramid.
std::vector<uint32_t> row_of(const Model& model, uint32_t lane, uint32_t depth) {
  std::vector<uint32_t> row;
  for (const uint32_t event : model.lanes[lane].events) {
    if (model.events[event].row == depth) row.push_back(event);
  }
  return row;
}

TEST(Lod, RowsHoldEveryEventOnce) {
  const Model model = random_model(1);
  const Lod lod = build_lod(model);
  ASSERT_EQ(lod.places().size(), model.events.size());
  for (uint32_t lane = 0; lane < model.lanes.size(); ++lane) {
    size_t count = 0;
    for (uint32_t depth = 0; depth < lod.depth(lane); ++depth) {
      const auto row = lod.row(lane, depth);
      EXPECT_EQ(std::vector<uint32_t>(row.begin(), row.end()),
                row_of(model, lane, depth));
      count += row.size();
    }
    EXPECT_EQ(count, model.lanes[lane].events.size());
  }
  EXPECT_EQ(lod.row(0, 63).size(), 0u);
  EXPECT_EQ(lod.row(static_cast<uint32_t>(model.lanes.size()), 0).size(), 0u);
}

void expect_tight(const Model& model, const std::vector<uint32_t>& row,
                  const Span& span, const Query& q) {
  int64_t end = INT64_MIN;
  for (uint32_t place = span.first; place < span.first + span.count; ++place) {
    const Event& event = model.events[row[place]];
    EXPECT_GE(event.ts, span.begin);
    EXPECT_LE(event.end(), span.end);
    if (place > span.first) {
      EXPECT_LE(event.ts - end, q.resolution);
    }
    if (event.dur > q.resolution) {
      EXPECT_EQ(span.count, 1u);
    }
    end = std::max(end, event.end());
  }
  EXPECT_LE(span.end - end, q.resolution);
  EXPECT_EQ(span.begin, model.events[row[span.first]].ts);
  EXPECT_LE(span.density(), 1.001f);
}

TEST(Lod, SpansCoverEveryEventAndNoMore) {
  Random random(7);
  for (int seed = 0; seed < 4; ++seed) {
    const Model model = random_model(100 + seed);
    const Lod lod = build_lod(model);
    for (int i = 0; i < 400; ++i) {
      const Query q = any_query(model, lod, random);
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " query " << i);
      std::vector<Span> spans;
      LodBudget budget;
      ASSERT_TRUE(
          lod.spans(model, q.lane, q.depth, q.t0, q.t1, q.resolution, spans, budget));
      const std::vector<uint32_t> row = row_of(model, q.lane, q.depth);
      std::vector<bool> covered(row.size());
      const bool may_overlap = q.depth == kMaxRow;
      for (size_t s = 0; s < spans.size(); ++s) {
        if (s > 0) {
          EXPECT_GE(spans[s].begin, spans[s - 1].begin);
        }
        if (!may_overlap) expect_tight(model, row, spans[s], q);
        for (uint32_t p = 0; p < spans[s].count; ++p)
          covered[spans[s].first + p] = true;
      }
      for (size_t p = 0; p < row.size(); ++p) {
        const Event& event = model.events[row[p]];
        if (event.end() < q.t0 || event.ts > q.t1) continue;
        EXPECT_TRUE(covered[p]) << "event " << row[p];
      }
      if (HasFailure()) return;
    }
  }
}

TEST(Lod, ReturnsNoMoreThanCanBeSeen) {
  const Model model = random_model(3);
  const Lod lod = build_lod(model);
  for (const int64_t pixels : {10, 100, 1000}) {
    std::vector<Span> spans;
    LodBudget budget;
    const int64_t resolution = model.length / pixels;
    lod.spans(model, 0, 0, 0, model.length, resolution, spans, budget);
    EXPECT_LE(spans.size(), 2 * static_cast<size_t>(pixels) + 2);
    EXPECT_LT(SIZE_MAX - budget.visits, 60 * static_cast<size_t>(pixels) + 200);
  }
}

TEST(Lod, StopsWhenTheBudgetIsUsedUp) {
  const Model model = random_model(3);
  const Lod lod = build_lod(model);
  std::vector<Span> spans;
  LodBudget few{5, SIZE_MAX};
  EXPECT_FALSE(lod.spans(model, 0, 0, 0, model.length, 0, spans, few));
  EXPECT_EQ(spans.size(), 5u);
  spans.clear();
  LodBudget short_one{SIZE_MAX, 50};
  EXPECT_FALSE(lod.spans(model, 0, 0, 0, model.length, 0, spans, short_one));
  EXPECT_LE(spans.size(), 50u);
}

TEST(Lod, BusyTimeIsTheSumOfTheParts) {
  Random random(11);
  const Model model = random_model(5);
  const Lod lod = build_lod(model);
  for (int i = 0; i < 500; ++i) {
    const Query q = any_query(model, lod, random);
    if (q.depth == kMaxRow) continue;
    double expected = 0;
    for (const uint32_t index : row_of(model, q.lane, q.depth)) {
      const Event& event = model.events[index];
      expected += static_cast<double>(std::max<int64_t>(
          0, std::min(event.end(), q.t1) - std::max<int64_t>(event.ts, q.t0)));
    }
    EXPECT_NEAR(lod.busy(model, q.lane, q.depth, q.t0, q.t1), expected,
                1 + 1e-4 * static_cast<double>(q.t1 - q.t0))
        << "query " << i;
  }
}

TEST(Lod, FindsTheEventAtATime) {
  Random random(13);
  const Model model = random_model(6);
  const Lod lod = build_lod(model);
  for (int i = 0; i < 2000; ++i) {
    const Query q = any_query(model, lod, random);
    if (q.depth == kMaxRow) continue;
    const int64_t reach = q.resolution % 5000;
    int64_t nearest = INT64_MAX;
    for (const uint32_t index : row_of(model, q.lane, q.depth)) {
      const Event& event = model.events[index];
      nearest = std::min(nearest,
                         std::max<int64_t>({0, event.ts - q.t0, q.t0 - event.end()}));
    }
    const uint32_t found = lod.event_at(model, q.lane, q.depth, q.t0, reach);
    if (nearest > reach) {
      EXPECT_EQ(found, kNoEvent);
      continue;
    }
    ASSERT_NE(found, kNoEvent) << "query " << i;
    const Event& event = model.events[found];
    EXPECT_EQ(event.row, q.depth);
    EXPECT_EQ(event.lane, q.lane);
    EXPECT_EQ(std::max<int64_t>({0, event.ts - q.t0, q.t0 - event.end()}), nearest);
  }
}

TEST(Lod, MergesMoreOfTheSameButNotTheDifferent) {
  std::string json;
  for (int i = 0; i < 1000; ++i) add_event(json, 0, 100 * i, 95, i < 500 ? 1 : 3);
  const Model model = load_model("made.json", R"({"traceEvents":[)" + json + "]}");
  const Lod lod = build_lod(model);
  std::vector<Span> spans;
  LodBudget budget;
  lod.spans(model, 0, 0, 0, model.length, 1000, spans, budget);
  ASSERT_GE(spans.size(), 2u);
  EXPECT_LE(spans.size(), 4u);
  EXPECT_NEAR(spans.front().density(), 0.95, 0.03);
  EXPECT_NE(spans.front().look, spans.back().look);
  const uint32_t example = lod.examples()[spans.back().look];
  EXPECT_EQ(model.events[example].what(), Kind::call);
}

/// Two distant groups of different kinds keep their look when they are less than a
/// pixel wide.
TEST(Lod, BothSidesOfAGapKeepTheirLook) {
  std::string json;
  add_event(json, 0, 0, 40, 1);
  for (int i = 0; i < 6; ++i) add_event(json, 0, 900'000 + 100 * i, 90, 3);
  const Model model = load_model("made.json", R"({"traceEvents":[)" + json + "]}");
  const Lod lod = build_lod(model);
  std::vector<Span> spans;
  LodBudget budget;
  lod.spans(model, 0, 0, 0, model.length, 1000, spans, budget);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(SIZE_MAX - budget.visits, 1u) << "without visiting events";
  EXPECT_EQ(spans[0].look, lod.look_of(model, 0));
  EXPECT_EQ(spans[1].look, lod.look_of(model, 3));
  EXPECT_NE(spans[0].look, spans[1].look);
}

TEST(Lod, TakesLittleMemory) {
  std::string json;
  for (int i = 0; i < 20'000; ++i) add_event(json, i % 3, 10 * i, 9, i % 7);
  const Model model = load_model("made.json", R"({"traceEvents":[)" + json + "]}");
  EXPECT_LE(build_lod(model).bytes(), 7 * model.events.size());
}

}  // namespace
}  // namespace lockstep::gui
