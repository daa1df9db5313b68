// How long one re-timing takes: what a slider waits for.
//
//     retime_bench TRACE [RANKS …]       # a trace of one device, such as ResNet50's
//
// Prints medians of the CPU time (of one thread) of 51 re-timings with another
// bandwidth each, of the program without messages (also with another number of ranks
// each) and, up to 64 ranks, of the program with all of them, constructed, re-timed and
// written to memory.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

#include "tracer/analysis/steps.h"
#include "tracer/emulate/symmetric/symmetric_ddp.h"

using namespace lockstep::tracer;

namespace {

double median_ms(int runs, const std::function<void(int)>& run) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const std::clock_t begin = std::clock();
    run(i);
    times.push_back(1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[static_cast<size_t>(runs / 2)];
}

EmulateOptions link_of(int i) {
  EmulateOptions options;
  options.link.gb_per_s = 1 + 0.37 * i;  // chunks whose times differ, too
  return options;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: retime_bench TRACE [RANKS …]\n");
    return 2;
  }
  const Trace trace = read_trace(words[1]);
  std::vector<int> ranks;
  for (int i = 2; i < count; ++i) ranks.push_back(std::atoi(words[i]));
  if (ranks.empty()) ranks = {4, 16, 64, 256, 1024};
  std::printf("%8s%18s%18s%18s\n", "ranks", "re-time ms", "other ranks ms",
              "all events ms");
  for (const int n : ranks) {
    ConstructedProgram program;
    program.devices = n;
    const SymmetricDdp ddp(trace, program);
    int64_t sum = 0;
    const double again =
        median_ms(51, [&](int i) { sum += ddp.retime(link_of(i)).length; });
    const double other = median_ms(21, [&](int i) {
      sum += SymmetricDdp(trace, program).retime(link_of(i)).length;
    });
    std::printf("%8d%18.2f%18.2f", n, again, other);
    if (n <= kMostDevices) {
      const double all = median_ms(3, [&](int i) {
        sum += static_cast<int64_t>(
            trace_text(emulate(construct_ddp(trace, program), link_of(i))).size());
      });
      std::printf("%18.1f", all);
    }
    std::printf("\n");
    std::fflush(stdout);
    if (sum == 0) return 1;
  }
  return 0;
}
