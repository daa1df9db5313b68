#include "tracer/emulate/scoreboard/other_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/plan/best_split.h"
#include "engine/plan/pipeline_times.h"

namespace lockstep::tracer {
namespace {

void predict_bucket(RowPrediction& result) {
  const PublishedRow& row = *result.row;
  const std::optional<Net> net = net_named(row.model);
  if (!net) {
    result.why_not = "the model's parameters are not in the table of nets";
    return;
  }
  const int64_t cap = row.bucket_cap > 0 ? row.bucket_cap : int64_t{25} << 20;
  const std::vector<int64_t> sizes = bucket_bytes(*net, cap, row.gradient_bytes());
  constexpr std::string_view kBucket = "allreduce_bytes_bucket";
  size_t index = 0;
  std::from_chars(row.metric.data() + kBucket.size(),
                  row.metric.data() + row.metric.size(), index);
  if (index >= sizes.size()) {
    result.why_not = "there are fewer buckets";
    return;
  }
  // Bytes are exact.
  result.predicted = result.low = result.high = static_cast<double>(sizes[index]);
  result.perfect = result.ring = result.predicted;
}

/// `8 -> 256 GPUs`: efficiency is relative to the first number.
int devices_compared(const PublishedRow& row) {
  int devices = 1;
  if (row.notes.find(" -> ") != std::string::npos) {
    std::from_chars(row.notes.data(), row.notes.data() + row.notes.size(), devices);
  }
  return std::max(devices, 1);
}

double batch_in_notes(const PublishedRow& row) {
  const size_t at = row.notes.find("bs");
  double batch = 0;
  if (at != std::string::npos) {
    std::from_chars(row.notes.data() + at + 2, row.notes.data() + row.notes.size(),
                    batch);
  }
  return batch;
}

/// The same model and batch on one device of that kind, in any table: efficiencies are
/// ratios, for which that is enough.
const PublishedRow* like_on_one(const std::vector<PublishedRow>& rows,
                                const PublishedRow& row, double batch) {
  const MachineLinks links = machine_links(row.gpu, "nvlink");
  for (const PublishedRow& one : rows) {
    const MachineLinks other = machine_links(one.gpu, "nvlink");
    if (one.sharing == Sharing::single && !one.anomaly && one.model == row.model &&
        one.unit == Measure::images && one.precision == row.precision &&
        one.batch == batch && other.links == links.links && links.links > 2 &&
        other.gb_per_s == links.gb_per_s) {
      return &one;
    }
  }
  return nullptr;
}

void predict_efficiency(const std::vector<PublishedRow>& rows,
                        const AloneRows& alone_rows, RowPrediction& result) {
  const PublishedRow& row = *result.row;
  const std::optional<Net> net = net_named(row.model);
  const double batch = row.batch_each().value_or(batch_in_notes(row));
  if (!net || !row.devices || batch == 0) {
    result.why_not = "model, batch or number of devices not known";
    return;
  }
  const PublishedRow* one = like_on_one(rows, row, batch);
  if (!one) {
    result.why_not = "no table has that model and batch on one device of that kind";
    return;
  }
  Alone alone;
  alone.seconds = iteration_seconds(*one, batch);
  alone.batch = batch;
  PublishedRow few = row;
  few.devices = devices_compared(row);
  const double share = alone_rows.forward_share(row.model, batch);
  const StepSetting many = setting_of(row, *net, alone, share);
  const StepSetting fewer = setting_of(few, *net, alone, share);
  const CostFit fit = fit_costs({});
  const TimeInterval time = predict_time(many, fit, 0.1);  // another laboratory
  const double base = step_time(fewer, fit.factors).total();
  result.batch = batch;
  result.alone_line = one->line;
  result.alone_note = "one device measured in another table";
  result.parts = step_time(many, fit.factors);
  result.predicted = 100 * base / time.seconds;
  result.low = 100 * base / time.high;
  result.high = std::min(100.0, 100 * base / time.low);
  result.perfect = 100;
  const double rate = many.links.ring(many.devices, 1, 1).gb_per_s * 1e9;
  result.ring = 100 * alone.seconds / (alone.seconds + ring_bytes(many) / rate);
}

/// The spread of a pipeline's time: stages are not known exactly.
constexpr double kPipelineSd = 0.08;

void predict_pipeline(const std::vector<PublishedRow>& rows, RowPrediction& result) {
  const PublishedRow& row = *result.row;
  if (row.stages == 0 || row.micro_batches == 0) {
    result.why_not = "numbers of stages and micro-batches not stated";
    return;
  }
  const std::optional<Net> net = net_named(row.model);
  const Net* known = net ? &*net : nullptr;
  for (const PublishedRow& one : rows) {
    const bool whole = one.sharing == Sharing::single;
    if (family_of(one) != family_of(row) || one.model != row.model ||
        one.unit != row.unit || one.line == row.line) {
      continue;
    }
    const bool first_pipeline = one.sharing == Sharing::pipeline && one.line < row.line;
    if (!whole && !first_pipeline) continue;
    const double base =
        whole ? 1 : pipeline_speed(known, one.stages, one.micro_batches);
    result.alone_line = one.line;
    result.predicted =
        one.value * pipeline_speed(known, row.stages, row.micro_batches) / base;
    result.low = result.predicted * std::exp(-kNinety * kPipelineSd);
    result.high = result.predicted * std::exp(kNinety * kPipelineSd);
    result.perfect = one.value * row.stages / std::max(one.stages, 1);
    result.ring = result.perfect;
    return;
  }
  result.why_not = "the first row of its model: the others are predicted from it";
}

}  // namespace

double pipeline_speed(const Net* net, int stages, int micro_batches) {
  std::vector<double> shares(static_cast<size_t>(stages), 1.0 / stages);
  if (net && static_cast<size_t>(stages) <= net->parts.size()) {
    plan::PartCosts costs;
    for (const double part : net->parts) costs.times.push_back(std::llround(part));
    costs.bytes.assign(costs.times.size(), 0);
    const auto times = stage_times(costs, plan::best_split(costs, stages).cuts);
    for (size_t i = 0; i < times.size(); ++i) {
      shares[i] = static_cast<double>(times[i]) / net->macs();
    }
  }
  // One device takes 1 for a forward pass of the batch, and 2 for a backward pass.
  const double repeated = (micro_batches - 1.0) / micro_batches;
  plan::PipelineCosts costs;
  for (const double share : shares) {
    costs.forward.push_back(share / micro_batches);
    costs.backward.push_back(share / micro_batches * (2 + repeated));
  }
  const auto times = plan::pipeline_times(
      plan::pipeline_schedule(plan::PipelineOrder::gpipe, stages, micro_batches),
      costs);
  return times ? 3 / plan::makespan(*times) : 0;
}

void predict_other(const std::vector<PublishedRow>& rows, const AloneRows& alone_rows,
                   RowPrediction& result) {
  const PublishedRow& row = *result.row;
  if (row.unit == Measure::bucket_bytes) return predict_bucket(result);
  if (row.unit == Measure::efficiency)
    return predict_efficiency(rows, alone_rows, result);
  if (row.sharing == Sharing::pipeline) return predict_pipeline(rows, result);
  result.why_not = "'" + row.metric + "' is not predicted";
}

}  // namespace lockstep::tracer
