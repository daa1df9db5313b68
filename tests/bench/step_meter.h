// One clock for all peers: how long a step took, and how much of the machine
// somebody else had meanwhile. Prints the JSON line that run.py reads.
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
  // peak_rss_mib; a peer adds its own beside them.
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

// "--name value" pairs. Unknown names and missing values throw
// std::runtime_error; `defaults` lists what there is.
nlohmann::ordered_json parse_flags(int argc, char** argv,
                                   nlohmann::ordered_json defaults);

}  // namespace lockstep::bench
