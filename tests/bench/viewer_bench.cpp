// Measures how fast the viewer's model opens and navigates a large trace, and its
// memory use. Prints results; checks no limits.
//   viewer_bench [EVENTS] [--python] [--keep FILE.json]
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "gui/model/loader.h"
#include "gui/model/state.h"
#include "tests/bench/viewer_frames.h"
#include "tests/bench/viewer_trace.h"

namespace {

using namespace lockstep;  // NOLINT

struct Seconds {
  double wall = 0, cpu = 0;
};

Seconds now() {
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(wall).count(),
          static_cast<double>(cpu.tv_sec) + 1e-9 * static_cast<double>(cpu.tv_nsec)};
}

Seconds since(const Seconds& begin) {
  const Seconds end = now();
  return {end.wall - begin.wall, end.cpu - begin.cpu};
}

Seconds best(const Seconds& a, const Seconds& b) {
  return {std::min(a.wall, b.wall), std::min(a.cpu, b.cpu)};
}

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

void print_speed(const char* what, const Seconds& seconds, size_t bytes,
                 size_t events) {
  const double megabytes = static_cast<double>(bytes) * 1e-6;
  fmt::print(
      "{:<16} {:7.3f} s wall {:7.3f} s CPU  {:6.0f} MB/s  {:5.2f} M events/s "
      "(of CPU time)\n",
      what, seconds.wall, seconds.cpu, megabytes / seconds.cpu,
      static_cast<double>(events) * 1e-6 / seconds.cpu);
}

gui::Model load(const std::string& text, int times) {
  Seconds read{1e9, 1e9}, whole{1e9, 1e9};
  gui::Model model;
  for (int i = 0; i < times; ++i) {
    model = gui::Model();
    const Seconds begin = now();
    gui::Loader loader("made.json", text);
    while (!loader.read(SIZE_MAX)) {
    }
    read = best(read, since(begin));
    model = loader.finish();
    whole = best(whole, since(begin));
  }
  const size_t events = model.events.size();
  print_speed("read", read, text.size(), events);
  print_speed("read + finish", whole, text.size(), events);
  const auto resident = static_cast<double>(gui::resident_bytes(model));
  fmt::print(
      "resident         {:.1f} B per event; text {:.0f} B per event; peak {:.2f} "
      "of the text\n",
      resident / static_cast<double>(events),
      static_cast<double>(text.size()) / static_cast<double>(events),
      peak_bytes() / static_cast<double>(text.size()));
  return model;
}

/// Calls `act` with random positions of the trace.
void latency(const char* what, const gui::Model& model,
             const std::function<void(const gui::Position&, int)>& act) {
  uint64_t random = 7;
  double sum = 0, most = 0;
  constexpr int kTimes = 4000;
  for (int i = 0; i < kTimes; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    gui::Position position = gui::at_event(
        model, static_cast<uint32_t>((random >> 20) % model.events.size()));
    if (i % 2 == 1) position = gui::in_time_order(model, position);
    const Seconds begin = now();
    act(position, i);
    const double seconds = since(begin).cpu;
    sum += seconds;
    most = std::max(most, seconds);
  }
  fmt::print("{:<16} {:8.4f} ms mean {:8.4f} ms most\n", what, 1e3 * sum / kTimes,
             1e3 * most);
}

void python(const std::string& file) {
  const std::string command = fmt::format(
      "python3 -c \"import json, time; b = time.process_time(); t = "
      "json.load(open('{}')); e = time.process_time() - b; print('Python json.load', "
      "round(e, 3), 's CPU')\"",
      file);
  if (std::system(command.c_str()) != 0) fmt::print("Python json.load: did not run\n");
}

}  // namespace

constexpr const char* kUsage =
    "Usage: viewer_bench [EVENTS] [--python] [--keep FILE]\n"
    "Measures how fast the viewer loads, moves in and draws a made trace.\n"
    "  EVENTS       number of events, 1 to 1,000,000,000 (default 5000000)\n"
    "  --python     also measure json.load of Python, on the same file\n"
    "  --keep FILE  write the trace to FILE\n";

int main(int argc, char** argv) {
  bench::TraceSize size;
  size.events = 5'000'000;
  std::string keep;
  bool compare = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      fmt::print("{}", kUsage);
      return 0;
    }
    if (word == "--python") {
      compare = true;
    } else if (word == "--keep" && i + 1 < argc) {
      keep = argv[++i];
    } else {
      const char* end = word.data() + word.size();
      const auto read = std::from_chars(word.data(), end, size.events);
      const bool number = read.ec == std::errc() && read.ptr == end;
      if (!number || size.events < 1 || size.events > 1'000'000'000) {
        fmt::print(stderr, "viewer_bench: '{}' is not understood; fix: see --help\n",
                   word);
        return 2;
      }
    }
  }
  const std::string text = bench::make_trace(size);
  fmt::print("{} MB, at least {} events\n", text.size() / 1'000'000, size.events);
  if (compare && keep.empty()) keep = "viewer_bench.json";
  if (!keep.empty()) std::ofstream(keep, std::ios::binary) << text;

  gui::Model model = load(text, 5);
  uint64_t sink = 0;
  latency("state_at", model, [&](const gui::Position& position, int) {
    sink += gui::state_at(model, position).event;
  });
  latency("moved", model, [&](const gui::Position& position, int i) {
    sink += gui::moved(model, position, static_cast<gui::Move>(i / 2 % 14)).place;
  });
  fmt::print("{} steps, {} lanes, {}\n", model.steps.size(), model.lanes.size(), sink);
  bench::measure_frames(std::move(model));
  if (compare) python(keep);
  return 0;
}
