// Measures a step's duration and the machine's foreign CPU use in the same way for all
// peers. Prints the JSON line that run.py reads.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::bench {

class StepMeter {
 public:
  void begin();
  void end();  // adds one sample

  // Keys median_s, samples, foreign, cpu (this process's CPU seconds in each sample),
  // peak_rss_mib. Peers add their own keys.
  nlohmann::ordered_json report() const;

 private:
  struct Reading {
    double wall;  // seconds, CLOCK_MONOTONIC
    double busy;  // CPU seconds of the whole machine, /proc/stat (steal included)
    double own;   // CPU seconds of this process
  };
  static Reading read();

  Reading start_{};
  std::vector<double> seconds_, cpu_;
  std::vector<double> foreign_;  // share of all cores, 0 ... 1
};

double peak_rss_mib();

// Parses "--name value" pairs. Throws std::runtime_error for unknown names and missing
// values; `defaults` defines the names.
nlohmann::ordered_json parse_flags(int argc, char** argv,
                                   nlohmann::ordered_json defaults);

}  // namespace lockstep::bench
