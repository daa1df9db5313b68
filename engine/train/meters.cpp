#include "engine/train/meters.h"

#include <fmt/format.h>

namespace lockstep::train {

void AverageMeter::update(double value, int64_t weight) {
  value_ = value;
  sum_ += value * static_cast<double>(weight);
  count_ += weight;
}

std::string AverageMeter::str() const {
  const std::string number = "{" + format_ + "}";
  return name_ + " " + fmt::format(fmt::runtime(number), value_) + " (" +
         fmt::format(fmt::runtime(number), average()) + ")";
}

std::string progress_line(const std::string& prefix, int64_t batch, int64_t batches,
                          const std::vector<const AverageMeter*>& meters) {
  const std::string total = std::to_string(batches);
  std::string line = fmt::format("{}[{:>{}}/{}]", prefix, batch, total.size(), total);
  for (const AverageMeter* meter : meters) line += "\t" + meter->str();
  return line;
}

}  // namespace lockstep::train
