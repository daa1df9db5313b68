// The numbers of the timeline's tracks against plain loops over the events, and against
// what the stage shows of the same moment.
#include "gui/model/tracks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "gui/model/loader.h"
#include "gui/model/memory.h"
#include "tracer/format/file_io.h"

namespace lockstep::gui {
namespace {

constexpr const char* kTrackTraces[] = {"single", "dp", "ddp", "memory_dp",
                                        "dp_features"};

/// A trace of tests/golden/viewer, with the file that it refers to.
struct TrackTrace {
  explicit TrackTrace(const std::string& name)
      : text(tracer::open_file_text(std::string(LOCKSTEP_SOURCE_DIR) +
                                    "/tests/golden/viewer/" + name + ".json.gz")),
        model(load_model(name, std::string(text.text))) {}
  tracer::FileText text;
  Model model;
};

std::vector<int64_t> moments_of(const Model& model) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int64_t> any(-5, model.length + 5);
  std::vector<int64_t> times;
  for (int i = 0; i < 150; ++i) {
    times.push_back(any(random));
    const Event& event = model.events[random() % model.events.size()];
    for (const int64_t ts : {int64_t{event.ts}, event.end()}) {
      for (const int64_t off : {-1, 0, 1}) times.push_back(ts + off);
    }
  }
  return times;
}

TEST(Tracks, MemoryIsWhatTheStageShows) {
  for (const char* name : kTrackTraces) {
    const TrackTrace trace(name);
    for (const Device& device : trace.model.devices) {
      const MemorySeries queued = memory_series(trace.model, device, true);
      const MemorySeries reached = memory_series(trace.model, device, false);
      EXPECT_EQ(reached.empty(), !knows_memory_order(device)) << name;
      for (const int64_t ts : moments_of(trace.model)) {
        EXPECT_EQ(queued.at(queued.point_at(ts)).bytes,
                  memory_queued(trace.model, device, ts).bytes)
            << name << " " << ts;
        if (reached.empty()) continue;
        EXPECT_EQ(reached.at(reached.point_at(ts)).bytes,
                  memory_reached(device, ts).bytes)
            << name << " " << ts;
      }
    }
  }
}

TEST(Tracks, TheLargestOfAnyPartIsThatOfALoop) {
  std::mt19937 random(3);
  for (const size_t size : {1u, 2u, 15u, 16u, 17u, 256u, 257u, 5000u}) {
    MemorySeries series;
    for (size_t i = 0; i < size; ++i) {
      Memory memory;
      memory.bytes[random() % memory.bytes.size()] = random() % 50;
      series.add(static_cast<int64_t>(10 * i), memory);
    }
    series.close();
    ASSERT_EQ(series.size(), size);
    for (int i = 0; i < 300; ++i) {
      size_t first = random() % size, last = random() % size;
      if (first > last) std::swap(first, last);
      size_t best = first;
      for (size_t p = first; p <= last; ++p) {
        if (series.at(p).total() > series.at(best).total()) best = p;
      }
      EXPECT_EQ(series.largest(first, last), best) << size;
      EXPECT_EQ(series.total(best), series.at(best).total());
    }
  }
}

TEST(Tracks, ManyTimesAtOnceGiveTheSameAsOneByOne) {
  for (const char* name : kTrackTraces) {
    const TrackTrace trace(name);
    const Model& model = trace.model;
    std::vector<int64_t> times = moments_of(model);
    times.insert(times.end(), {model.length, model.length});  // a column below 1 ns
    std::sort(times.begin(), times.end());
    for (const Device& device : model.devices) {
      const MemorySeries series = memory_series(model, device, true);
      const std::vector<size_t> points = series.largest_between(times);
      ASSERT_EQ(points.size(), times.size() - 1);
      for (size_t i = 0; i < points.size(); ++i) {
        const int64_t end = std::max(times[i + 1], times[i] + 1);
        EXPECT_EQ(points[i],
                  series.largest(series.point_at(times[i]), series.point_at(end - 1)));
      }
      const std::vector<Memory> memory = series.at_each(points);
      for (size_t i = 0; i < points.size(); ++i) {
        EXPECT_EQ(memory[i].bytes, series.at(points[i]).bytes);
      }
    }
    const BusySeries busy(model);
    const std::vector<double> device_times = busy.device_times(times);
    for (size_t i = 0; i < times.size(); ++i) {
      EXPECT_EQ(device_times[i], busy.device_time(times[i]));
    }
    for (const PortSeries& port : port_series(model)) {
      const std::vector<double> bytes = port.out.bytes_each(times);
      for (size_t i = 0; i < times.size(); ++i) {
        EXPECT_EQ(bytes[i], port.out.bytes(times[i]));
      }
    }
  }
}

TEST(Tracks, OfSeveralValuesOfOneTimeTheLastCounts) {
  MemorySeries series;
  Memory memory;
  for (const int64_t bytes : {10, 90, 20}) {
    memory.bytes[0] = bytes;
    series.add(bytes == 10 ? 0 : 5, memory);
  }
  series.close();
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series.total(1), 20) << "90 were never live at any time";
}

int busy_devices(const Model& model, int64_t ts) {
  std::set<int> busy;
  for (const Event& event : model.events) {
    if (event.what() != Kind::kernel || event.ts > ts || event.end() <= ts) continue;
    busy.insert(model.lanes[event.lane].device);
  }
  return static_cast<int>(busy.size());
}

TEST(Tracks, BusyDevicesAreThoseWithAKernel) {
  for (const char* name : kTrackTraces) {
    const TrackTrace trace(name);
    const Model& model = trace.model;
    const BusySeries busy(model);
    for (const int64_t ts : moments_of(model)) {
      EXPECT_EQ(busy.count(ts), busy_devices(model, ts)) << name << " " << ts;
    }
    // Streams run one kernel at a time here: the mean over the trace is their sum.
    double sum = 0;
    for (const Event& event : model.events) {
      if (event.what() == Kind::kernel) sum += static_cast<double>(event.dur);
    }
    const auto length = static_cast<double>(model.length);
    EXPECT_NEAR(busy.mean(0, model.length), sum / length, 1e-9) << name;
  }
}

TEST(Tracks, TheMeanOfBusyDevicesIsExact) {
  const TrackTrace trace("dp");
  const Model& model = trace.model;
  const BusySeries busy(model);
  std::mt19937 random(1);
  std::uniform_int_distribution<int64_t> any(0, model.length);
  for (int i = 0; i < 60; ++i) {
    const int64_t t0 = any(random), t1 = t0 + 1 + any(random) / 50;
    double sum = 0;
    for (const Event& event : model.events) {
      if (event.what() != Kind::kernel) continue;
      sum += static_cast<double>(std::max<int64_t>(
          0, std::min(event.end(), t1) - std::max<int64_t>(event.ts, t0)));
    }
    EXPECT_NEAR(busy.mean(t0, t1), sum / static_cast<double>(t1 - t0), 1e-6);
  }
}

TEST(Tracks, BytesPerSecondAreThoseOfTheCopies) {
  for (const char* name : kTrackTraces) {
    const TrackTrace trace(name);
    const Model& model = trace.model;
    const std::vector<PortSeries> ports = port_series(model);
    ASSERT_EQ(ports.size(), model.devices.size());
    const std::vector<int64_t> times = moments_of(model);
    for (size_t d = 0; d < ports.size(); ++d) {
      for (size_t i = 1; i < 60; ++i) {
        const int64_t t0 = std::min(times[i - 1], times[i]);
        const int64_t t1 = std::max(times[i - 1], times[i]) + 1;
        double out = 0, in = 0;
        for (const Copy& copy : model.copies) {
          const Event& event = model.events[copy.event];
          const int64_t end = std::max(event.end(), event.ts + 1);
          const auto part = static_cast<double>(std::max<int64_t>(
              0, std::min(end, t1) - std::max<int64_t>(event.ts, t0)));
          const double bytes = static_cast<double>(copy.bytes) * part /
                               static_cast<double>(end - event.ts);
          if (copy.src == static_cast<int>(d)) out += bytes;
          if (copy.dst == static_cast<int>(d)) in += bytes;
        }
        const double seconds = static_cast<double>(t1 - t0) * 1e-9;
        EXPECT_NEAR(ports[d].out.rate(t0, t1) * seconds, out, 1e-6 * out + 1e-3);
        EXPECT_NEAR(ports[d].in.rate(t0, t1) * seconds, in, 1e-6 * in + 1e-3) << name;
      }
      const Port& whole = model.ports[d];
      if (whole.points.empty()) continue;
      EXPECT_EQ(ports[d].out.bytes(model.length + 1),
                static_cast<double>(whole.points.back().out));
      EXPECT_EQ(ports[d].in.bytes(model.length + 1),
                static_cast<double>(whole.points.back().in));
    }
  }
}

TEST(Tracks, OverlappingTransfersAddUp) {
  const RateSeries rate({{0, 100, 1000}, {50, 150, 500}, {150, 150, 8}});
  EXPECT_DOUBLE_EQ(rate.bytes(50), 500);
  EXPECT_DOUBLE_EQ(rate.bytes(100), 1250);
  EXPECT_DOUBLE_EQ(rate.bytes(150), 1500);
  EXPECT_DOUBLE_EQ(rate.bytes(151), 1508);
  EXPECT_DOUBLE_EQ(rate.rate(50, 100), 750 / 50e-9);
  EXPECT_DOUBLE_EQ(rate.rate(1000, 2000), 0);
  EXPECT_DOUBLE_EQ(RateSeries().rate(0, 1), 0);
}

/// Times in µs: the host queues a and b, which run later.
constexpr const char* kAllocations = R"({"lockstep":{"format":1,"clock":"measured",
"devices":[{"id":0}]},"traceEvents":[
{"ph":"X","cat":"phase","name":"step","pid":0,"tid":0,"ts":0,"dur":500,
 "args":{"id":1,"step":0}},
{"ph":"C","name":"memory","pid":1,"tid":0,"ts":1,"args":{"activations":0}},
{"ph":"X","cat":"op","name":"aten::a","pid":0,"tid":0,"ts":2,"dur":8,"args":{"id":2}},
{"ph":"C","name":"memory","pid":1,"tid":0,"ts":4,"args":{"activations":24}},
{"ph":"X","cat":"op","name":"aten::b","pid":0,"tid":0,"ts":12,"dur":8,
 "args":{"id":3}},
{"ph":"C","name":"memory","pid":1,"tid":0,"ts":14,"args":{"activations":31}},
{"ph":"X","cat":"kernel","name":"a","pid":1,"tid":0,"ts":100,"dur":10,
 "args":{"id":4,"op":2,"device":0,"stream":0,"memory_counters":2}},
{"ph":"X","cat":"kernel","name":"b","pid":1,"tid":0,"ts":120,"dur":10,
 "args":{"id":5,"op":3,"device":0,"stream":0,"memory_counters":3}}]})";

TEST(Tracks, ThePeakNamesTheOpThatItWasAllocatedFor) {
  const Model model = load_model("made", kAllocations);
  for (const bool queued : {false, true}) {
    const MemorySeries series = memory_series(model, model.devices[0], queued);
    const size_t peak = series.peak();
    EXPECT_EQ(series.total(peak), 31);
    EXPECT_EQ(series.when(peak), queued ? 14'000 : 120'000);
    const Growth growth = growth_at(model, 0, series, peak, queued);
    EXPECT_EQ(growth.bytes, 7);
    EXPECT_EQ(growth.category, 3u);
    ASSERT_NE(growth.op, kNoEvent);
    EXPECT_EQ(model.name_of(model.events[growth.op]), "aten::b") << queued;
    EXPECT_EQ(growth_at(model, 0, series, 0, queued).bytes, 0);
  }
}

TEST(Tracks, AnOpThatIsNotCertainIsNotNamed) {
  // A second thread is in an op with work for the device, too.
  std::string two = kAllocations;
  const std::string other =
      R"({"ph":"X","cat":"op","name":"aten::c","pid":0,"tid":9,"ts":11,"dur":9,
"args":{"id":8}},{"ph":"X","cat":"kernel","name":"c","pid":1,"tid":0,"ts":140,"dur":10,
"args":{"id":9,"op":8,"device":0,"stream":0,"memory_counters":3}},)";
  two.insert(two.find(R"({"ph":"X","cat":"op","name":"aten::b")"), other);
  const Model model = load_model("made", two);
  const MemorySeries series = memory_series(model, model.devices[0], true);
  EXPECT_EQ(growth_at(model, 0, series, series.peak(), true).op, kNoEvent);
}

}  // namespace
}  // namespace lockstep::gui
