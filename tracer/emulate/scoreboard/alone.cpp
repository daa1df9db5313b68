#include "tracer/emulate/scoreboard/alone.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace lockstep::tracer {
namespace {

/// The batch of each device where no row of the table states one: the middle of those
/// that others use for ImageNet, 64 to 256.
constexpr double kAssumedBatch = 128;

bool is_speed(const PublishedRow& row) {
  return row.unit == Measure::seconds || row.unit == Measure::images ||
         row.unit == Measure::images_each;
}

/// How well a step on one device fits a row; the highest wins.
int likeness(const PublishedRow& one, const PublishedRow& row) {
  return 16 * (one.metric == row.metric) + 8 * (one.bucket_cap == row.bucket_cap) +
         4 * (one.notes == row.notes) + 2 * (one.sharing == row.sharing) +
         (one.role == row.role);
}

Alone from_row(const PublishedRow& one, double batch) {
  Alone alone;
  alone.batch = batch;
  alone.seconds = iteration_seconds(one, batch);
  alone.hooked = one.sharing == Sharing::ddp;
  alone.line = one.line;
  alone.resolution = one.resolution() / one.value;
  return alone;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds of both passes of a model, by device and batch.
struct PassTimes {
  double forward = 0, backward = 0;
};
using PassTable = std::map<std::pair<std::string, double>, PassTimes>;

PassTable pass_table(const std::vector<PublishedRow>& rows, const std::string& model) {
  PassTable table;
  for (const PublishedRow& row : rows) {
    if (row.role != "single-baseline" || row.model != model || !row.batch) continue;
    PassTimes& times = table[{row.gpu, *row.batch}];
    if (row.metric == "fwd_ms") times.forward = row.value;
    if (row.metric == "bwd_ms") times.backward = row.value;
  }
  std::erase_if(table, [](const auto& entry) {
    return entry.second.forward == 0 || entry.second.backward == 0;
  });
  return table;
}

std::string first_word(const std::string& text) {
  return text.substr(0, text.find(' '));
}

}  // namespace

double iteration_seconds(const PublishedRow& row, double batch) {
  switch (row.unit) {
    case Measure::images:
      return batch * row.devices.value_or(1) / row.value;
    case Measure::images_each:
      return batch / row.value;
    default:
      return row.value;
  }
}

double value_of(const PublishedRow& row, double seconds, double batch) {
  switch (row.unit) {
    case Measure::images:
      return batch * row.devices.value_or(1) / seconds;
    case Measure::images_each:
      return batch / seconds;
    default:
      return seconds;
  }
}

std::vector<const PublishedRow*> AloneRows::candidates(const PublishedRow& row) const {
  std::vector<const PublishedRow*> found;
  for (const PublishedRow& one : rows_) {
    const bool alone = one.sharing == Sharing::single ||
                       (one.sharing == Sharing::ddp && row.sharing == Sharing::ddp);
    if (one.devices != 1 || !alone || !is_speed(one) || one.anomaly) continue;
    if (one.repository() == row.repository() && one.framework == row.framework &&
        one.gpu == row.gpu && one.model == row.model &&
        one.precision == row.precision) {
      found.push_back(&one);
    }
  }
  std::stable_sort(found.begin(), found.end(), [&](const auto* a, const auto* b) {
    return likeness(*a, row) > likeness(*b, row);
  });
  return found;
}

std::optional<Alone> AloneRows::between(const std::vector<const PublishedRow*>& found,
                                        double batch) const {
  const PublishedRow *below = nullptr, *above = nullptr;
  for (const PublishedRow* one : found) {
    const double known = one->batch_each().value_or(0);
    if (known == 0) continue;
    if (known < batch && (!below || known > *below->batch_each())) below = one;
    if (known > batch && (!above || known < *above->batch_each())) above = one;
  }
  if (!below || !above) return std::nullopt;
  const double low = *below->batch_each(), high = *above->batch_each();
  const double share = (batch - low) / (high - low);
  Alone alone = from_row(*below, low);
  alone.seconds = (1 - share) * alone.seconds + share * from_row(*above, high).seconds;
  alone.batch = batch;
  alone.log_sd = 0.03;
  alone.note = fmt::format("interpolated between batches {} and {}", low, high);
  return alone;
}

std::optional<Alone> AloneRows::by_shape(const PublishedRow& known,
                                         const std::string& model, double batch) const {
  const double measured = known.batch_each().value_or(0);
  const PassTable table = pass_table(rows_, first_word(model));
  std::vector<double> ratios;
  for (const auto& [key, times] : table) {
    if (key.second != batch) continue;
    const auto other = table.find({key.first, measured});
    if (other == table.end()) continue;
    ratios.push_back(std::log((times.forward + times.backward) /
                              (other->second.forward + other->second.backward)));
  }
  if (ratios.size() < 2) return std::nullopt;
  double mean = 0, square = 0;
  for (const double ratio : ratios) mean += ratio / static_cast<double>(ratios.size());
  for (const double ratio : ratios) square += (ratio - mean) * (ratio - mean);
  Alone alone = from_row(known, measured);
  alone.seconds *= std::exp(mean);
  alone.batch = batch;
  alone.log_sd = std::sqrt(square / static_cast<double>(ratios.size() - 1));
  alone.note = fmt::format("from batch {} by the ratio on {} other devices", measured,
                           ratios.size());
  return alone;
}

std::optional<Alone> AloneRows::find(const PublishedRow& row,
                                     std::string& why_not) const {
  const std::vector<const PublishedRow*> found = candidates(row);
  if (found.empty()) {
    why_not = "no row on one device of the same table, device, model and precision";
    return std::nullopt;
  }
  const std::optional<double> batch = row.batch_each();
  for (const PublishedRow* one : found) {
    const std::optional<double> known = one->batch_each();
    if (batch && known && *batch != *known) continue;
    Alone alone = from_row(*one, batch.value_or(known.value_or(kAssumedBatch)));
    if (!batch || !known) {
      if (one->unit == Measure::seconds || row.unit == Measure::seconds) continue;
      alone.batch_assumed = !batch && !known;
      alone.note = alone.batch_assumed
                       ? "batch not stated; taken as 128 of each device, 64 to 256"
                       : "batch not stated on one device or on several; taken as equal";
    }
    return alone;
  }
  if (batch) {
    if (auto alone = between(found, *batch)) return alone;
    for (const PublishedRow* one : found) {
      if (auto alone = by_shape(*one, row.model, *batch)) return alone;
    }
    why_not = fmt::format(
        "one device was not measured at batch {}, nor above and below", *batch);
  } else {
    why_not = "batch not stated";
  }
  return std::nullopt;
}

double AloneRows::forward_share(const std::string& model, double batch) const {
  std::vector<double> at_batch, all;
  for (const auto& [key, times] : pass_table(rows_, first_word(model))) {
    const double share = times.forward / (times.forward + times.backward);
    all.push_back(share);
    if (key.second == batch) at_batch.push_back(share);
  }
  if (!at_batch.empty()) return median_of(at_batch);
  return all.empty() ? 1. / 3 : median_of(all);
}

}  // namespace lockstep::tracer
