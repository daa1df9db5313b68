#include "tracer/emulate/hardware/measured_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace lockstep::tracer {

const PhaseTable& table_of(const MeasuredDevice& device, const std::string& arch,
                           int64_t image_size) {
  std::vector<std::string> known;
  for (const PhaseTable& table : device.tables) {
    if (table.arch == arch && table.image_size == image_size) return table;
    known.push_back(fmt::format("{} with {}", table.arch, table.image_size));
  }
  throw std::runtime_error(
      fmt::format("the times of {} on {} with images of {} pixels are unknown; fix: "
                  "choose one of: {} pixels",
                  arch, device.name, image_size, fmt::join(known, ", ")));
}

PhaseTimes times_of(const MeasuredDevice& device, const PhaseTable& table,
                    int64_t batch) {
  const auto& batches = table.batches;
  const auto above = std::lower_bound(batches.begin(), batches.end(), batch);
  if (above == batches.end() || batch < batches[0]) {
    throw std::runtime_error(fmt::format(
        "the times of {} on {} with a batch of {} are unknown: they were measured with "
        "{}, and are not extrapolated; fix: choose a batch from {} to {} on each "
        "device",
        table.arch, device.name, batch, fmt::join(batches, ", "), batches.front(),
        batches.back()));
  }
  const size_t i = above - batches.begin();
  if (batches[i] == batch) return {table.forward_ms[i], table.backward_ms[i]};
  const auto from = static_cast<double>(batches[i - 1]);
  const double part =
      (static_cast<double>(batch) - from) / (static_cast<double>(batches[i]) - from);
  const auto between = [&](const std::vector<double>& ms) {
    return ms[i - 1] + part * (ms[i] - ms[i - 1]);
  };
  return {between(table.forward_ms), between(table.backward_ms)};
}

}  // namespace lockstep::tracer
