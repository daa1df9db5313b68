// The metrics that a training loop prints, in the format of the ImageNet example.
// Source: pytorch/examples, imagenet/main.py.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::train {

/// The latest value and the running mean of a quantity.
class AverageMeter {
 public:
  /// `format` is a fmt format specification for one number, such as `:6.3f`.
  AverageMeter(std::string name, std::string format)
      : name_(std::move(name)), format_(std::move(format)) {}

  void update(double value, int64_t weight = 1);
  double average() const { return count_ ? sum_ / static_cast<double>(count_) : 0; }
  double value() const { return value_; }
  std::string str() const;  ///< `Loss 2.3026e+00 (2.3026e+00)`

 private:
  std::string name_, format_;
  double value_ = 0, sum_ = 0;
  int64_t count_ = 0;
};

inline void AverageMeter::update(double value, int64_t weight) {
  value_ = value;
  sum_ += value * static_cast<double>(weight);
  count_ += weight;
}

inline std::string AverageMeter::str() const {
  const std::string number = "{" + format_ + "}";
  return name_ + " " + fmt::format(fmt::runtime(number), value_) + " (" +
         fmt::format(fmt::runtime(number), average()) + ")";
}

/// Returns `Epoch: [0][ 10/391]` followed by the meters, separated by tabs.
inline std::string progress_line(const std::string& prefix, int64_t batch,
                                 int64_t batches,
                                 const std::vector<const AverageMeter*>& meters) {
  const std::string total = std::to_string(batches);
  std::string line = fmt::format("{}[{:>{}}/{}]", prefix, batch, total.size(), total);
  for (const AverageMeter* meter : meters) line += "\t" + meter->str();
  return line;
}

}  // namespace lockstep::train
