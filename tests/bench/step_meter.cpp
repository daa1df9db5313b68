#include "step_meter.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace lockstep::bench {
namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// user nice system idle iowait irq softirq steal (guest is inside user)
double machine_busy_seconds() {
  std::ifstream stat("/proc/stat");
  std::string cpu;
  double field[8] = {};
  stat >> cpu;
  for (double& f : field) stat >> f;
  if (!stat) throw std::runtime_error("/proc/stat is unreadable: no foreign share");
  const double jiffies =
      field[0] + field[1] + field[2] + field[5] + field[6] + field[7];
  return jiffies / double(sysconf(_SC_CLK_TCK));
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  const size_t half = v.size() / 2;
  return v.size() % 2 ? v[half] : (v[half - 1] + v[half]) / 2;
}

}  // namespace

StepMeter::Reading StepMeter::read() {
  return {seconds_of(CLOCK_MONOTONIC), machine_busy_seconds(),
          seconds_of(CLOCK_PROCESS_CPUTIME_ID)};
}

void StepMeter::begin() { start_ = read(); }

void StepMeter::end() {
  const Reading now = read();
  const double elapsed = now.wall - start_.wall;
  const double others = (now.busy - start_.busy) - (now.own - start_.own);
  const double capacity = elapsed * double(sysconf(_SC_NPROCESSORS_ONLN));
  seconds_.push_back(elapsed);
  cpu_.push_back(now.own - start_.own);
  foreign_.push_back(std::clamp(others / capacity, 0.0, 1.0));
}

nlohmann::ordered_json StepMeter::report() const {
  return {{"median_s", median(seconds_)},
          {"samples", seconds_},
          {"foreign", foreign_},
          {"cpu", cpu_},
          {"peak_rss_mib", peak_rss_mib()}};
}

double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) / 1024;
}

nlohmann::ordered_json parse_flags(int argc, char** argv,
                                   nlohmann::ordered_json flags) {
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0 || !flags.contains(name.substr(2)))
      throw std::runtime_error("unknown flag " + name + "; flags are " + flags.dump());
    if (i + 1 == argc) throw std::runtime_error(name + " needs a value");
    auto& slot = flags[name.substr(2)];
    if (slot.is_number_integer())
      slot = std::stoi(argv[i + 1]);
    else if (slot.is_number_float())
      slot = std::stod(argv[i + 1]);
    else
      slot = argv[i + 1];
  }
  return flags;
}

}  // namespace lockstep::bench
