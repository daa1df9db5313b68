#include "tracer/emulate/scoreboard/scoreboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <tuple>

#include "engine/plan/buckets.h"
#include "tracer/emulate/scoreboard/other_rows.h"
#include "tracer/emulate/scoreboard/widen.h"

namespace lockstep::tracer {
namespace {

Sum sum_of(const PublishedRow& row) {
  if (row.mode == "horovod") return Sum::fusion;
  return row.sharing == Sharing::ddp ? Sum::buckets : Sum::per_tensor;
}

bool is_step_time(const PublishedRow& row) {
  return row.unit == Measure::seconds || row.unit == Measure::images ||
         row.unit == Measure::images_each;
}

/// A row whose step on one device is known.
struct KnownRow {
  const PublishedRow* row = nullptr;
  const Net* net = nullptr;
  Alone alone;
  StepSetting setting;

  double seconds() const { return iteration_seconds(*row, alone.batch); }
  /// Of its time on one device.
  double alone_noise() const {
    return std::hypot(kRepeatability, alone.resolution, alone.log_sd);
  }
  /// With that of its own value, for rows that are fitted.
  double log_noise() const {
    return std::hypot(alone_noise(), row->resolution() / row->value);
  }
};

/// Predicts the rows of a table one by one.
class Scorer {
 public:
  explicit Scorer(Scoreboard& board) : board_(board), alone_rows_(board.rows) {}

  void predict_all() {
    for (const PublishedRow& row : board_.rows) {
      if (row.scored() && is_step_time(row)) know(row);
    }
    for (const PublishedRow& row : board_.rows) {
      if (row.scored() && !is_baseline(row)) predict(row);
    }
  }

 private:
  /// Rows on one device are what predictions start from.
  static bool is_baseline(const PublishedRow& row) {
    return row.sharing == Sharing::single && is_step_time(row);
  }
  const Net* net_of(const std::string& model);
  std::string know(const PublishedRow& row);
  const KnownRow* fitted_for(const KnownRow& known) const;
  void predict(const PublishedRow& row);
  void predict_step(const KnownRow& known, RowPrediction& result);
  CostFit described_by(const KnownRow& known);
  void compare_caps(const KnownRow& known, const CostFit& fit, RowPrediction& result);
  double sd_of_batch(const KnownRow& known, const CostFit& fit);

  Scoreboard& board_;
  AloneRows alone_rows_;
  std::map<std::string, std::unique_ptr<Net>> nets_;
  std::map<int, KnownRow> known_;           ///< by line
  std::map<int, std::string> why_unknown_;  ///< by line
  std::map<std::pair<std::string, std::string>, CostFit> described_;
};

const Net* Scorer::net_of(const std::string& model) {
  const auto [at, is_new] = nets_.try_emplace(model);
  if (is_new) {
    if (auto net = net_named(model))
      at->second = std::make_unique<Net>(std::move(*net));
  }
  return at->second.get();
}

std::string Scorer::know(const PublishedRow& row) {
  std::string& why = why_unknown_[row.line];
  const Net* net = net_of(row.model);
  if (row.role == "input-bound") {
    return why = "its loader sets the pace, and no row says how fast that is";
  }
  if (!net) return why = "the model's parameters are not in the table of nets";
  if (!row.devices) return why = "number of devices not stated";
  if (row.sharing == Sharing::unknown) return why = "mode '" + row.mode + "' unknown";
  if (row.sharing == Sharing::pipeline) return why;
  const std::optional<Alone> alone = alone_rows_.find(row, why);
  if (!alone) return why;
  const double share = alone_rows_.forward_share(row.model, alone->batch);
  known_[row.line] = {&row, net, *alone, setting_of(row, *net, *alone, share)};
  return why;
}

/// What makes one row better to fit than another; the smallest tuple wins.
auto fit_order(const KnownRow& one, const KnownRow& row) {
  const auto tensors = [](const KnownRow& k) {
    return std::log(static_cast<double>(k.net->parameters.size()));
  };
  return std::tuple(
      one.row->precision != row.row->precision, one.row->metric != row.row->metric,
      one.row->bucket_cap != row.row->bucket_cap, std::abs(tensors(one) - tensors(row)),
      one.row->interconnect != without_network(one.row->interconnect),
      -one.setting.devices, one.row->line);
}

const KnownRow* Scorer::fitted_for(const KnownRow& known) const {
  const std::string family = family_of(*known.row);
  const KnownRow* best = nullptr;
  for (const auto& [line, one] : known_) {
    const PublishedRow& row = *one.row;
    if (row.anomaly || one.setting.devices < 2 || one.net->name == known.net->name ||
        row.sharing != known.row->sharing || one.setting.sum != known.setting.sum ||
        family_of(row) != family) {
      continue;
    }
    if (!best || fit_order(one, known) < fit_order(*best, known)) best = &one;
  }
  return best;
}

/// Where no row states the batch: the spread of the prediction from 64 to 256.
double Scorer::sd_of_batch(const KnownRow& known, const CostFit& fit) {
  if (!known.alone.batch_assumed) return 0;
  const auto slow_down = [&](double factor) {
    StepSetting other = known.setting;
    other.batch *= factor;
    other.alone *= factor;
    return std::log(step_time(other, fit.factors).total() / other.alone);
  };
  return std::abs(slow_down(0.5) - slow_down(2)) / (2 * kNinety);
}

/// Fits all DataParallel rows of a machine and precision at once.
CostFit Scorer::described_by(const KnownRow& known) {
  const std::string family = family_of(*known.row);
  const auto [at, is_new] = described_.try_emplace({family, known.row->precision});
  if (!is_new) return at->second;
  std::vector<Observation> observations;
  for (const auto& [line, one] : known_) {
    if (one.row->anomaly || one.row->sharing != Sharing::dp ||
        one.row->precision != known.row->precision || family_of(*one.row) != family) {
      continue;
    }
    observations.push_back({one.setting, one.seconds(), one.log_noise()});
  }
  return at->second = fit_costs(observations);
}

/// What a bucket cap other than PyTorch's costs.
void Scorer::compare_caps(const KnownRow& known, const CostFit& fit,
                          RowPrediction& result) {
  constexpr std::string_view kStated = "throughput change vs bucket 25 = ";
  StepSetting usual = known.setting;
  usual.bucket_cap = plan::kBucketCap;
  if (known.setting.bucket_cap == usual.bucket_cap) return;
  result.cap_change = step_time(usual, fit.factors).total() / result.parts.total() - 1;
  const size_t at = known.row->notes.find(kStated);
  if (at == std::string::npos) return;
  result.cap_change_stated =
      std::strtod(known.row->notes.c_str() + at + kStated.size(), nullptr) / 100;
}

void Scorer::predict_step(const KnownRow& known, RowPrediction& result) {
  const PublishedRow& row = *known.row;
  const KnownRow* fitted = fitted_for(known);
  std::vector<Observation> observations;
  double ring_rate =
      known.setting.links.ring(known.setting.devices, 1, 1).gb_per_s * 1e9;
  if (fitted) {
    observations.push_back({fitted->setting, fitted->seconds(), fitted->log_noise()});
    result.fit_line = fitted->row->line;
    const double extra = fitted->seconds() - fitted->setting.alone;
    ring_rate = extra > 0 ? ring_bytes(fitted->setting) / extra : INFINITY;
  }
  const CostFit fit = fit_costs(observations);
  const TimeInterval time = predict_time(
      known.setting, fit, std::hypot(known.alone_noise(), sd_of_batch(known, fit)));
  const auto value = [&](double seconds) {
    return value_of(row, seconds, known.alone.batch);
  };
  result.batch = known.alone.batch;
  result.alone_line = known.alone.line;
  result.alone_note = known.alone.note;
  result.hooked = known.alone.hooked;
  result.parts = step_time(known.setting, fit.factors);
  result.predicted = value(time.seconds);
  std::tie(result.low, result.high) = std::minmax({value(time.low), value(time.high)});
  result.low -= row.resolution();
  result.high += row.resolution();
  result.alone_value = known.setting.alone;
  result.seconds = time.seconds;
  compare_caps(known, fit, result);
  if (row.sharing == Sharing::dp && !row.anomaly) {
    result.described =
        value(step_time(known.setting, described_by(known).factors).total());
  }
  result.perfect = value(known.setting.alone);
  result.ring = value(known.setting.alone + ring_bytes(known.setting) / ring_rate);
}

void Scorer::predict(const PublishedRow& row) {
  RowPrediction result;
  result.row = &row;
  result.family = family_of(row);
  if (const auto known = known_.find(row.line); known != known_.end()) {
    if (row.sharing == Sharing::ddp && row.devices == 1 &&
        known->second.alone.line == row.line) {
      return;  // DDP on one device is what its further rows start from
    }
    predict_step(known->second, result);
  } else if (is_step_time(row) && row.sharing != Sharing::pipeline) {
    result.why_not = why_unknown_[row.line];
  } else {
    predict_other(board_.rows, alone_rows_, result);
  }
  board_.predictions.push_back(std::move(result));
}

}  // namespace

std::string family_of(const PublishedRow& row) {
  const std::string links = without_network(row.interconnect);
  return fmt::format("{} · {}{} · {}", row.repository(), row.gpu,
                     links.empty() ? "" : " · " + links, row.framework);
}

StepSetting setting_of(const PublishedRow& row, const Net& net, const Alone& alone,
                       double forward_share) {
  StepSetting setting;
  setting.net = &net;
  setting.sharing = row.sharing;
  setting.sum = sum_of(row);
  setting.devices = row.devices.value_or(1);
  setting.batch = alone.batch;
  setting.alone = alone.seconds;
  setting.forward_share = forward_share;
  setting.hooked = alone.hooked;
  setting.servers_on_devices = row.notes.find("co-located") != std::string::npos ||
                               row.notes.find("PS on gpu") != std::string::npos;
  setting.gradient_bytes = row.gradient_bytes();
  if (row.bucket_cap > 0) setting.bucket_cap = row.bucket_cap;
  setting.links = machine_links(row.gpu, row.interconnect);
  return setting;
}

Scoreboard score(std::vector<PublishedRow> rows) {
  Scoreboard board{std::move(rows), {}};
  Scorer(board).predict_all();
  widen_intervals(board);
  return board;
}

}  // namespace lockstep::tracer
